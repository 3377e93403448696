# transport_bench has ZeroMQ and gRPC beside Yoke's own ways where their libraries are found; nothing else needs them.
if(TARGET transport_bench)
  find_path(YOKE_ZMQ_INCLUDE zmq.h)
  find_library(YOKE_ZMQ_LIBRARY zmq)
  mark_as_advanced(YOKE_ZMQ_INCLUDE YOKE_ZMQ_LIBRARY)
  if(YOKE_ZMQ_INCLUDE AND YOKE_ZMQ_LIBRARY)
    target_compile_definitions(transport_bench PRIVATE YOKE_ZMQ)
    target_include_directories(transport_bench SYSTEM PRIVATE ${YOKE_ZMQ_INCLUDE})
    target_link_libraries(transport_bench PRIVATE ${YOKE_ZMQ_LIBRARY})
  endif()

  find_package(gRPC QUIET CONFIG)
  if(TARGET gRPC::grpc++ AND TARGET gRPC::grpc_cpp_plugin)
    set(frames ${yoke_generated}/transport/grpc_peer)
    add_custom_command(
      OUTPUT ${frames}.pb.cc ${frames}.pb.h ${frames}.grpc.pb.cc ${frames}.grpc.pb.h
      COMMAND protobuf::protoc --proto_path=${CMAKE_SOURCE_DIR}/src --cpp_out=${yoke_generated}
              --grpc_out=${yoke_generated} --plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin>
              ${CMAKE_SOURCE_DIR}/src/transport/grpc_peer.proto
      DEPENDS ${CMAKE_SOURCE_DIR}/src/transport/grpc_peer.proto VERBATIM)
    # What protoc writes is not ours to warn about.
    add_library(yoke_grpc_peer STATIC ${frames}.pb.cc ${frames}.grpc.pb.cc)
    target_compile_options(yoke_grpc_peer PRIVATE -w)
    target_include_directories(yoke_grpc_peer SYSTEM PUBLIC ${yoke_generated})
    target_link_libraries(yoke_grpc_peer PUBLIC gRPC::grpc++ protobuf::libprotobuf)
    target_compile_definitions(transport_bench PRIVATE YOKE_GRPC)
    target_link_libraries(transport_bench PRIVATE yoke_grpc_peer)
  endif()
endif()

# yoke.proto becomes wire/yoke.pb.{h,cc} in the build folder; encode.cc, decode.cc and list_limits.cc include it, and
# nothing of protobuf gets into the library's own headers. Read after yoke_layer(wire).
#
# Protobuf 22 and later needs Abseil besides, and is found whole only by its own package file; earlier ones often come
# without, and are found by CMake.
find_package(Protobuf QUIET CONFIG)
if(NOT TARGET protobuf::protoc)
  find_package(Protobuf REQUIRED)
endif()
if(TARGET protobuf::libprotobuf-lite)
  set(yoke_protobuf protobuf::libprotobuf-lite)
else()
  set(yoke_protobuf protobuf::libprotobuf)
endif()
# Checksums of frames: the header alone, so nothing to link.
find_path(YOKE_XXHASH_DIR xxhash.h DOC "Folder of xxhash.h" REQUIRED)

set(yoke_generated ${CMAKE_BINARY_DIR}/generated)
set(yoke_proto ${CMAKE_SOURCE_DIR}/src/wire/yoke.proto)
set(yoke_protoc_flags "")
if(Protobuf_VERSION AND Protobuf_VERSION VERSION_LESS 3.15)
  set(yoke_protoc_flags --experimental_allow_proto3_optional)
endif()
file(MAKE_DIRECTORY ${yoke_generated})
add_custom_command(
  OUTPUT ${yoke_generated}/wire/yoke.pb.cc ${yoke_generated}/wire/yoke.pb.h
  COMMAND protobuf::protoc ${yoke_protoc_flags} --proto_path=${CMAKE_SOURCE_DIR}/src --cpp_out=${yoke_generated} ${yoke_proto}
  DEPENDS ${yoke_proto} VERBATIM)
add_custom_target(yoke_wire_generated DEPENDS ${yoke_generated}/wire/yoke.pb.cc ${yoke_generated}/wire/yoke.pb.h)

# What protoc writes is not ours to warn about.
add_library(yoke_wire_proto OBJECT ${yoke_generated}/wire/yoke.pb.cc)
target_compile_options(yoke_wire_proto PRIVATE -w)
target_include_directories(yoke_wire_proto PRIVATE ${yoke_generated})
target_link_libraries(yoke_wire_proto PRIVATE yoke_flags ${yoke_protobuf})
add_dependencies(yoke_wire_proto yoke_wire_generated)

target_include_directories(yoke_wire SYSTEM PRIVATE ${yoke_generated} ${YOKE_XXHASH_DIR})
target_link_libraries(yoke_wire PRIVATE ${yoke_protobuf})
add_dependencies(yoke_wire yoke_wire_generated)
if(TARGET wire_test)
  target_include_directories(wire_test SYSTEM PRIVATE ${YOKE_XXHASH_DIR})
endif()

target_sources(yoke PRIVATE $<TARGET_OBJECTS:yoke_wire_proto>)
target_link_libraries(yoke PRIVATE ${yoke_protobuf})

# In a unity build (the presets with sanitizers) these stay alone: what is compiled for their instructions may not reach
# any other file.
set_source_files_properties(src/wire/checksum_avx2.cc src/wire/checksum_avx512.cc PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

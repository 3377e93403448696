# Strangers and liars at the port of a live server. `make hostile` has the long form of both.
add_executable(hostile_peer ${CMAKE_SOURCE_DIR}/src/transport/hostile_peer_main.cc)
add_executable(sequence_fuzz ${CMAKE_SOURCE_DIR}/tests/hostile/sequence_fuzz.cc
                             ${CMAKE_SOURCE_DIR}/tests/hostile/fuzz_peer.cc)
foreach(program hostile_peer sequence_fuzz)
  target_include_directories(${program} PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(${program} PRIVATE yoke yoke_flags fmt::fmt Threads::Threads)
endforeach()
if(YOKE_SANITIZE)
  return()
endif()

add_test(NAME hostile COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/hostile/hostile_suite.py
                              ${CMAKE_BINARY_DIR}/yoke $<TARGET_FILE:hostile_peer> --short)
# It compares rates, and so wants the cores for itself.
set_tests_properties(hostile PROPERTIES TIMEOUT 600 RUN_SERIAL ON)
add_test(NAME sequence_fuzz COMMAND sequence_fuzz --seconds 10)
add_test(NAME asan.sequence_fuzz COMMAND ${CMAKE_BINARY_DIR}-asan/sequence_fuzz --seconds 10)
set_tests_properties(sequence_fuzz asan.sequence_fuzz PROPERTIES TIMEOUT 300 ENVIRONMENT UBSAN_OPTIONS=print_stacktrace=1)

# The simulator: yoke-sim and its tests. It is no part of libyoke.
file(GLOB yoke_sim_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/sim/*.cc)
list(FILTER yoke_sim_sources EXCLUDE REGEX "_(test|main)\\.cc$")

add_library(yoke_sim OBJECT ${yoke_sim_sources})
target_include_directories(yoke_sim PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
target_link_libraries(yoke_sim PRIVATE yoke_flags fmt::fmt)

add_executable(yoke-sim ${CMAKE_SOURCE_DIR}/src/sim/sim_main.cc $<TARGET_OBJECTS:yoke_sim>)
target_include_directories(yoke-sim PRIVATE ${CMAKE_SOURCE_DIR}/src)
target_link_libraries(yoke-sim PRIVATE yoke yoke_flags fmt::fmt)

if(YOKE_TESTS)
  yoke_test(sim_test ${CMAKE_SOURCE_DIR}/src/sim/sim_test.cc $<TARGET_OBJECTS:yoke_sim>)

  if(YOKE_SANITIZE)  # what follows asks whether bugs are found, and is nothing but a second copy of the same code
    return()
  endif()

  # A copy of the protocol with bugs that can be switched on, to see that the simulator and the checker find them. It
  # must not meet libyoke in one program.
  file(GLOB yoke_sim_core_sources CONFIGURE_DEPENDS
       ${CMAKE_SOURCE_DIR}/src/core/*.cc ${CMAKE_SOURCE_DIR}/src/history/*.cc ${CMAKE_SOURCE_DIR}/src/checkpoint/*.cc
       ${CMAKE_SOURCE_DIR}/src/base/*.cc ${CMAKE_SOURCE_DIR}/src/wire/checksum*.cc)
  list(FILTER yoke_sim_core_sources EXCLUDE REGEX "_(test|bench|fuzz|main)\\.cc$")
  add_library(yoke_sim_core STATIC ${yoke_sim_core_sources} ${yoke_sim_sources})
  target_compile_definitions(yoke_sim_core PUBLIC YOKE_PLANTED_BUGS)
  target_include_directories(yoke_sim_core PUBLIC ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
  target_include_directories(yoke_sim_core SYSTEM PRIVATE ${YOKE_XXHASH_DIR})
  target_link_libraries(yoke_sim_core PUBLIC yoke_flags fmt::fmt nlohmann_json::nlohmann_json Threads::Threads)

  add_executable(yoke-sim-planted ${CMAKE_SOURCE_DIR}/src/sim/sim_main.cc)
  target_link_libraries(yoke-sim-planted PRIVATE yoke_sim_core)

  add_executable(planted_test ${CMAKE_SOURCE_DIR}/src/sim/planted_test.cc)
  target_link_libraries(planted_test PRIVATE yoke_sim_core GTest::gtest_main)
  gtest_discover_tests(planted_test DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300)
endif()

# Fuzz targets: every src/*/NAME_fuzz.cc is a program NAME_fuzz, and a test fuzz.NAME that runs it over the seeds in
# tests/fuzz/seeds/NAME and 20,000 mutations of them; once more in the build with AddressSanitizer beside this one, as
# the layers' tests (tests/tests.cmake).
#
# To search longer, with coverage (clang):
#   cmake -B build-fuzz -DCMAKE_CXX_COMPILER=clang++ -DYOKE_LIBFUZZER=ON -DYOKE_SANITIZE=address,undefined -DYOKE_TORCH=OFF
#   cmake --build build-fuzz --target model_file_fuzz
#   build-fuzz/model_file_fuzz -max_total_time=600 FOLDER_FOR_WHAT_IS_FOUND tests/fuzz/seeds/model_file
option(YOKE_LIBFUZZER "Fuzz targets for libFuzzer (clang) instead of the driver in tests/fuzz" OFF)
if(NOT YOKE_TESTS)
  return()
endif()
if(YOKE_LIBFUZZER)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "YOKE_LIBFUZZER needs clang: say -DCMAKE_CXX_COMPILER=clang++")
  endif()
  # Coverage of the library itself. The warnings that are errors are those of g++.
  target_compile_options(yoke_flags INTERFACE -fsanitize=fuzzer-no-link -Wno-error -Wno-unknown-warning-option)
endif()

file(GLOB fuzz_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/*/*_fuzz.cc)
foreach(source ${fuzz_sources})
  get_filename_component(program ${source} NAME_WE)
  string(REGEX REPLACE "_fuzz$" "" name ${program})
  set(seeds ${CMAKE_SOURCE_DIR}/tests/fuzz/seeds/${name})

  add_executable(${program} ${source})
  target_include_directories(${program} PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(${program} PRIVATE yoke yoke_flags)
  if(YOKE_LIBFUZZER)
    target_link_options(${program} PRIVATE -fsanitize=fuzzer)
    set(found ${CMAKE_BINARY_DIR}/fuzz/${name})  # it adds to the first folder: never the seeds'
    file(MAKE_DIRECTORY ${found})
    add_test(NAME fuzz.${name} COMMAND ${program} -runs=20000 -seed=1 ${found} ${seeds})
  else()
    target_sources(${program} PRIVATE ${CMAKE_SOURCE_DIR}/tests/fuzz/driver.cc)
    add_test(NAME fuzz.${name} COMMAND ${program} 20000 ${seeds})
  endif()
  set_tests_properties(fuzz.${name} PROPERTIES TIMEOUT 300)
  if(NOT YOKE_SANITIZE)
    add_test(NAME asan.fuzz.${name} COMMAND ${CMAKE_BINARY_DIR}-asan/${program} 20000 ${seeds})
    set_tests_properties(asan.fuzz.${name} PROPERTIES TIMEOUT 300 ENVIRONMENT UBSAN_OPTIONS=print_stacktrace=1)
  endif()
endforeach()

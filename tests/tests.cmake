# Tests of the whole: what no single layer can test. Those of the layers are registered by yoke_layer.
if(NOT YOKE_TESTS)
  return()
endif()
include(tests/hostile/hostile.cmake)
if(YOKE_SANITIZE)
  return()
endif()

# The includes against the table of layers; the README's code against the example.
yoke_test(house_test ${CMAKE_SOURCE_DIR}/tests/layers_test.cc ${CMAKE_SOURCE_DIR}/tests/readme_test.cc)
target_compile_definitions(house_test PRIVATE YOKE_SOURCE_DIR="${CMAKE_SOURCE_DIR}" YOKE_BINARY_DIR="${CMAKE_BINARY_DIR}")

add_test(NAME format COMMAND ${CMAKE_SOURCE_DIR}/scripts/format --check)

add_test(NAME install COMMAND ${CMAKE_SOURCE_DIR}/tests/install_test ${CMAKE_BINARY_DIR})
set_tests_properties(install PROPERTIES TIMEOUT 300)

# Servers that stay, and their clients; models that only pass time do without LibTorch.
add_test(NAME containers COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/cli/containers_test.py
                                 ${CMAKE_BINARY_DIR}/yoke)
set_tests_properties(containers PROPERTIES TIMEOUT 600)

# The program as a user runs it: Python is an independent reader and writer of what goes in and comes out.
add_test(NAME keys COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/cli/keys_test.py ${CMAKE_BINARY_DIR}/yoke)
add_test(NAME closed COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/cli/closed_test.py ${CMAKE_BINARY_DIR}/yoke)
set_tests_properties(keys closed PROPERTIES TIMEOUT 300)
if(YOKE_TORCH)
  add_test(NAME wrong_inputs COMMAND ${CMAKE_SOURCE_DIR}/tests/cli/wrong_inputs ${CMAKE_BINARY_DIR}/yoke)
  # Debian's own Python: its torch is the one that packages.txt installs.
  add_test(NAME train COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/cli/train_test.py ${CMAKE_BINARY_DIR}/yoke)
  add_test(NAME launch COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/cli/launch_test.py ${CMAKE_BINARY_DIR}/yoke
                               ${CMAKE_BINARY_DIR}/example_digits)
  # Its processes want the cores for themselves.
  set_tests_properties(launch PROPERTIES RUN_SERIAL ON)
  set_tests_properties(wrong_inputs train launch PROPERTIES TIMEOUT 900)
endif()

# Under a real mpirun, a real Slurm on this machine, and on two hosts; each says so when it is skipped. They need no
# LibTorch; `make cluster-test` runs the documented commands as they are, with Fashion-MNIST.
foreach(where mpirun slurm hosts)
  add_test(NAME cluster.${where} COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/cluster/${where}_test.py
                                         ${CMAKE_BINARY_DIR}/yoke)
  set_tests_properties(cluster.${where} PROPERTIES TIMEOUT 300 RUN_SERIAL ON)
endforeach()

add_test(NAME manifests COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/cluster/manifests_test.py)

# Servers, backups, the coordinator and replicas of a job that runs are killed, stopped and cut off, and the history is
# checked; `make chaos` is the long run.
add_executable(fault_proxy ${CMAKE_SOURCE_DIR}/tests/chaos/fault_proxy.cc)
target_link_libraries(fault_proxy PRIVATE yoke_flags)
add_test(NAME fault_proxy COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/chaos/fault_proxy_test.py
                                  ${CMAKE_BINARY_DIR}/fault_proxy)
add_test(NAME chaos COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/chaos/chaos.py --yoke ${CMAKE_BINARY_DIR}/yoke
                            --proxy ${CMAKE_BINARY_DIR}/fault_proxy --seconds 40 --seed 5 --replicas 4 --spares 1
                            --every-server 6 --undisturbed 0 --model synthetic:200k:10ms)
set_tests_properties(fault_proxy chaos PROPERTIES TIMEOUT 300 RUN_SERIAL ON)

# The same test programs built with sanitizers, beside this build: `make test` builds them first (scripts/sanitized), so
# that one run of ctest is the whole verdict. One that was not built fails. No LibTorch there; ThreadSanitizer for the
# layers that have threads, or that run in them.
get_property(targets DIRECTORY PROPERTY BUILDSYSTEM_TARGETS)
list(FILTER targets INCLUDE REGEX "_test$")
list(FILTER targets EXCLUDE REGEX "^(house|torch|cli|planted)")
foreach(test ${targets})
  set(kinds asan)
  if(test MATCHES "^(core|transport|collective|cluster|data|train)_test$")
    list(APPEND kinds tsan)
  endif()
  foreach(kind ${kinds})
    add_test(NAME ${kind}.${test} COMMAND ${CMAKE_BINARY_DIR}-${kind}/${test} --gtest_brief=1)
    set_tests_properties(${kind}.${test} PROPERTIES TIMEOUT 900 ENVIRONMENT UBSAN_OPTIONS=print_stacktrace=1)
  endforeach()
endforeach()

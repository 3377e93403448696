# What `make install` puts where, and the CMake package Yoke: Yoke::yoke, and Yoke::torch for those who ask for
# COMPONENTS torch, so that a program without LibTorch needs none to be found.
include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Yoke)

# Programs and libraries find one another wherever the prefix is moved to.
set_target_properties(yoke PROPERTIES INSTALL_RPATH "$ORIGIN")
install(TARGETS yoke EXPORT YokeTargets)
install(EXPORT YokeTargets NAMESPACE Yoke:: DESTINATION ${package})

if(TARGET yoke_torch)
  set_target_properties(yoke_torch PROPERTIES INSTALL_RPATH "$ORIGIN" INSTALL_RPATH_USE_LINK_PATH ON EXPORT_NAME torch)
  install(TARGETS yoke_torch EXPORT YokeTorchTargets)
  install(EXPORT YokeTorchTargets NAMESPACE Yoke:: DESTINATION ${package})
endif()

get_property(targets DIRECTORY PROPERTY BUILDSYSTEM_TARGETS)
foreach(program ${targets})
  get_target_property(type ${program} TYPE)
  get_target_property(name ${program} OUTPUT_NAME)
  if(type STREQUAL "EXECUTABLE" AND "${program};${name}" MATCHES "(^|;)yoke(-sim)?(;|$)")
    set_target_properties(${program} PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
    install(TARGETS ${program})
  endif()
endforeach()

# Manual and completion are made by the program itself, from what --help shows.
install(CODE "
  set(share \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}\")
  file(MAKE_DIRECTORY \"\${share}/man/man1\" \"\${share}/bash-completion/completions\"
       \"\${share}/zsh/site-functions\" \"\${share}/fish/vendor_completions.d\")
  execute_process(COMMAND ${CMAKE_BINARY_DIR}/yoke manual --folder \"\${share}/man/man1\" COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${CMAKE_BINARY_DIR}/yoke completion bash
                  OUTPUT_FILE \"\${share}/bash-completion/completions/yoke\" COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${CMAKE_BINARY_DIR}/yoke completion zsh
                  OUTPUT_FILE \"\${share}/zsh/site-functions/_yoke\" COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${CMAKE_BINARY_DIR}/yoke completion fish
                  OUTPUT_FILE \"\${share}/fish/vendor_completions.d/yoke.fish\" COMMAND_ERROR_IS_FATAL ANY)
")

install(DIRECTORY include/yoke TYPE INCLUDE)
install(DIRECTORY data/ DESTINATION ${CMAKE_INSTALL_DATADIR}/yoke)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

configure_package_config_file(cmake/YokeConfig.cmake.in ${CMAKE_BINARY_DIR}/YokeConfig.cmake
                              INSTALL_DESTINATION ${package} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/YokeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/YokeConfig.cmake ${CMAKE_BINARY_DIR}/YokeConfigVersion.cmake DESTINATION ${package})

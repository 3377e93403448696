# The program `yoke`: its commands, one file each. It links libyoke alone; LibTorch is loaded by the commands that need it.
file(GLOB command_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/cli/*_command.cc)
add_executable(yoke_program ${CMAKE_SOURCE_DIR}/src/cli/yoke_main.cc ${command_sources})
set_target_properties(yoke_program PROPERTIES OUTPUT_NAME yoke)
target_include_directories(yoke_program PRIVATE ${CMAKE_SOURCE_DIR}/src)
target_link_libraries(yoke_program PRIVATE yoke yoke_flags fmt::fmt nlohmann_json::nlohmann_json)

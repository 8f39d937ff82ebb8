# What `cmake --install` puts where. Component runtime: the program and its plugins; sdk: what authors of plugins need, with the
# CMake package waybill-plugin, whose version is that of the plugin ABI. Every folder is relative to the prefix, which may be moved.
include(CMakePackageConfigHelpers)
set(CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
  WORLD_EXECUTE)  # the host refuses a folder of plugins that others may write to
set(package lib/cmake/waybill-plugin)

install(TARGETS waybill RUNTIME DESTINATION bin COMPONENT runtime)  # the plugins: waybill_add_plugin()
install(TARGETS waybill_plugin_host RUNTIME DESTINATION lib/waybill COMPONENT runtime)
install(DIRECTORY registry DESTINATION share/waybill COMPONENT runtime)
install(FILES docs/operations/sample/waybill.yaml DESTINATION share/waybill COMPONENT runtime)
install(DIRECTORY docs/ DESTINATION share/doc/waybill COMPONENT runtime
  FILES_MATCHING PATTERN "*.md" PATTERN openapi.yaml PATTERN "*.sql" PATTERN "*.schema.json" PATTERN rules.yml PATTERN alerts.yml PATTERN waybill.json
  PATTERN sample EXCLUDE)
install(DIRECTORY plugins DESTINATION share/doc/waybill COMPONENT runtime
  FILES_MATCHING PATTERN README.md PATTERN tests EXCLUDE PATTERN common EXCLUDE)
install(FILES CHANGELOG.md SECURITY.md DESTINATION share/doc/waybill COMPONENT runtime)
install(SCRIPT cmake/WaybillInstalledLinks.cmake COMPONENT runtime)
install(PROGRAMS docs/operations/drill.sh DESTINATION share/waybill COMPONENT runtime)
install(FILES docs/operations/drill_receiver.py DESTINATION share/waybill COMPONENT runtime)

install(DIRECTORY plugin-api/include/ plugin-api/testkit/include/ DESTINATION include COMPONENT sdk)
install(FILES plugin-api/python/waybill_plugin.py plugin-api/python/waybill_testing.py DESTINATION share/waybill/python COMPONENT sdk)
install(FILES plugin-api/typescript/waybill_plugin.mjs plugin-api/typescript/waybill_plugin.d.mts plugin-api/typescript/waybill_testing.mjs
  plugin-api/typescript/waybill_testing.d.mts DESTINATION share/waybill/typescript COMPONENT sdk)
install(FILES clients/cpp/waybill/client.hpp DESTINATION include/waybill COMPONENT sdk)
install(FILES clients/cpp/README.md DESTINATION share/waybill/clients/cpp COMPONENT sdk)
install(DIRECTORY clients/python clients/typescript DESTINATION share/waybill/clients COMPONENT sdk
  PATTERN tests EXCLUDE PATTERN __pycache__ EXCLUDE PATTERN node_modules EXCLUDE PATTERN CMakeLists.txt EXCLUDE PATTERN emit_types.py EXCLUDE)
install(FILES docs/plugin-authors.md docs/plugin-sanitizers.md DESTINATION share/waybill COMPONENT sdk OPTIONAL)
install(DIRECTORY plugin-api/examples DESTINATION share/waybill COMPONENT sdk OPTIONAL)
install(DIRECTORY plugin-api/rust DESTINATION share/waybill COMPONENT sdk PATTERN target EXCLUDE PATTERN check.sh EXCLUDE
  PATTERN CMakeLists.txt EXCLUDE PATTERN .gitignore EXCLUDE)

set_target_properties(waybill_plugin_api PROPERTIES EXPORT_NAME plugin)
set_target_properties(waybill_fakes PROPERTIES EXPORT_NAME fakes)
set_target_properties(waybill_testkit PROPERTIES EXPORT_NAME testkit)
install(TARGETS waybill_plugin_api EXPORT waybill-plugin-targets)
install(TARGETS waybill_fakes waybill_testkit EXPORT waybill-testkit-targets ARCHIVE DESTINATION lib COMPONENT sdk)
foreach(set IN ITEMS plugin testkit)  # two, because the test kit needs packages that a plugin does without
  install(EXPORT waybill-${set}-targets NAMESPACE waybill:: DESTINATION ${package} COMPONENT sdk)
endforeach()

file(STRINGS plugin-api/include/waybill/plugin.h lines REGEX "#define WB_ABI_(MAJOR|MINOR) ")
string(REGEX REPLACE "[^0-9;]" "" abi "${lines}")
string(REPLACE ";" "." abi "${abi}")
write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/waybill-plugin-config-version.cmake VERSION ${abi}
  COMPATIBILITY SameMajorVersion)
configure_package_config_file(cmake/waybill-plugin-config.cmake.in ${CMAKE_BINARY_DIR}/package/waybill-plugin-config.cmake
  INSTALL_DESTINATION ${package} NO_SET_AND_CHECK_MACRO)
install(FILES ${CMAKE_BINARY_DIR}/package/waybill-plugin-config.cmake
  ${CMAKE_BINARY_DIR}/package/waybill-plugin-config-version.cmake cmake/WaybillAddPlugin.cmake plugin-api/abi/plugin.map
  plugin-api/abi/check_exports.cmake plugin-api/testkit/fail_the_test.cpp DESTINATION ${package} COMPONENT sdk)

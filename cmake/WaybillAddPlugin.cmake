# waybill_add_plugin(NAME [FOLDER folder] [SOURCES file...] [LIBRARIES target...])
#
# Makes the plugin plugins/NAME.so, which exports wb_plugin_v1 and nothing else, of NAME.cpp or the SOURCES; and, of the same objects
# with tests/*_test.cpp and the test kit, the GoogleTest program NAME_tests. ctest then runs those tests, looks at the exports, and
# lets `waybill plugin check` look at the .so, with the samples in check.json if there is one. `cmake --install` puts the .so where
# an installation has its plugins; not one with a FOLDER, which the build tree has it in instead of plugins/.
#
# It serves the plugins of Waybill's own tree and those of the package waybill-plugin alike. BUILD_TESTING=OFF: no tests.
include(GoogleTest)

# gtest_discover_tests() cannot pass on a property that is a list, so both labels are set on what it found, when ctest starts.
function(waybill_label_plugin_tests target)
  set(script ${CMAKE_CURRENT_BINARY_DIR}/${target}_labels.cmake)
  file(WRITE ${script} "if(${target}_TESTS)
  set_tests_properties(\${${target}_TESTS} PROPERTIES LABELS \"unit;plugin\")
endif()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${script})
endfunction()

function(waybill_add_plugin name)
  cmake_parse_arguments(ARG "" "FOLDER" "SOURCES;LIBRARIES" ${ARGN})
  if(NOT ARG_SOURCES)
    set(ARG_SOURCES ${name}.cpp)
  endif()
  set(folder ${CMAKE_BINARY_DIR}/plugins)
  if(ARG_FOLDER)
    set(folder ${CMAKE_BINARY_DIR}/${ARG_FOLDER})
  endif()
  set(abi ${CMAKE_CURRENT_FUNCTION_LIST_DIR})  # as installed
  if(NOT EXISTS ${abi}/plugin.map)
    set(abi ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../plugin-api/abi)
  endif()
  set(settings)  # warnings and the like: the tree's own
  if(TARGET waybill_settings)
    set(settings waybill_settings)
  endif()

  add_library(plugin_${name}_code OBJECT ${ARG_SOURCES})
  target_link_libraries(plugin_${name}_code PUBLIC waybill::plugin ${ARG_LIBRARIES} PRIVATE ${settings})
  set_target_properties(plugin_${name}_code PROPERTIES CXX_VISIBILITY_PRESET hidden C_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON POSITION_INDEPENDENT_CODE ON)

  add_library(${name} MODULE)
  target_link_libraries(${name} PRIVATE plugin_${name}_code ${settings})
  target_link_options(${name} PRIVATE -Wl,--version-script=${abi}/plugin.map)
  get_directory_property(flags COMPILE_OPTIONS)
  if(NOT "${CMAKE_CXX_FLAGS} ${flags}" MATCHES "-fsanitize=")  # a sanitizer's symbols come from the program
    target_link_options(${name} PRIVATE -Wl,-z,defs)
  endif()
  set_target_properties(${name} PROPERTIES PREFIX "" SUFFIX .so LINKER_LANGUAGE CXX LINK_DEPENDS ${abi}/plugin.map
    LIBRARY_OUTPUT_DIRECTORY ${folder})
  # The host refuses a plugin that others may write to, whatever the umask was.
  add_custom_command(TARGET ${name} POST_BUILD COMMAND chmod go-w ${folder} $<TARGET_FILE:${name}> VERBATIM)
  if(NOT ARG_FOLDER)
    install(TARGETS ${name} LIBRARY DESTINATION lib/waybill/plugins COMPONENT runtime
      PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  endif()

  if(DEFINED BUILD_TESTING AND NOT BUILD_TESTING)
    return()
  endif()
  file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/tests/*_test.cpp)
  if(tests)
    add_executable(${name}_tests ${tests})
    target_link_libraries(${name}_tests PRIVATE plugin_${name}_code waybill::testkit ${settings} GTest::gtest_main)
    gtest_discover_tests(${name}_tests TEST_PREFIX plugin.${name}. DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 120)
    waybill_label_plugin_tests(${name}_tests)
  endif()
  add_test(NAME plugin.${name}.ExportsOneSymbol COMMAND ${CMAKE_COMMAND} -DNM=${CMAKE_NM} -DFILE=$<TARGET_FILE:${name}>
    -P ${abi}/check_exports.cmake)
  set_tests_properties(plugin.${name}.ExportsOneSymbol PROPERTIES LABELS "unit;plugin")
  if(WAYBILL_PLUGIN_CHECK)  # there is a waybill to ask
    set(samples)
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/check.json)
      set(samples --samples ${CMAKE_CURRENT_SOURCE_DIR}/check.json)
    endif()
    add_test(NAME plugin.${name}.conforms COMMAND $<TARGET_FILE:waybill::waybill> plugin check $<TARGET_FILE:${name}> ${samples})
    set_tests_properties(plugin.${name}.conforms PROPERTIES LABELS plugin TIMEOUT 300)
  endif()
endfunction()

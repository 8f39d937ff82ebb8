# waybill_add_plugin(NAME [FOLDER folder] [LIBRARIES target...]): NAME.cpp is compiled once and linked twice: into FOLDER/NAME.so
# (FOLDER is of the build tree, default plugins), which exports wb_plugin_v1 and nothing else, and with tests/*_test.cpp and the
# test kit into tests/plugin_NAME_tests.
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
  cmake_parse_arguments(ARG "" "FOLDER" "LIBRARIES" ${ARGN})
  set(abi ${CMAKE_SOURCE_DIR}/plugin-api/abi)
  if(NOT ARG_FOLDER)
    set(ARG_FOLDER plugins)
  endif()
  set(folder ${CMAKE_BINARY_DIR}/${ARG_FOLDER})

  add_library(plugin_${name}_code OBJECT ${name}.cpp)
  target_link_libraries(plugin_${name}_code PUBLIC waybill_plugin_api ${ARG_LIBRARIES} PRIVATE waybill_settings)
  set_target_properties(plugin_${name}_code PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)

  add_library(${name} MODULE)
  target_link_libraries(${name} PRIVATE plugin_${name}_code waybill_settings)
  target_link_options(${name} PRIVATE -Wl,--version-script=${abi}/plugin.map)
  if(NOT WAYBILL_SANITIZE)  # a sanitizer's symbols come from the program
    target_link_options(${name} PRIVATE -Wl,-z,defs)
  endif()
  set_target_properties(${name} PROPERTIES PREFIX "" LINKER_LANGUAGE CXX LINK_DEPENDS ${abi}/plugin.map
    LIBRARY_OUTPUT_DIRECTORY ${folder})
  # The host refuses a plugin that others may write to, whatever the umask was.
  add_custom_command(TARGET ${name} POST_BUILD COMMAND chmod go-w ${folder} $<TARGET_FILE:${name}> VERBATIM)

  file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/tests/*_test.cpp)
  if(WAYBILL_TESTS AND tests)
    add_executable(plugin_${name}_tests ${tests})
    target_link_libraries(plugin_${name}_tests PRIVATE plugin_${name}_code waybill_testkit waybill_settings GTest::gtest_main)
    set_target_properties(plugin_${name}_tests PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    gtest_discover_tests(plugin_${name}_tests TEST_PREFIX plugin.${name}. DISCOVERY_MODE PRE_TEST
      PROPERTIES TIMEOUT 120)
    waybill_label_plugin_tests(plugin_${name}_tests)
  endif()
  if(WAYBILL_TESTS)
    add_test(NAME plugin.${name}.ExportsOneSymbol COMMAND ${CMAKE_COMMAND} -DNM=${CMAKE_NM} -DFILE=$<TARGET_FILE:${name}>
      -P ${abi}/check_exports.cmake)
    set_tests_properties(plugin.${name}.ExportsOneSymbol PROPERTIES LABELS "unit;plugin")
  endif()
endfunction()

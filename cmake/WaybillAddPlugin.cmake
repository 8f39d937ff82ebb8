# waybill_add_plugin(NAME [FOLDER folder] [SOURCES file...] [LIBRARIES target...] [TESTS file...] [SAMPLES file])
#
# Makes the plugin plugins/NAME.so, which exports wb_plugin_v1 and nothing else, of NAME.cpp, NAME.c or the SOURCES; and, of the same
# objects with tests/*_test.cpp or the TESTS and the test kit, the GoogleTest program NAME_tests. ctest then runs those tests, looks at
# the exports, and lets `waybill plugin check` look at the .so, with the SAMPLES, NAME.check.json or check.json if there is one. `cmake
# --install` puts the .so where an installation has its plugins; not one with a FOLDER, which the build tree has it in instead of
# plugins/.
#
# A CMakeLists.txt may add several plugins: a file tests/NAME_test.cpp or tests/NAME_*_test.cpp is then the test of that plugin alone,
# and the others are tests of each.
#
# It serves the plugins of Waybill's own tree and those of the package waybill-plugin alike. BUILD_TESTING=OFF: no tests. Without the
# language CXX (project(... LANGUAGES C)) there are no GoogleTests, but the rest.
include(GoogleTest)

# The tests in tests/ that are not named for another plugin of this CMakeLists.txt.
function(waybill_tests_of name result)
  file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/tests/*_test.cpp)
  file(STRINGS ${CMAKE_CURRENT_SOURCE_DIR}/CMakeLists.txt lines REGEX "^[ \t]*waybill_add_plugin\\(")
  set(names ${name})
  foreach(line IN LISTS lines)
    if(line MATCHES "waybill_add_plugin\\([ \t]*([a-z0-9_]+)")
      list(APPEND names ${CMAKE_MATCH_1})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES names)
  set(mine)
  foreach(test IN LISTS tests)
    get_filename_component(file ${test} NAME)
    set(owner)
    foreach(one IN LISTS names)  # of two names that fit, the longer
      string(FIND ${file} ${one}_ at)
      string(LENGTH "${one}" length)
      string(LENGTH "${owner}" longest)
      if(at EQUAL 0 AND length GREATER longest)
        set(owner ${one})
      endif()
    endforeach()
    if(NOT owner OR owner STREQUAL name)
      list(APPEND mine ${test})
    endif()
  endforeach()
  set(${result} ${mine} PARENT_SCOPE)
endfunction()

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
  cmake_parse_arguments(ARG "" "FOLDER;SAMPLES" "SOURCES;LIBRARIES;TESTS" ${ARGN})
  if(NOT ARG_SOURCES)
    set(ARG_SOURCES ${name}.cpp)
    if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${name}.cpp AND EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${name}.c)
      set(ARG_SOURCES ${name}.c)
    endif()
  endif()
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  set(linker C)
  if(CXX IN_LIST languages)
    set(linker CXX)
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
  if(NOT "${CMAKE_C_FLAGS} ${CMAKE_CXX_FLAGS} ${flags}" MATCHES "-fsanitize=")  # a sanitizer's symbols come from the program
    target_link_options(${name} PRIVATE -Wl,-z,defs)
  endif()
  set_target_properties(${name} PROPERTIES PREFIX "" SUFFIX .so LINKER_LANGUAGE ${linker} LINK_DEPENDS ${abi}/plugin.map
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
  set(tests ${ARG_TESTS})
  if(NOT tests)
    waybill_tests_of(${name} tests)
  endif()
  if(tests AND NOT CXX IN_LIST languages)
    message(STATUS "plugin ${name}: its GoogleTests need the language CXX and are left out")
  elseif(tests)
    add_executable(${name}_tests ${tests})
    target_link_libraries(${name}_tests PRIVATE plugin_${name}_code waybill::testkit ${settings} GTest::gtest_main)
    gtest_discover_tests(${name}_tests TEST_PREFIX plugin.${name}. DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 300)
    waybill_label_plugin_tests(${name}_tests)
  endif()
  add_test(NAME plugin.${name}.ExportsOneSymbol COMMAND ${CMAKE_COMMAND} -DNM=${CMAKE_NM} -DFILE=$<TARGET_FILE:${name}>
    -P ${abi}/check_exports.cmake)
  set_tests_properties(plugin.${name}.ExportsOneSymbol PROPERTIES LABELS "unit;plugin")
  if(WAYBILL_PLUGIN_CHECK)  # there is a waybill to ask
    set(samples)
    foreach(file IN ITEMS check.json ${name}.check.json ${ARG_SAMPLES})  # the last that is there
      cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
      if(EXISTS ${file})
        set(samples --samples ${file})
      endif()
    endforeach()
    add_test(NAME plugin.${name}.conforms COMMAND $<TARGET_FILE:waybill::waybill> plugin check $<TARGET_FILE:${name}> ${samples}
      --time-limit 60)  # six times what is usual: tests run beside others, without an optimiser
    set_tests_properties(plugin.${name}.conforms PROPERTIES LABELS plugin TIMEOUT 600)
  endif()
endfunction()

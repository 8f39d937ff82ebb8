# The suites that run the real host: one program per file, one ctest test per program (its tests share a PostgreSQL cluster).
pkg_check_modules(PQXX REQUIRED IMPORTED_TARGET libpqxx)
file(GLOB support_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/support/*.cpp)
add_library(waybill_test_support STATIC ${support_sources})
target_include_directories(waybill_test_support PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_definitions(waybill_test_support PRIVATE
  WAYBILL_TEST_PROGRAM="$<TARGET_FILE:waybill>" WAYBILL_TEST_PLUGINS="${CMAKE_BINARY_DIR}/plugins"
  WAYBILL_TEST_EXAMPLES="${CMAKE_BINARY_DIR}/plugins-examples" WAYBILL_TEST_SCRIPTS="${CMAKE_CURRENT_SOURCE_DIR}/support"
  WAYBILL_TEST_REGISTRY="${CMAKE_SOURCE_DIR}/registry" WAYBILL_TEST_SCHEMAS="${CMAKE_SOURCE_DIR}/docs/commands")
# Preloaded into a server: never with a sanitizer, which would have to come first.
add_library(stepped_clock_preload MODULE support/stepped_clock_preload.c)
set_target_properties(stepped_clock_preload PROPERTIES PREFIX "" C_VISIBILITY_PRESET default)
target_compile_options(stepped_clock_preload PRIVATE -fno-sanitize=all)
target_link_options(stepped_clock_preload PRIVATE -fno-sanitize=all)
add_library(no_route_preload MODULE support/no_route_preload.c)
set_target_properties(no_route_preload PROPERTIES PREFIX "" C_VISIBILITY_PRESET default)
target_compile_options(no_route_preload PRIVATE -fno-sanitize=all)
target_link_options(no_route_preload PRIVATE -fno-sanitize=all)
add_dependencies(waybill_test_support stepped_clock_preload no_route_preload)
target_compile_definitions(waybill_test_support PRIVATE WAYBILL_STEPPED_CLOCK="$<TARGET_FILE:stepped_clock_preload>")
set_source_files_properties(integration/sick_host_test.cpp crash/chaos_world.cpp PROPERTIES COMPILE_DEFINITIONS WAYBILL_NO_ROUTE="$<TARGET_FILE:no_route_preload>")
target_link_libraries(waybill_test_support PUBLIC waybill_domain waybill_templates nlohmann_json::nlohmann_json GTest::gtest Threads::Threads
  PRIVATE PkgConfig::PQXX OpenSSL::Crypto waybill_settings)

# waybill_suite(KIND NAME SOURCE): the program KIND_NAME and its test KIND.NAME. The timeout is for what hangs: five suites run at
# once, and a machine that makes processes slowly takes ten times as long.
function(waybill_suite kind name source)
  add_executable(${kind}_${name} ${source})
  target_link_libraries(${kind}_${name} PRIVATE waybill_test_support waybill_settings OpenSSL::Crypto GTest::gtest_main)
  target_compile_definitions(${kind}_${name} PRIVATE WAYBILL_BAD_PLUGINS="${CMAKE_BINARY_DIR}/tests/bad_plugins"
    WAYBILL_PLUGIN_HOST="$<TARGET_FILE:waybill_plugin_host>" WAYBILL_SOURCE_FOLDER="${CMAKE_SOURCE_DIR}")
  add_dependencies(${kind}_${name} waybill)
  foreach(needed IN ITEMS sms push webhook email_template email_raw happyfox_template govuk_notify ses letter line parcel waybill_bad_plugins)
    if(TARGET ${needed})
      add_dependencies(${kind}_${name} ${needed})
    endif()
  endforeach()
  add_test(NAME ${kind}.${name} COMMAND ${kind}_${name})
  # The longer a suite, the higher its cost must be: the longest begin first, and no core waits for the other at the end.
  set_tests_properties(${kind}.${name} PROPERTIES LABELS ${kind} TIMEOUT 1800 COST 20)
endfunction()

file(GLOB integration_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/integration/*_test.cpp)
foreach(source IN LISTS integration_sources)
  get_filename_component(name ${source} NAME_WE)
  string(REGEX REPLACE "_test$" "" name ${name})
  waybill_suite(integration ${name} ${source})
endforeach()
target_link_libraries(integration_mail_servers PRIVATE waybill_senders)  # the plugin and the services, without the program
add_dependencies(integration_mail_servers email_raw)
target_link_libraries(integration_egress PRIVATE waybill_senders)
target_link_libraries(integration_outgoing PRIVATE waybill_services OpenSSL::SSL)  # servers with certificates of their own
target_link_libraries(integration_proof PRIVATE waybill_services)  # works out the id of a key
target_link_libraries(integration_foreign_ids PRIVATE yaml-cpp::yaml-cpp)
target_compile_definitions(integration_bench PRIVATE WAYBILL_BENCH_PROGRAM="${CMAKE_BINARY_DIR}/bench/waybill_bench")
add_dependencies(integration_bench waybill_bench)
target_compile_definitions(integration_install PRIVATE WAYBILL_CMAKE="${CMAKE_COMMAND}" WAYBILL_BUILD_FOLDER="${CMAKE_BINARY_DIR}")
set_tests_properties(integration.install PROPERTIES RESOURCE_LOCK waybill_install)
target_include_directories(integration_hostile_forms PRIVATE ${CMAKE_SOURCE_DIR}/plugins)  # the texts that the plugins meet too

# The tests of senders once more, with every plugin in a process of its own (WAYBILL_TEST_APART, unit/senders/plugin_world.h). What
# a hang does to the host's own threads is not for them.
if(WAYBILL_CHECKED_BUILD)
  add_test(NAME unit.senders_apart COMMAND ${WAYBILL_CHECKED_BUILD}/tests/unit_senders --gtest_filter=-Hanging.*)
else()
  add_test(NAME unit.senders_apart COMMAND unit_senders --gtest_filter=-Hanging.*)
endif()
set_tests_properties(unit.senders_apart PROPERTIES LABELS unit TIMEOUT 1800 COST 30 ENVIRONMENT WAYBILL_TEST_APART=1)

# The store contract: every function of the stores against a real PostgreSQL, in one program. It needs no host.
if(WAYBILL_CHECKED_BUILD)
  add_test(NAME contract.store COMMAND ${WAYBILL_CHECKED_BUILD}/tests/contract_store)
else()
  file(GLOB contract_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/contract/*_test.cpp)
  add_executable(contract_store ${contract_sources})
  target_include_directories(contract_store PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}
    $<TARGET_PROPERTY:waybill_store,INCLUDE_DIRECTORIES>)  # the text of single statements
  target_compile_definitions(contract_store PRIVATE WAYBILL_SOURCE_FOLDER="${CMAKE_SOURCE_DIR}")
  target_link_libraries(contract_store PRIVATE waybill_maintenance waybill_waiting waybill_test_support waybill_settings PkgConfig::PQ GTest::gtest_main)
  add_test(NAME contract.store COMMAND contract_store)
endif()
set_tests_properties(contract.store PROPERTIES LABELS contract TIMEOUT 2700 COST 200)

file(GLOB crash_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/crash/*_test.cpp)
foreach(source IN LISTS crash_sources)
  get_filename_component(name ${source} NAME_WE)
  string(REGEX REPLACE "_test$" "" name ${name})
  waybill_suite(crash ${name} ${source})
endforeach()
set_tests_properties(crash.chaos crash.forms integration.bench integration.notifications PROPERTIES COST 200 TIMEOUT 2700)
set_tests_properties(crash.forms_campaign crash.poison integration.hanging_database integration.dead integration.forms integration.plugin_check
  integration.alerts integration.commands integration.operations PROPERTIES COST 50)
target_sources(crash_chaos PRIVATE crash/chaos_channel_verdict.cpp crash/chaos_channels.cpp crash/chaos_faults.cpp
  crash/chaos_plan.cpp crash/chaos_verdict.cpp crash/chaos_world.cpp)
target_sources(crash_chaos_verdict PRIVATE crash/chaos_channel_verdict.cpp crash/chaos_plan.cpp crash/chaos_verdict.cpp)
set_tests_properties(crash.chaos_verdict PROPERTIES LABELS unit TIMEOUT 120)  # it starts nothing

waybill_suite(hostile door ${CMAKE_CURRENT_SOURCE_DIR}/hostile/door_test.cpp)
target_sources(hostile_door PRIVATE hostile/requests.cpp)

# The program as a service of systemd, by scripts that are service managers. A sanitizer needs what the unit forbids.
find_program(WAYBILL_SYSTEM_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)  # it has the modules that Debian packages
if(WAYBILL_SYSTEM_PYTHON AND NOT WAYBILL_SANITIZE AND NOT WAYBILL_COVERAGE)
  file(GLOB service_scripts CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/service/*_test.py)
  foreach(script IN LISTS service_scripts)
    get_filename_component(name ${script} NAME_WE)
    string(REGEX REPLACE "_test$" "" name ${name})
    add_test(NAME service.${name} COMMAND ${WAYBILL_SYSTEM_PYTHON} -B ${script})
    set_tests_properties(service.${name} PROPERTIES LABELS integration TIMEOUT 1800 COST 60
      ENVIRONMENT WAYBILL_BUILD_FOLDER=${CMAKE_BINARY_DIR})
  endforeach()
  set_tests_properties(service.upgrade PROPERTIES TIMEOUT 3600)  # with WAYBILL_TEST_ALL it builds the version before
endif()

file(GLOB docs_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/docs/*_test.cpp)
if(docs_sources)
  add_executable(docs_tests ${docs_sources})
  target_include_directories(docs_tests PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(docs_tests PRIVATE waybill_settings nlohmann_json::nlohmann_json yaml-cpp::yaml-cpp GTest::gtest
    GTest::gtest_main)
  # The snippets of docs/plugin-authors.md are given to the compiler, as an author's would be.
  add_dependencies(docs_tests waybill_fakes)
  target_compile_definitions(docs_tests PRIVATE WAYBILL_SOURCE_FOLDER="${CMAKE_SOURCE_DIR}" WAYBILL_CMAKE="${CMAKE_COMMAND}"
    WAYBILL_C_COMPILER="${CMAKE_C_COMPILER}" WAYBILL_CXX_COMPILER="${CMAKE_CXX_COMPILER}" WAYBILL_SANITIZE="${WAYBILL_SANITIZE}"
    WAYBILL_TESTKIT="${CMAKE_SOURCE_DIR}/plugin-api/testkit/fail_the_test.cpp $<TARGET_FILE:waybill_fakes>")
  gtest_discover_tests(docs_tests TEST_PREFIX docs. DISCOVERY_MODE PRE_TEST PROPERTIES LABELS unit TIMEOUT 600)
endif()

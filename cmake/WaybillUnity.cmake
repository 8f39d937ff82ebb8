# WAYBILL_UNITY compiles several sources of a target as one: the headers that they share are read once, which makes a whole build a
# third cheaper (two suites with all that they need: 140 instead of 209 s of CPU) and that of a single change dearer. CI builds so,
# and each folder that ./dev makes anew; what is shipped does not, because g++ then inlines less: 1.05 to 1.10 of the instructions (./dev guard).
option(WAYBILL_UNITY "Compile several sources of a target as one" OFF)
if(NOT WAYBILL_UNITY)
  return()
endif()
set(CMAKE_UNITY_BUILD ON)
set(CMAKE_UNITY_BUILD_BATCH_SIZE 8)
add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)  # a unity source is one of g++'s main files, but what it includes is not

# Sources whose private names are also those of a neighbour.
function(waybill_alone folder) # FOLDER SOURCE...: sources as paths from FOLDER, which has a CMakeLists.txt
  list(TRANSFORM ARGN PREPEND ${CMAKE_SOURCE_DIR}/${folder}/)
  set_source_files_properties(${ARGN} DIRECTORY ${CMAKE_SOURCE_DIR}/${folder} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
function(waybill_all_alone)  # called when all folders are known
  waybill_alone(host cli/check_plugin.cpp http/server_receive.cpp maintenance/task_runner.cpp senders/plugin_mail.cpp services/gcs_key.cpp services/gcs_links.cpp
    services/http_message.cpp templates/template_data.cpp templates/templates.cpp)
  waybill_alone(plugin-api/check checks_answers.cpp checks_calls.cpp checks_descriptor.cpp checks_ending.cpp checks_file.cpp checks_host.cpp
    checks_sender.cpp checks_validators.cpp)
  if(WAYBILL_TESTS)
    waybill_alone(plugin-api tests/wrapper_abilities_test.cpp)
    waybill_alone(tests demo/intents.cpp unit/api/intent_batch_test.cpp unit/api/json_envelope_test.cpp unit/domain/form_test.cpp
      unit/services/http_message_test.cpp)
  endif()
  if(WAYBILL_TESTS OR WAYBILL_BENCH)
    waybill_alone(tests/bench burst.cpp many.cpp organisations.cpp retention.cpp tenants.cpp)
    waybill_alone(tests/guard deciding.cpp drain.cpp wire.cpp)
  endif()
  set_target_properties(waybill_fake_host waybill_fakes PROPERTIES UNITY_BUILD OFF)  # most of their sources
endfunction()
cmake_language(DEFER CALL waybill_all_alone)

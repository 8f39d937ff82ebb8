# waybill_commit(TARGET): defines what host/base/version.h says of the build, for TARGET. In a release build the commit is that of the source tree at the
# time of building; elsewhere nothing, so that a commit does not make every program be linked again.
if(CMAKE_SCRIPT_MODE_FILE)
  execute_process(COMMAND git rev-parse --short=12 HEAD WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE
    ERROR_QUIET)
  execute_process(COMMAND git status --porcelain --untracked-files=no WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE changes ERROR_QUIET)
  if(commit AND changes)
    string(APPEND commit "+")
  endif()
  file(WRITE ${OUTPUT}.new "// Made by the build.\n#include \"base/version.h\"\n\nnamespace waybill {\n"
    "const char* built_version() { return \"${VERSION}\"; }\nconst char* built_commit() { return \"${commit}\"; }\n}  // namespace waybill\n")
  file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
  file(REMOVE ${OUTPUT}.new)
  return()
endif()

set(WAYBILL_COMMIT_SCRIPT ${CMAKE_CURRENT_LIST_FILE})
function(waybill_commit target)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/commit.cpp)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    add_custom_target(waybill_commit_now COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DOUTPUT=${output} -DVERSION=${PROJECT_VERSION} -P ${WAYBILL_COMMIT_SCRIPT}
      BYPRODUCTS ${output} VERBATIM)
    add_dependencies(${target} waybill_commit_now)
  else()
    file(CONFIGURE OUTPUT ${output} CONTENT "#include \"base/version.h\"\n\nnamespace waybill {\nconst char* built_version() { return \"${PROJECT_VERSION}\"; }\nconst char* built_commit() { return \"\"; }\n}\n")
  endif()
  target_sources(${target} PRIVATE ${output})
  set_source_files_properties(${output} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# What `./dev package` makes of a release build, by CPack: waybill (the program, its plugins, the service), waybill-dev (for authors of
# plugins), and the debug symbols of both apart. Times are those of the commit, so that two builds of it can be compared.
# `cmake --install` leaves out what is below component debian: it goes to /etc and to systemd's and other programs' folders.
if(NOT CMAKE_BUILD_TYPE STREQUAL "Release")
  return()
endif()
set(parts ${CMAKE_SOURCE_DIR}/cmake/package)
set(made ${CMAKE_BINARY_DIR}/package)
set(WAYBILL_PACKAGE_REVISION 1)  # of the same sources, packaged anew
set(CPACK_PACKAGE_CONTACT "Waybill maintainers <maintainers@waybill.invalid>" CACHE STRING "Who answers for the packages")

# ---- the times and the commit ----
execute_process(COMMAND git log -1 --format=%ct WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE WAYBILL_COMMIT_TIME
  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT WAYBILL_COMMIT_TIME)
  set(WAYBILL_COMMIT_TIME "$ENV{SOURCE_DATE_EPOCH}")  # a source tree without a history
endif()
if(NOT WAYBILL_COMMIT_TIME)
  message(STATUS "no packages: that needs the history of the sources, or SOURCE_DATE_EPOCH")
  return()
endif()

# ---- manuals and completions, from the program itself ----
set(comfort ${made}/comfort)
add_custom_command(OUTPUT ${comfort}/stamp
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${comfort}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${comfort}
  COMMAND ${CMAKE_COMMAND} -E env SOURCE_DATE_EPOCH=${WAYBILL_COMMIT_TIME} $<TARGET_FILE:waybill> manual ${comfort}
  COMMAND sh -c "gzip -9n ${comfort}/man?/*"
  COMMAND sh -c "for shell in bash zsh fish; do $<TARGET_FILE:waybill> completion $shell >${comfort}/$shell || exit; done"
  COMMAND ${CMAKE_COMMAND} -E touch ${comfort}/stamp
  DEPENDS waybill VERBATIM)
add_custom_target(waybill_comfort ALL DEPENDS ${comfort}/stamp)
function(install_for_debian) # FILES|DIRECTORY what... DESTINATION where [...]
  install(${ARGV} COMPONENT debian EXCLUDE_FROM_ALL)
endfunction()
install_for_debian(DIRECTORY ${comfort}/man1 ${comfort}/man5 DESTINATION share/man)
install_for_debian(FILES ${comfort}/bash DESTINATION share/bash-completion/completions RENAME waybill)
install_for_debian(FILES ${comfort}/zsh DESTINATION share/zsh/vendor-completions RENAME _waybill)
install_for_debian(FILES ${comfort}/fish DESTINATION share/fish/vendor_completions.d RENAME waybill.fish)

# ---- service and configuration ----
install_for_debian(FILES ${parts}/waybill.service ${parts}/waybill.socket DESTINATION lib/systemd/system)
install_for_debian(FILES ${parts}/waybill.yaml DESTINATION /etc/waybill)
install_for_debian(FILES ${parts}/targets.json DESTINATION /etc/waybill/registry)
install_for_debian(DIRECTORY DESTINATION /etc/waybill/plugins)
install_for_debian(FILES ${parts}/no-plugin-processes.conf ${parts}/javascript-plugins.conf DESTINATION share/doc/waybill/examples)

# ---- what Debian wants to know ----
execute_process(COMMAND date -u -R -d @${WAYBILL_COMMIT_TIME} OUTPUT_VARIABLE WAYBILL_COMMIT_DATE OUTPUT_STRIP_TRAILING_WHITESPACE)
foreach(component IN ITEMS debian sdk)
  set(package waybill)
  if(component STREQUAL sdk)
    set(package waybill-dev)
  endif()
  configure_file(${parts}/changelog.in ${made}/${package}/changelog.Debian @ONLY)
  add_custom_command(OUTPUT ${made}/${package}/changelog.Debian.gz
    COMMAND gzip -9nkf ${made}/${package}/changelog.Debian DEPENDS ${made}/${package}/changelog.Debian VERBATIM)
  add_custom_target(changelog_of_${package} ALL DEPENDS ${made}/${package}/changelog.Debian.gz)
  install(FILES ${parts}/lintian-overrides/${package} DESTINATION share/lintian/overrides COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(FILES ${made}/${package}/changelog.Debian.gz ${parts}/copyright DESTINATION share/doc/${package} COMPONENT ${component}
    EXCLUDE_FROM_ALL)
endforeach()
foreach(script IN ITEMS postinst prerm postrm)
  configure_file(${parts}/${script} ${made}/control/${script} COPYONLY FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ
    GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
endforeach()
file(WRITE ${made}/control/conffiles "/etc/waybill/registry/targets.json\n/etc/waybill/waybill.yaml\n")

# ---- CPack ----
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME waybill)
set(CPACK_PACKAGE_VENDOR Waybill)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_COMPONENTS_ALL runtime debian sdk)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES OFF)  # CPack takes the symbols out into a package of their own
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${WAYBILL_PACKAGE_REVISION})
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_DEBUGINFO_PACKAGE ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_DEBIAN_WAYBILL_PACKAGE_NAME waybill)
set(CPACK_DEBIAN_WAYBILL_PACKAGE_SECTION net)
set(CPACK_DEBIAN_WAYBILL_PACKAGE_DEPENDS adduser)
set(CPACK_DEBIAN_WAYBILL_PACKAGE_RECOMMENDS "postgresql (>= 15)")
set(CPACK_DEBIAN_WAYBILL_PACKAGE_SUGGESTS "waybill-dev, python3, nodejs")
set(CPACK_DEBIAN_WAYBILL_DESCRIPTION "dispatcher of submissions to mail, webhooks and other destinations
Waybill takes submissions over HTTP, stores each one in PostgreSQL and sees it
through to a recorded end: retries, rate limits, outages of destinations and
crashes of hosts included. Each kind of destination is a plugin.

This package has the program, its plugins and a service for systemd.")
set(CPACK_DEBIAN_WAYBILL_PACKAGE_CONTROL_EXTRA ${made}/control/postinst ${made}/control/prerm ${made}/control/postrm
  ${made}/control/conffiles)
set(CPACK_DEBIAN_WAYBILL-DEV_PACKAGE_NAME waybill-dev)
set(CPACK_DEBIAN_WAYBILL-DEV_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_WAYBILL-DEV_PACKAGE_DEPENDS "waybill (= ${PROJECT_VERSION}-${WAYBILL_PACKAGE_REVISION})")
set(CPACK_DEBIAN_WAYBILL-DEV_PACKAGE_SUGGESTS "cmake, g++, libcurl4-openssl-dev, libgtest-dev, python3, nodejs")
set(CPACK_DEBIAN_WAYBILL-DEV_DESCRIPTION "kit for authors of plugins for Waybill
Headers of the plugin ABI, a CMake package, a host for tests, and kits for
Python and TypeScript. `waybill plugin new NAME` begins a plugin.

Also clients of the HTTP API for C++, Python and TypeScript.")
set(CPACK_DEBIAN_WAYBILL-DEV_DEBUGINFO_PACKAGE OFF)
include(CPack)
cpack_add_component_group(waybill)
cpack_add_component_group(waybill-dev)
cpack_add_component(runtime GROUP waybill)
cpack_add_component(debian GROUP waybill)
cpack_add_component(sdk GROUP waybill-dev)

# What `./dev package` makes of a release build, by CPack: waybill (the program, its plugins, the service), waybill-dev (for authors of
# plugins), and the debug symbols of both apart. Two builds of one commit are equal byte for byte: times are those of the commit.
option(WAYBILL_PACKAGE "Install for a Debian package: below /usr, /etc and /var, and for systemd" OFF)
if(NOT WAYBILL_PACKAGE)
  return()
endif()
if(NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  message(FATAL_ERROR "WAYBILL_PACKAGE needs CMAKE_INSTALL_PREFIX=/usr")
endif()
set(parts ${CMAKE_SOURCE_DIR}/cmake/package)
set(made ${CMAKE_BINARY_DIR}/package)
set(WAYBILL_PACKAGE_REVISION 1)  # of the same sources, packaged anew

# ---- the times and the commit ----
execute_process(COMMAND git log -1 --format=%ct WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE WAYBILL_COMMIT_TIME
  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT WAYBILL_COMMIT_TIME)
  set(WAYBILL_COMMIT_TIME "$ENV{SOURCE_DATE_EPOCH}")  # a source tree without a history
endif()
if(NOT WAYBILL_COMMIT_TIME)
  message(FATAL_ERROR "packaging needs the history of the sources, or SOURCE_DATE_EPOCH")
endif()

# ---- manuals and completions, from the program itself ----
add_custom_command(OUTPUT ${made}/comfort/stamp
  COMMAND ${CMAKE_COMMAND} -E env SOURCE_DATE_EPOCH=${WAYBILL_COMMIT_TIME} sh ${parts}/comfort.sh $<TARGET_FILE:waybill> ${made}/comfort
  COMMAND ${CMAKE_COMMAND} -E touch ${made}/comfort/stamp
  DEPENDS waybill ${parts}/comfort.sh VERBATIM)
add_custom_target(waybill_comfort ALL DEPENDS ${made}/comfort/stamp)
install(DIRECTORY ${made}/comfort/man1 ${made}/comfort/man5 DESTINATION share/man COMPONENT runtime)
install(FILES ${made}/comfort/waybill.bash DESTINATION share/bash-completion/completions RENAME waybill COMPONENT runtime)
install(FILES ${made}/comfort/_waybill DESTINATION share/zsh/vendor-completions COMPONENT runtime)
install(FILES ${made}/comfort/waybill.fish DESTINATION share/fish/vendor_completions.d COMPONENT runtime)

# ---- service and configuration ----
install(FILES ${parts}/waybill.service ${parts}/waybill.socket DESTINATION lib/systemd/system COMPONENT runtime)
install(FILES ${parts}/waybill.yaml DESTINATION /etc/waybill COMPONENT runtime)
install(FILES ${parts}/no-plugin-processes.conf DESTINATION share/doc/waybill/examples COMPONENT runtime)

# ---- what Debian wants to know ----
file(STRINGS ${CMAKE_SOURCE_DIR}/LICENSE license)
execute_process(COMMAND date -u -R -d @${WAYBILL_COMMIT_TIME} OUTPUT_VARIABLE WAYBILL_COMMIT_DATE OUTPUT_STRIP_TRAILING_WHITESPACE)
foreach(component IN ITEMS runtime sdk)
  set(package waybill)
  if(component STREQUAL sdk)
    set(package waybill-dev)
  endif()
  set(WAYBILL_PACKAGE_NAME ${package})
  configure_file(${parts}/changelog.in ${made}/${package}/changelog.Debian @ONLY)
  add_custom_command(OUTPUT ${made}/${package}/changelog.Debian.gz
    COMMAND gzip -9nkf ${made}/${package}/changelog.Debian DEPENDS ${made}/${package}/changelog.Debian VERBATIM)
  add_custom_target(changelog_of_${package} ALL DEPENDS ${made}/${package}/changelog.Debian.gz)
  install(FILES ${made}/${package}/changelog.Debian.gz ${parts}/copyright DESTINATION share/doc/${package} COMPONENT ${component})
endforeach()
foreach(script IN ITEMS postinst prerm postrm)
  configure_file(${parts}/${script} ${made}/control/${script} COPYONLY FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ
    GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
endforeach()
file(WRITE ${made}/control/conffiles "/etc/waybill/waybill.yaml\n")

# ---- CPack ----
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME waybill)
set(CPACK_PACKAGE_VENDOR Waybill)
set(CPACK_PACKAGE_CONTACT "Waybill maintainers <waybill@localhost.localdomain>")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_COMPONENTS_ALL runtime sdk)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${WAYBILL_PACKAGE_REVISION})
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_DEBUGINFO_PACKAGE ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME waybill)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION net)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS adduser)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS "postgresql (>= 15)")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS "waybill-dev, python3, nodejs")
set(CPACK_DEBIAN_RUNTIME_DESCRIPTION "dispatcher of submissions to mail, webhooks and other destinations
 Waybill takes submissions over HTTP, stores each one in PostgreSQL and sees it
 through to a recorded end: retries, rate limits, outages of destinations and
 crashes of hosts included. Each kind of destination is a plugin.
 .
 This package has the program, its plugins and a service for systemd.")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${made}/control/postinst ${made}/control/prerm ${made}/control/postrm
  ${made}/control/conffiles)
set(CPACK_DEBIAN_SDK_PACKAGE_NAME waybill-dev)
set(CPACK_DEBIAN_SDK_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_SDK_PACKAGE_DEPENDS "waybill (= ${PROJECT_VERSION}-${WAYBILL_PACKAGE_REVISION})")
set(CPACK_DEBIAN_SDK_PACKAGE_SUGGESTS "cmake, g++, libgtest-dev, python3, nodejs")
set(CPACK_DEBIAN_SDK_DESCRIPTION "kit for authors of plugins for Waybill
 Headers of the plugin ABI, a CMake package, a host for tests, and kits for
 Python and TypeScript. `waybill plugin new NAME` begins a plugin.")
set(CPACK_DEBIAN_SDK_DEBUGINFO_PACKAGE OFF)
include(CPack)

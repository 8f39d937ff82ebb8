# Every package that Waybill uses, as targets. Debian 12 and 13 differ here and nowhere else in the build.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(Boost 1.81 REQUIRED COMPONENTS url)  # Beast, Asio and DLL are header-only
find_package(CURL 7.88 REQUIRED)
find_package(OpenSSL 3 REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(simdjson REQUIRED)  # its package file takes no other minor version for compatible
find_package(yaml-cpp REQUIRED)
find_package(CLI11 REQUIRED)
find_package(prometheus-cpp REQUIRED)
find_package(tl-expected REQUIRED)
pkg_check_modules(PQXX REQUIRED IMPORTED_TARGET libpqxx)
pkg_check_modules(SYSTEMD REQUIRED IMPORTED_TARGET libsystemd)
find_path(VALIJSON_INCLUDE_DIR valijson/validator.hpp REQUIRED)

if(NOT TARGET yaml-cpp::yaml-cpp)  # Debian 12 exports it without a namespace
  add_library(yaml-cpp::yaml-cpp ALIAS yaml-cpp)
endif()
if(WAYBILL_TESTS)
  find_package(GTest REQUIRED)
  pkg_check_modules(PQ REQUIRED IMPORTED_TARGET libpq)
  find_path(RAPIDCHECK_INCLUDE_DIR rapidcheck/gtest.h REQUIRED)  # no CMake files of its own that can be relied upon
  find_library(RAPIDCHECK_LIBRARY rapidcheck REQUIRED)
  add_library(waybill_rapidcheck INTERFACE)
  target_include_directories(waybill_rapidcheck SYSTEM INTERFACE ${RAPIDCHECK_INCLUDE_DIR})
  target_link_libraries(waybill_rapidcheck INTERFACE ${RAPIDCHECK_LIBRARY})
endif()
add_library(waybill_valijson INTERFACE)  # the package has no CMake files on Debian 12
target_include_directories(waybill_valijson SYSTEM INTERFACE ${VALIJSON_INCLUDE_DIR})
if(NOT TARGET valijson::valijson)
  add_library(valijson::valijson ALIAS waybill_valijson)
endif()

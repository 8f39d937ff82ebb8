# Language level, warnings, sanitizers and compiler cache, as one INTERFACE target that every target of ours links.
option(WAYBILL_TESTS "Build the tests" ON)
option(WAYBILL_BENCH "Build what measures: the benchmark, and the guard of instruction counts" OFF)
option(WAYBILL_FUZZ "Build the fuzz targets, with clang" OFF)
option(WAYBILL_COVERAGE "Instrument for gcov" OFF)
option(WAYBILL_WERROR "Treat warnings as errors" ON)
set(WAYBILL_CHECKED_BUILD "" CACHE PATH "A build whose unit and contract suites ctest runs in place of this one's")
set(WAYBILL_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize= takes them")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Dev CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_FLAGS_DEV "-O1 -g1" CACHE STRING "" FORCE)  # quick to build and quick enough to run
set(CMAKE_C_FLAGS_DEV "-O1 -g1" CACHE STRING "" FORCE)
# What is shipped, with what a stack needs to be read: the package has that apart. Addresses that are called are read-only. Stack protectors were
# tried: they take 3 to 4 % more instructions of the hot path (tests/guard).
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG -g1" CACHE STRING "" FORCE)
set(CMAKE_C_FLAGS_RELEASE "-O3 -DNDEBUG -g1" CACHE STRING "" FORCE)
foreach(kind IN ITEMS EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS_RELEASE "-Wl,-z,relro,-z,now" CACHE STRING "" FORCE)
endforeach()
set(CMAKE_CXX_FLAGS_CHECKED "-O0 -g1" CACHE STRING "" FORCE)  # with sanitizers, optimising takes as long again as compiling
set(CMAKE_C_FLAGS_CHECKED "-O0 -g1" CACHE STRING "" FORCE)
set(CMAKE_EXE_LINKER_FLAGS_CHECKED "-no-pie" CACHE STRING "" FORCE)  # a process starts in two thirds of the time: there is one for each test
set(CMAKE_CXX_FLAGS_ODR "-O0 -flto=2 -Werror=odr" CACHE STRING "" FORCE)  # nothing of it is run
set(CMAKE_C_FLAGS_ODR "-O0 -flto=2" CACHE STRING "" FORCE)
set(CMAKE_EXE_LINKER_FLAGS_ODR "-O0 -flto=2 -Werror=odr" CACHE STRING "" FORCE)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

find_program(WAYBILL_CCACHE ccache)
if(WAYBILL_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${WAYBILL_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${WAYBILL_CCACHE})
endif()

find_program(WAYBILL_LLD ld.lld)  # links the many test programs in a fraction of the time
if(WAYBILL_LLD AND CMAKE_BUILD_TYPE MATCHES "^(Dev|Checked)$")
  add_link_options(-fuse-ld=lld)
endif()

add_library(waybill_settings INTERFACE)
target_compile_options(waybill_settings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # g++ 12 at -O3 warns of "..." + std::string, and of temporaries that it has itself moved away
  target_compile_options(waybill_settings INTERFACE $<$<CONFIG:Release>:-Wno-restrict -Wno-maybe-uninitialized>)
endif()
if(WAYBILL_WERROR)
  target_compile_options(waybill_settings INTERFACE -Werror)
endif()
if(WAYBILL_SANITIZE)
  add_compile_options(-fsanitize=${WAYBILL_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${WAYBILL_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # clang 14 cannot compile coroutines with `function`; `vptr` needs a pipe, which fails where a test uses up all descriptors.
    add_compile_options(-fno-sanitize=function,vptr)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized>)  # g++ 12 warns inside <regex> when instrumented
  endif()
  if(WAYBILL_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-tsan)  # g++ warns of Asio's fences, which stand beside locks that the sanitizer understands
  endif()
endif()
if(WAYBILL_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
# waybill_without_vptr(TARGET): UBSan looks at an object's type with the help of a pipe, which fails where a test has used up
# all descriptors.
function(waybill_without_vptr target)
  if(WAYBILL_SANITIZE MATCHES undefined)
    target_compile_options(${target} PRIVATE -fno-sanitize=vptr)
  endif()
endfunction()
if(WAYBILL_COVERAGE)
  add_compile_options(--coverage -O0)
  add_link_options(--coverage)
else()  # nothing that is installed tells where it was built
  # Of two that fit a path the last one counts.
  add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}=. -ffile-prefix-map=${CMAKE_BINARY_DIR}=build)
endif()

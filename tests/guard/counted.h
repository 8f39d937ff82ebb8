// Marks what callgrind counts of a scenario: nothing of the program's start, and nothing of what a scenario prepares.
#pragma once

#include <valgrind/callgrind.h>

#include <stdexcept>
#include <string>

namespace waybill::guard {

inline constexpr int kCalls = 100;

// Counts what all threads do until `work` returns. Without callgrind it is just done.
template <class Work>
void counted(const Work& work) {
  CALLGRIND_START_INSTRUMENTATION;
  work();
  CALLGRIND_STOP_INSTRUMENTATION;
}

// Counts kCalls calls. One more goes before them, which binds symbols and fills caches.
template <class Call>
void counted_calls(const Call& call) {
  call();
  counted([&] {
    for (int i = 0; i < kCalls; ++i) call();
  });
}

inline void require(bool good, const std::string& what) {
  if (!good) throw std::runtime_error("not what was meant to be counted: " + what);
}

}  // namespace waybill::guard

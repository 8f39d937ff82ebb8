// A wall clock for a PostgreSQL of the tests' own that can be stepped while the server runs.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "support/temp_folder.h"

namespace waybill::testing {

// Owns what the server preloads and the file that says how far its clock is off. One thread at a time.
class SteppedClock {
 public:
  SteppedClock();
  ~SteppedClock();
  SteppedClock(const SteppedClock&) = delete;
  SteppedClock& operator=(const SteppedClock&) = delete;

  std::map<std::string, std::string> environment() const;  // of a server that goes by this clock
  void step(std::chrono::milliseconds by);                 // for all of its processes at once
  std::chrono::microseconds offset() const;                // from the machine's clock

 private:
  TempFolder folder_;
  std::int64_t* offset_ = nullptr;  // shared with the server
};

}  // namespace waybill::testing

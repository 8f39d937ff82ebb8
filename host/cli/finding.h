// What a check found, for `waybill check --online` and `waybill doctor`, and how it is printed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "base/time.h"

namespace waybill {

struct Finding {
  // note: worth knowing, and nothing to do. unknown: it could not be asked.
  enum class Level : std::uint8_t { ok, note, unknown, warning, problem } level;
  std::string what;       // which check: "database", "relay of email_raw"
  std::string message;    // what was found
  std::string remedy;     // what to do about it; "" for ok and note
  std::string subject{};  // which of several things of one check, such as a host; "": the message says
};
using Findings = std::vector<Finding>;

const char* word_of(Finding::Level level);
bool has_problem(const Findings& findings);
// "database table ready" of what "database table" and subject "ready".
std::string name_of(const Finding& finding);
void print(const Finding& finding);
Json json_of(const Findings& findings);  // without subjects

// "45 s", "12 min", "3 h", "5 d": rounded down.
std::string age_text(Micros age);
// "310 MiB", "2.4 GiB".
std::string size_text(std::int64_t bytes);

}  // namespace waybill

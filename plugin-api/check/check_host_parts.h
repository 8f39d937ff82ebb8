// What a check host is set up with.
#pragma once

#include <cstdint>
#include <string>

#include "answer.h"
#include "fake_host/lender.h"
#include "records.h"

namespace waybill::conformance {

using fake_host::Block;
using fake_host::Memory;
using testkit::Job;

// What kind of host this is.
struct Shape {
  std::uint32_t minor = WB_ABI_MINOR;
  std::size_t unknown_bytes = 0;  // as in fake_host::LendingTerms, with job and text
  Memory job = Memory::forgiving;
  Memory text = Memory::forgiving;
  std::int64_t unix_seconds = 1'700'000'000;
  bool timed = false;       // look for functions that keep the strand
  bool backwards = false;   // what was asked last is answered first
  bool tells_ends = false;  // the plugin is an executable, which is told that a call is over
};

// This host has a secret of every name; each contains this mark.
inline constexpr std::string_view kSecretMark = "wb-secret-";
inline constexpr std::string_view kSecretMarkInBase64 = "d2Itc2VjcmV0L";  // at the beginning, as Basic authentication has it
std::string secret_value(std::string_view name);

}  // namespace waybill::conformance

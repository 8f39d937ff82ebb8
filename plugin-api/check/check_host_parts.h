// What a host is set up with, and what it keeps of a call that is under way.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "answer.h"
#include "block.h"
#include "records.h"

namespace waybill::conformance {

class CheckHost;

struct Job {
  std::string destination;
  std::string payload;
  std::string context;
  std::string key = "key-1";
  std::string target = "target-1";
  std::int64_t deadline_ms = 30'000;
  std::string artifact_type, artifact;
  std::string provider_ref;
};

// What kind of host this is.
struct Shape {
  std::uint32_t minor = WB_ABI_MINOR;
  std::size_t more = 0;  // bytes of fields that plugin.h does not know yet, behind every struct that has a size
  Memory job = Memory::forgiving;
  Memory text = Memory::forgiving;  // everything else that is lent, a job's strings included
  std::int64_t unix_seconds = 1'700'000'000;
  bool timed = false;      // look for functions that keep the strand
  bool backwards = false;  // what was asked last is answered first
};

// This host has a secret of every name; each holds this mark.
inline constexpr std::string_view kSecretMark = "wb-secret-";
std::string secret_value(std::string_view name);

struct Exchange {
  std::uint64_t call = 0;
  const void* service = nullptr;
  Answer answer{};
  std::size_t recipients = 0;  // of a mail
  SentRequest sent{};
  std::function<void(const Exchange&)> tell{};
  std::int64_t due_at = 0;
  bool overruled = false;  // something else than the answer ends it
};

struct Timer {
  std::uint64_t call;
  void (*fire)(void*);
  void* user;
  std::int64_t due_at;
};

struct BorrowedJob {  // what a call's plugin may read until its end
  std::vector<Block> texts;
  Block raw;
  Block query;
};

struct Question {  // the user pointer of one for failures
  CheckHost* host;
  std::uint64_t call;
};

}  // namespace waybill::conformance

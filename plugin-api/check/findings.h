// What a check has to say, told at once to the process that waits for it: the plugin may be the end of this one at any time.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <string_view>

namespace waybill::conformance {

inline constexpr std::size_t kMaxDoing = 240;  // bytes

// What is said in order: lines of JSON on a pipe, each with one of these as its key.
inline constexpr const char* kFoundKey = "found";
inline constexpr const char* kSkippedKey = "skipped";
inline constexpr const char* kTypeKey = "type";
inline constexpr const char* kDoneKey = "done";

// [any]
class Findings {
 public:
  // `doing` is memory shared with the waiting process, kMaxDoing + 1 bytes: written without a system call, because some checks
  // count those.
  Findings(int pipe, char* doing) : pipe_(pipe), doing_(doing) {}

  // Each text is told once, with the circumstances of the first time.
  void found(const std::string& what, std::string_view during = {});
  void skipped(const std::string& why);
  void action_type(std::string_view type);
  void done();  // without it nothing passes
  void doing(std::string_view what);
  bool any() const { return !told_.empty(); }

 private:
  void tell(const char* key, std::string_view value);

  const int pipe_;
  char* const doing_;
  std::mutex mutex_;
  std::set<std::string> told_;
};

}  // namespace waybill::conformance

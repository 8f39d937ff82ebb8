// Reports what a check finds to the process that waits for it, at once: the plugin may end this process at any time.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <string_view>

namespace waybill::conformance {

inline constexpr std::size_t kMaxDoing = 240;  // bytes

// The report is lines of JSON on a pipe, each with one of these keys.
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

  // Each text is reported once, with the circumstances of the first time.
  void found(const std::string& what, std::string_view during = {});
  void skipped(const std::string& why);
  void action_type(std::string_view type);
  void done();  // without it the check does not pass
  void doing(std::string_view what);
  void given(std::string circumstance) { given_ = std::move(circumstance); }  // said after what is done from now on
  bool any() const { return !reported_.empty(); }

 private:
  void write_line(const char* key, std::string_view value);

  const int pipe_;
  char* const doing_;
  std::string given_;
  std::mutex mutex_;
  std::set<std::string> reported_;
};

}  // namespace waybill::conformance

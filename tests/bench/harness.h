// The scripts that measure peers and limits: peer.sh, limit.sh, and up.sh that sets up what they need.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace waybill::bench {

// One line of JSON that a script prints.
struct HarnessAnswer {
  std::string unit;
  double value = 0;           // of its one run
  std::optional<double> p99;  // where that was measured as well
};
// Throws unless it is one.
HarnessAnswer parse_answer(std::string_view text);

// Scripts run in a process group of their own, which an interrupt ends as a whole. One thread at a time.
class Harness {
 public:
  // The folder with the scripts. They have their work folder at $WAYBILL_BENCH_DIR.
  explicit Harness(std::filesystem::path folder);

  const std::filesystem::path& folder() const { return folder_; }
  bool is_there() const;
  void set_up() const;  // up.sh, as root; for others it must have been run. Throws when it fails
  HarnessAnswer run(const std::string& script, const std::vector<std::string>& arguments) const;  // one run
  // Leaves nothing for the autovacuum of their PostgreSQL to do while ours is measured.
  void rest() const;

 private:
  std::string output_of(const std::vector<std::string>& command, std::chrono::seconds bound) const;

  const std::filesystem::path folder_, work_folder_;
};

}  // namespace waybill::bench

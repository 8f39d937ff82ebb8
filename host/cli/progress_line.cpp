// Redraws its line some times a second at most.
#include "cli/progress_line.h"

#include <utility>

#include "base/printing.h"

namespace waybill {
namespace {
constexpr auto kBetweenDraws = std::chrono::milliseconds(100);
}

ProgressLine::ProgressLine(std::string what) : what_(std::move(what)) {}
ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::show(std::uint64_t done, std::uint64_t total) {
  show(what_ + ": " + std::to_string(done) + (total == 0 ? "" : " of " + std::to_string(total)));
}

void ProgressLine::show(const std::string& line) {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_ || !has_status_line()) return;
  next_ = now + kBetweenDraws;
  print_status(line);
  is_shown_ = true;
}

void ProgressLine::clear() {
  if (is_shown_) print_status("");
  is_shown_ = false;
}

}  // namespace waybill

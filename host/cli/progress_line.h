// How far a long command has come, on one line of the terminal. With a pipe there is nothing of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace waybill {

class ProgressLine {
 public:
  explicit ProgressLine(std::string what);  // "handed in"
  ~ProgressLine();                          // its line is gone
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(std::uint64_t done, std::uint64_t total);  // total 0: not known
  void show(const std::string& line);
  void show() { show(what_); }  // of what cannot be counted
  void clear();                 // before something else is printed

 private:
  std::string what_;
  bool is_shown_ = false;
  std::chrono::steady_clock::time_point next_{};  // not redrawn before
};

}  // namespace waybill

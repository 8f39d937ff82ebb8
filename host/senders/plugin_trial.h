// Loads plugins in a child process first: one that ends, crashes or hangs the process while it loads is known by name, and this
// process lives on.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace waybill {

struct TrialTerms {
  std::chrono::milliseconds patience{15'000};  // for one file
};

// Calls `load` for each file, in a child process and in this order. Says of each file what it did to the process ("killed by
// SIGSEGV: Segmentation fault", "ended the process with exit(0)", "still busy after 15 s"), or "" if nothing. The files that did
// nothing have been loaded together, one after another, in one process. One child is enough when all is well, else there is one
// more for each that is not. Where no child can be started, nothing is tried.
std::vector<std::string> try_in_child(const std::vector<std::filesystem::path>& files,
                                      const std::function<void(const std::filesystem::path&)>& load, TrialTerms terms = {});

}  // namespace waybill

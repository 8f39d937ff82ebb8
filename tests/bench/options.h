// The command line.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bench/measures.h"

namespace waybill::bench {

struct Options {
  std::set<std::string> measures;  // by name
  Sizes sizes;
  int rounds = 3;
  std::vector<std::string> against;
  std::filesystem::path harness, program, plugins, bench_plugins, json;
  std::vector<std::string> settings, postgres;  // NAME=VALUE
};

// None when there is nothing to run: `exit_code` says why.
std::optional<Options> parse_options(int argc, char** argv, int& exit_code);

}  // namespace waybill::bench

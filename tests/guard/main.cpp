// waybill_guard NAME: does one scenario, so that callgrind can count its instructions. --list names them all.
#include <cstdio>
#include <exception>
#include <string_view>
#include <vector>

#include "guard/scenarios.h"

namespace {

using namespace waybill::guard;

std::vector<Scenario> all_scenarios() {
  std::vector<Scenario> all;
  for (const auto some : {deciding_scenarios(), claiming_scenarios(), wire_scenarios(), drain_scenarios()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

int list() {
  for (const auto& scenario : all_scenarios())
    std::printf("%.*s\n", static_cast<int>(scenario.name.size()), scenario.name.data());
  return 0;
}

int run(std::string_view name) {
  for (const auto& scenario : all_scenarios()) {
    if (scenario.name != name) continue;
    scenario.run();
    return 0;
  }
  std::fprintf(stderr, "waybill_guard: no scenario is called \"%.*s\"\n", static_cast<int>(name.size()), name.data());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: waybill_guard NAME | --list\n");
    return 2;
  }
  try {
    return std::string_view(argv[1]) == "--list" ? list() : run(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "waybill_guard: %s\n", error.what());
    return 1;
  }
}

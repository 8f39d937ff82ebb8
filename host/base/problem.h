// What is wrong with something that a person wrote, and where.
#pragma once

#include <string>
#include <vector>

namespace waybill {

struct Problem {
  std::string file;   // as the person named it; empty when there is none
  int line = 0;       // 1 for the first; 0 when unknown
  std::string field;  // path of the field, such as "targets[2].policy", or empty
  std::string message;

  bool operator==(const Problem&) const = default;
};
using Problems = std::vector<Problem>;

// "registry/targets.json:12: targets[2].policy: unknown policy "sometimes" (one of deadline, max_attempts, one_shot)"
std::string to_string(const Problem& problem);

}  // namespace waybill

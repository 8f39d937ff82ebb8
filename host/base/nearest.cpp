// Optimal string alignment: letters left out, added, exchanged, or two neighbours swapped.
#include "base/nearest.h"

#include <algorithm>
#include <vector>

namespace waybill {
namespace {

constexpr std::size_t kMaxLength = 64;  // nobody misspells a longer word of ours
constexpr std::size_t kMinBeginning = 3;

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  return cost[a.size()][b.size()];
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> known) {
  if (word.size() > kMaxLength) return {};
  std::string best;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const auto& one : known) {
    if (one.size() > kMaxLength || one == word) continue;
    if (const auto far = distance(word, one); far < least) {
      least = far;
      best = one;
    }
  }
  for (const auto& one : known)  // what was cut short
    if (best.empty() && word.size() >= kMinBeginning && one.starts_with(word)) best = one;
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> known) {
  const auto found = nearest(word, known);
  return found.empty() ? "" : "; did you mean \"" + found + "\"?";
}

}  // namespace waybill

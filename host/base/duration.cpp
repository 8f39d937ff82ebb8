// A whole number with its unit.
#include "base/duration.h"

#include <algorithm>
#include <charconv>

namespace waybill {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t millis;
};
constexpr Unit kUnits[] = {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1000}, {"ms", 1}};

}  // namespace

std::optional<Millis> parse_duration(std::string_view text) {
  const auto digits = std::min(text.find_first_not_of("0123456789"), text.size());
  std::int64_t amount = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, amount);
  if (digits == 0 || error != std::errc{} || end != text.data() + digits) return std::nullopt;
  for (const auto& unit : kUnits) {
    if (unit.name != text.substr(digits)) continue;
    if (amount > Millis::max().count() / unit.millis) return std::nullopt;
    return Millis{amount * unit.millis};
  }
  return std::nullopt;
}

std::string format_duration(Millis duration) {
  for (const auto& unit : kUnits)
    if (duration.count() != 0 && duration.count() % unit.millis == 0)
      return std::to_string(duration.count() / unit.millis).append(unit.name);
  return "0s";
}

}  // namespace waybill

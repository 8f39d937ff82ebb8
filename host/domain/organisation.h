// Names of organisations: they stand in paths.
#pragma once

#include <algorithm>
#include <string_view>

namespace waybill {

inline constexpr std::size_t kMaxOrganisationName = 63;
inline constexpr std::string_view kOrganisationNames = "1 to 63 of a-z, 0-9 and -, with a letter or digit at both ends";

// Of new ones; those that are there keep their names.
constexpr bool is_organisation_name(std::string_view name) {
  const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !name.empty() && name.size() <= kMaxOrganisationName && is_plain(name.front()) && is_plain(name.back()) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return is_plain(c) || c == '-'; });
}

}  // namespace waybill

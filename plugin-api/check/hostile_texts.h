// Texts that no plugin should be given, and that every plugin will be given one day.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace waybill::conformance {

using NamedText = std::pair<std::string, std::string>;

// JSON objects like the sample, each wrong in one way; the sample itself first.
std::vector<NamedText> wrong_objects(const std::string& sample);
// The same, and texts that are no object, no JSON, or far too long.
std::vector<NamedText> hostile_texts(const std::string& sample);

// The sample with each of its values, however deep, gone or replaced by an odd one, up to kMaxOddTexts of them; empty if it is
// not JSON.
inline constexpr std::size_t kMaxOddTexts = 600;
std::vector<NamedText> odd_texts(const std::string& sample);

}  // namespace waybill::conformance

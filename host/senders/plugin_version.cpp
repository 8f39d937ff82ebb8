// Versions are free text; most are numbers with dots.
#include "senders/plugin_version.h"

#include <algorithm>

namespace waybill {
namespace {

bool is_number(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string_view take_word(std::string_view& text) {
  const auto end = std::min(text.find('.'), text.size());
  const auto word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

int compare_words(std::string_view a, std::string_view b) {
  if (a.empty() && is_number(b)) a = "0";
  if (b.empty() && is_number(a)) b = "0";
  const bool is_a = is_number(a), is_b = is_number(b);
  if (is_a != is_b) return is_a ? -1 : 1;  // a word is newer than a number
  if (!is_a) return a.compare(b);
  const auto without_zeros = [](std::string_view word) {
    return word.substr(std::min(word.find_first_not_of('0'), word.size()));
  };
  a = without_zeros(a), b = without_zeros(b);
  return a.size() != b.size() ? (a.size() < b.size() ? -1 : 1) : a.compare(b);
}

int compare_dotted(std::string_view a, std::string_view b) {
  while (!a.empty() || !b.empty())
    if (const int order = compare_words(take_word(a), take_word(b)); order != 0) return order;
  return 0;
}

struct Version {
  std::string_view release;
  std::string_view candidate;  // "" for a release itself

  explicit Version(std::string_view text) {
    if (text.size() > 1 && text.front() == 'v' && text[1] >= '0' && text[1] <= '9') text.remove_prefix(1);
    text = text.substr(0, text.find('+'));
    const auto dash = text.find('-');
    release = text.substr(0, dash);
    if (dash != std::string_view::npos) candidate = text.substr(dash + 1);
  }
};

}  // namespace

bool is_newer_version(std::string_view version, std::string_view than) {
  const Version a(version), b(than);
  if (const int order = compare_dotted(a.release, b.release); order != 0) return order > 0;
  if (a.candidate.empty() || b.candidate.empty()) return a.candidate.empty() && !b.candidate.empty();
  return compare_dotted(a.candidate, b.candidate) > 0;
}

}  // namespace waybill

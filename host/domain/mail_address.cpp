// The rules of plain mail addresses: a subset of RFC 5321 that the mail plugins take as well.
#include "domain/mail_address.h"

#include <algorithm>

#include "base/names.h"

namespace waybill {
namespace {

constexpr std::size_t kMaxAddress = 254, kMaxLocalPart = 64, kMaxLabel = 63;

bool is_letter_or_number(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_of_local_part(char c) {
  return is_letter_or_number(c) || (c != '\0' && std::string_view("!#$%&'*+-/=?^_`{|}~").find(c) != std::string_view::npos);
}

// Words of 1 to `longest` of these characters, between single dots.
template <class Wanted>
bool is_dotted(std::string_view text, std::size_t longest, const Wanted& wanted) {
  std::size_t word = 0;
  for (const char c : text) {
    if (c == '.' ? word == 0 : !wanted(c) || ++word > longest) return false;
    if (c == '.') word = 0;
  }
  return word != 0;
}

bool is_domain(std::string_view domain) {
  if (!is_dotted(domain, kMaxLabel, [](char c) { return is_letter_or_number(c) || c == '-'; })) return false;
  for (std::size_t i = 0; i < domain.size(); ++i)
    if (domain[i] == '-' && (i == 0 || i + 1 == domain.size() || domain[i - 1] == '.' || domain[i + 1] == '.')) return false;
  return true;
}

}  // namespace

std::string fault_in_address(std::string_view text) {
  if (text.empty()) return "it is empty";
  if (has_control_character(text)) return "it has a control character";
  if (text.find_first_of(" ,;:<>()[]\"\\") != std::string_view::npos) return "it has more in it than an address";
  if (text.size() > kMaxAddress) return "it is longer than " + std::to_string(kMaxAddress) + " bytes";
  const auto at = text.rfind('@');
  if (at == std::string_view::npos || at == 0 || at + 1 == text.size()) return "it is not of the form name@domain";
  const auto local = text.substr(0, at);
  const bool is_encoded = local.find("=?") != std::string_view::npos;  // mail programs would decode it
  if (is_encoded || local.size() > kMaxLocalPart || !is_dotted(local, kMaxLocalPart, is_of_local_part))
    return "what stands before the @ is no name";
  if (!is_domain(text.substr(at + 1))) return "what stands behind the @ is no domain";
  return {};
}

}  // namespace waybill

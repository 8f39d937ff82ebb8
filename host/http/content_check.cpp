// Media types are compared without regard to case; parameters and what is around them do not count.
#include "http/content_check.h"

#include <algorithm>
#include <span>

#include "base/ascii.h"
#include "base/names.h"
#include "http/field_value.h"

namespace waybill::http {
namespace {

std::span<const std::string_view> types_of(Content content) {
  static constexpr std::string_view kJson[] = {"application/json", "application/x-ndjson"};
  static constexpr std::string_view kForm[] = {"application/x-www-form-urlencoded"};
  if (content == Content::form) return kForm;
  return std::span(kJson).first(content == Content::json ? 1 : 2);
}

// Also a list with empty items, which RFC 9110, 5.6.1 has recipients take.
bool is_unencoded(std::string_view codings) {
  while (!codings.empty()) {
    const auto coding = trimmed(codings.substr(0, codings.find(',')));
    if (!coding.empty() && !is_ascii_word(coding, "identity")) return false;
    codings.remove_prefix(std::min(codings.size(), codings.find(',')));
    if (!codings.empty()) codings.remove_prefix(1);
  }
  return true;
}

Response unsupported(const std::string& message) { return error_response(415, "unsupported_media_type", message); }

}  // namespace

std::optional<Response> content_refusal(const Route& route, const Request& request) {
  if (!is_unencoded(request.content_encoding))
    return unsupported("the body must not be encoded: send it without Content-Encoding");
  const std::string_view given = request.content_type;
  const auto type = trimmed(given.substr(0, given.find(';')));
  if (request.body.empty() || (type.empty() && given.empty())) return std::nullopt;
  const auto types = types_of(route.content);
  if (std::any_of(types.begin(), types.end(), [&](auto one) { return is_ascii_word(type, one); })) return std::nullopt;
  return unsupported("the Content-Type of this body must be " + list_of(types));
}

}  // namespace waybill::http

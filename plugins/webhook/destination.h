// Where a webhook goes: its URL, how it is signed and with which secret, and further headers.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "common/control_characters.h"
#include "common/http_sender.h"

namespace waybill::plugins::webhook {

enum class Signing { standard, cvert };

inline constexpr const char* kTimestampHeader = "X-CVErt-Timestamp";
inline constexpr const char* kSignatureHeader = "X-CVErtOps-Signature";

struct Destination {
  std::string url;
  std::string secret;  // a name; empty: unsigned
  Signing signing = Signing::standard;
  std::string timestamp_header = kTimestampHeader;  // of cvert, as is the next
  std::string signature_header = kSignatureHeader;
  std::vector<plugin::Header> headers;
  bool keeps_answer = false;  // the JSON of a 2xx answer is the result
  std::string error_at;       // JSON pointer to a word in any other answer that says what went wrong; or ""
};

inline constexpr std::string_view kDestinationSchema =
    R"({"type":"object","required":["url"],"additionalProperties":false,"properties":{)"
    R"("url":{"type":"string","minLength":1},)"
    R"("secret":{"type":"string","minLength":1,"description":"name of the host's secret to sign with"},)"
    R"("signing":{"type":"string","enum":["standard","cvert"],"default":"standard",)"
    R"("description":"standard: Standard Webhooks, with every valid secret; cvert: two headers, with the newest secret only"},)"
    R"("timestampHeader":{"type":"string","minLength":1,"default":"X-CVErt-Timestamp","description":"signing cvert only"},)"
    R"("signatureHeader":{"type":"string","minLength":1,"default":"X-CVErtOps-Signature","description":"signing cvert only"},)"
    R"("answer":{"type":"string","enum":["ignore","json"],"default":"ignore",)"
    R"("description":"json: the JSON of a 2xx answer is the result"},)"
    R"("errorAt":{"type":"string","pattern":"^/","description":"JSON pointer to the reason in an answer that is not 2xx"},)"
    R"("headers":{"type":"object","additionalProperties":{"type":"string"},)"
    R"("description":"further headers; {secret:NAME} is filled in by the host"}}})";

// They frame the request or are about one connection (RFC 9110, 7.6.1): nobody's to set.
inline constexpr std::string_view kFraming[] = {"Host",       "Content-Length", "Transfer-Encoding", "Content-Type",
                                                "Connection", "Upgrade",        "Keep-Alive",        "TE",
                                                "Trailer",    "Expect"};
// They vouch for the request, in either scheme.
inline constexpr std::string_view kVouching[] = {"webhook-id", "webhook-timestamp", "webhook-signature", kTimestampHeader,
                                                 kSignatureHeader};

inline bool is_one_of(std::string_view name, const std::string_view* begin, const std::string_view* end) {
  return std::any_of(begin, end, [&](std::string_view one) { return same_name(name, one); });
}
inline bool is_framing(std::string_view name) {
  return is_one_of(name, std::begin(kFraming), std::end(kFraming)) || same_name(name.substr(0, 6), "proxy-");
}
inline bool is_reserved(std::string_view name) {
  return is_framing(name) || is_one_of(name, std::begin(kVouching), std::end(kVouching));
}

inline bool is_token(std::string_view name) {  // RFC 9110, 5.6.2 (before: RFC 7230)
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

// Every "{secret:" is closed and names something.
inline bool names_secrets_well(std::string_view value) {
  constexpr std::string_view kOpen = "{secret:";
  for (auto at = value.find(kOpen); at != std::string_view::npos; at = value.find(kOpen, at)) {
    at += kOpen.size();
    const auto close = value.find('}', at);
    if (close == std::string_view::npos || close == at) return false;
    at = close;
  }
  return true;
}

inline std::string pointer_to(std::string_view header) {
  std::string path = "/headers/";
  for (const char c : header) path += c == '~' ? std::string("~0") : c == '/' ? std::string("~1") : std::string(1, c);
  return path;
}

inline void check_header(const std::string& name, const Json& value, plugin::Report& report) {
  const auto path = pointer_to(name);
  const auto shown = "the header \"" + one_line(name) + "\" ";
  if (!is_token(name)) report(path, shown + "has a name that is no token");
  if (is_reserved(name)) report(path, shown + "is reserved");
  if (!value.is_string()) return report(path, shown + "must be a string");
  const auto& words = value.get_ref<const std::string&>();
  if (has_control_character(words)) report(path, shown + "has a control character in its value");
  if (!names_secrets_well(words)) report(path, shown + "has a {secret:NAME} that is not closed or has no name");
}

// What a destination says of its signature; the names of its headers go into `taken`.
inline void check_signing(const Json& destination, std::set<std::string>& taken, plugin::Report& report) {
  const auto* signing = field(destination, "signing");
  const bool cvert = signing && *signing == "cvert";
  if (signing && !cvert && *signing != "standard") report("/signing", "signing must be \"standard\" or \"cvert\"");
  for (const auto* key : {"timestampHeader", "signatureHeader"}) {
    const auto* name = field(destination, key);
    if (!name) continue;
    const auto path = std::string("/") + key;
    if (!cvert) {
      report(path, std::string(key) + " is only for signing \"cvert\"");
      continue;
    }
    if (!name->is_string() || !is_token(name->get_ref<const std::string&>())) {
      report(path, std::string(key) + " must be the name of a header");
      continue;
    }
    auto low = name->get<std::string>();
    std::transform(low.begin(), low.end(), low.begin(), lower);
    if (is_framing(low)) report(path, std::string(key) + " names a header that is reserved");
    if (!taken.insert(std::move(low)).second) report(path, std::string(key) + " names the same header as timestampHeader");
  }
}

inline bool is_pointer(const Json& value) {
  if (!value.is_string()) return false;
  try {
    return !Json::json_pointer(value.get_ref<const std::string&>()).empty();
  } catch (const Json::exception&) {
    return false;
  }
}

inline void check_destination(std::string_view json, plugin::Report& report) {
  std::string problem;
  const auto destination = parse_object(json, problem);
  if (!destination) return report("", "the destination " + problem);
  const auto* url = field(*destination, "url");
  if (!url || !url->is_string() || url->get_ref<const std::string&>().empty()) report("/url", "a webhook needs a url");
  const auto* secret = field(*destination, "secret");
  if (secret && (!secret->is_string() || secret->get_ref<const std::string&>().empty()))
    report("/secret", "secret must be the name of a secret");
  const auto* answer = field(*destination, "answer");
  if (answer && *answer != "json" && *answer != "ignore") report("/answer", "answer must be \"json\" or \"ignore\"");
  const auto* error_at = field(*destination, "errorAt");
  if (error_at && !is_pointer(*error_at)) report("/errorAt", "errorAt must be a JSON pointer such as \"/error/code\"");
  std::set<std::string> seen;  // in lower case
  check_signing(*destination, seen, report);
  const auto* headers = field(*destination, "headers");
  if (!headers) return;
  if (!headers->is_object()) return report("/headers", "headers must be an object");
  for (auto it = headers->begin(); it != headers->end(); ++it) {
    check_header(it.key(), it.value(), report);
    auto name = it.key();
    std::transform(name.begin(), name.end(), name.begin(), lower);
    if (!seen.insert(std::move(name)).second)
      report(pointer_to(it.key()), "the header \"" + one_line(it.key()) + "\" is there twice, or carries the signature");
  }
}

// Of a destination that passed the check; of one that was stored before a rule came, without the headers that it may not set.
inline std::shared_ptr<const Destination> parse_destination(const Json& json) {
  auto out = std::make_shared<Destination>();
  out->url = url_of(json);
  if (const auto* secret = field(json, "secret")) out->secret = secret->get<std::string>();
  if (const auto* signing = field(json, "signing"); signing && *signing == "cvert") out->signing = Signing::cvert;
  if (const auto* name = field(json, "timestampHeader")) out->timestamp_header = name->get<std::string>();
  if (const auto* name = field(json, "signatureHeader")) out->signature_header = name->get<std::string>();
  if (const auto* answer = field(json, "answer")) out->keeps_answer = *answer == "json";
  if (const auto* at = field(json, "errorAt")) out->error_at = at->get<std::string>();
  const auto signs = [&](std::string_view name) {
    return out->signing == Signing::cvert && (same_name(name, out->timestamp_header) || same_name(name, out->signature_header));
  };
  if (const auto* headers = field(json, "headers"))
    for (auto it = headers->begin(); it != headers->end(); ++it)
      if (!is_reserved(it.key()) && !signs(it.key())) out->headers.push_back({it.key(), it.value().get<std::string>()});
  return out;
}

}  // namespace waybill::plugins::webhook

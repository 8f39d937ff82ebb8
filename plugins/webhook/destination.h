// Where a webhook goes: its URL, the name of its signing secret, and the operator's own headers.
#pragma once

#include <algorithm>
#include <set>

#include "common/http_sender.h"

namespace waybill::plugins::webhook {

struct Destination {
  std::string url;
  std::string secret;  // a name; empty: unsigned
  std::vector<plugin::Header> headers;
};

inline constexpr std::string_view kDestinationSchema =
    R"({"type":"object","required":["url"],"additionalProperties":false,"properties":{)"
    R"("url":{"type":"string","minLength":1},)"
    R"("secret":{"type":"string","minLength":1,"description":"name of the host's secret to sign with"},)"
    R"("headers":{"type":"object","additionalProperties":{"type":"string"},)"
    R"("description":"further headers; {secret:NAME} is filled in by the host"}}})";

// They frame the request or vouch for it, so they are not the destination's to set.
inline constexpr std::string_view kReservedHeaders[] = {
    "Host",         "Content-Length", "Transfer-Encoding", "Connection",
    "Content-Type", "webhook-id",     "webhook-timestamp", "webhook-signature"};

inline bool is_token(std::string_view name) {  // RFC 9110, 5.6.2 (before: RFC 7230)
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

inline bool has_control(std::string_view value) {
  return std::any_of(value.begin(), value.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
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
  for (const auto reserved : kReservedHeaders)
    if (same_name(name, reserved)) report(path, shown + "is reserved");
  if (!value.is_string()) return report(path, shown + "must be a string");
  const auto& words = value.get_ref<const std::string&>();
  if (has_control(words)) report(path, shown + "has a control character in its value");
  if (!names_secrets_well(words)) report(path, shown + "has a {secret:NAME} that is not closed or has no name");
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
  const auto* headers = field(*destination, "headers");
  if (!headers) return;
  if (!headers->is_object()) return report("/headers", "headers must be an object");
  std::set<std::string> seen;
  for (auto it = headers->begin(); it != headers->end(); ++it) {
    check_header(it.key(), it.value(), report);
    auto name = it.key();
    std::transform(name.begin(), name.end(), name.begin(), lower);
    if (!seen.insert(std::move(name)).second)
      report(pointer_to(it.key()), "the header \"" + one_line(it.key()) + "\" is there twice, in different case");
  }
}

// Of a destination that passed the check.
inline std::shared_ptr<const Destination> parse_destination(const Json& json) {
  auto out = std::make_shared<Destination>();
  out->url = url_of(json);
  if (const auto* secret = field(json, "secret")) out->secret = secret->get<std::string>();
  if (const auto* headers = field(json, "headers"))
    for (auto it = headers->begin(); it != headers->end(); ++it)
      out->headers.push_back({it.key(), it.value().get<std::string>()});
  return out;
}

}  // namespace waybill::plugins::webhook

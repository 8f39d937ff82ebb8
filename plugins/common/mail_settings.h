// The operator's settings of a plugin that sends mail.
#pragma once

#include <stdexcept>

#include "common/mail_address.h"
#include "common/settings_reader.h"
#include "common/url_port.h"
#include "waybill/plugin.hpp"

namespace waybill::plugins {

inline constexpr std::string_view kMailSettings =
    R"({"type":"object","required":["from"],"additionalProperties":false,)"
    R"("examples":[{"from":"Forms <forms@example.org>","relay":"smtp://localhost:25"}],"properties":{)"
    R"("from":{"type":"string","minLength":3,"examples":["Forms <forms@example.org>"],)"
    R"("description":"sender, of the envelope and of the header"},)"
    R"("relay":{"type":"string","pattern":"^smtps?://[^/?#@ ]+$","default":"smtp://localhost:25",)"
    R"("description":"the relay that takes our mail"},)"
    R"("tls":{"enum":["if_offered","required","never"],)"
    R"("description":"STARTTLS with a relay named smtp://; without: required if there is a user, else if_offered"},)"
    R"("user":{"type":"string","minLength":1,"description":"AUTH with this name"},)"
    R"("password_secret":{"type":"string","minLength":1,"description":"NAME of the host's secret to AUTH with"},)"
    R"("link_ttl_seconds":{"type":"integer","minimum":1,"maximum":604800,"default":604800,)"
    R"("description":"how long links to attachments work, in seconds"},)"
    R"("timeout_ms":{"type":"integer","minimum":1,"maximum":600000,)"
    R"("description":"how long one attempt may take, in milliseconds"}}})";

struct MailSettings {
  Mailbox from;
  std::string relay = "smtp://localhost:25";
  plugin::Tls tls = plugin::Tls::if_offered;
  std::string user;
  std::string password_secret;
  std::int64_t link_ttl = 604'800;       // seconds
  std::chrono::milliseconds timeout{0};  // 0: until the attempt's deadline
};

namespace detail {

// Calls `wrong` for each problem; what is wrong keeps its default.
inline MailSettings read_mail_settings(std::string_view settings, const Wrong& wrong) {
  MailSettings out;
  std::string problem;
  const SettingsReader read(settings, wrong);
  if (!read.usable()) return out;
  if (auto from = parse_mailbox(read.text("from"), problem))
    out.from = std::move(*from);
  else
    wrong("/from", "from: " + problem);
  out.relay = read.text("relay", out.relay);
  const auto host = out.relay.find("://");
  const bool smtp = out.relay.substr(0, host) == "smtp" || out.relay.substr(0, host) == "smtps";
  if (!smtp || host == std::string::npos || host + 3 == out.relay.size() ||
      out.relay.find_first_of("/?#@ \t\r\n", host + 3) != std::string::npos)
    wrong("/relay", "relay must be smtp://host:port or smtps://host:port");
  else if (!has_good_port(out.relay))
    wrong("/relay", "relay: the port must be from 1 to 65535");
  out.user = read.text("user");
  const auto tls = read.text("tls", out.user.empty() ? "if_offered" : "required");
  if (tls == "required" || tls == "never")
    out.tls = tls == "never" ? plugin::Tls::never : plugin::Tls::required;
  else if (tls != "if_offered")
    wrong("/tls", "tls must be one of if_offered, required, never");
  out.password_secret = read.text("password_secret");
  if (out.user.empty() != out.password_secret.empty()) wrong("/user", "user and password_secret come together");
  out.link_ttl = read.number("link_ttl_seconds", 604'800, out.link_ttl);
  out.timeout = std::chrono::milliseconds(read.number("timeout_ms", 600'000, out.timeout.count()));
  return out;
}

}  // namespace detail

inline void check_mail_settings(std::string_view settings, plugin::Report& report) {
  detail::read_mail_settings(settings, telling(report));
}

// Throws what the host is to report.
inline MailSettings mail_settings(std::string_view settings) { return detail::read_mail_settings(settings, throw_wrong); }

}  // namespace waybill::plugins

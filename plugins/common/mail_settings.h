// The operator's settings of a plugin that sends mail.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/mail_address.h"
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

void check_mail_settings(std::string_view settings, plugin::Report& report);

// Throws what the host is to report.
MailSettings mail_settings(std::string_view settings);

}  // namespace waybill::plugins

// Which service of GOV.UK Notify sends, and where its API is.
#pragma once

#include "common/http_sender.h"
#include "common/settings_reader.h"

namespace waybill::plugins::notify {

inline constexpr std::string_view kSettingsSchema =
    R"({"type":"object","required":["service_id","key_secret"],"additionalProperties":false,)"
    R"("examples":[{"service_id":"8b3aa916-ec82-434e-b0c5-d5d9b371d6a3","key_secret":"notify"}],"properties":{)"
    R"("service_id":{"type":"string","pattern":"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$",)"
    R"("description":"id of the service: the second but last UUID of its API key"},)"
    R"("key_secret":{"type":"string","minLength":1,)"
    R"("description":"NAME of the host's secret that is the last UUID of the API key"},)"
    R"("timeout_ms":{"type":"integer","minimum":1,"maximum":600000,)"
    R"("description":"how long one request may take, in milliseconds"}}})";

inline constexpr std::string_view kDestinationSchema =
    R"({"type":"object","required":["url"],"additionalProperties":false,)"
    R"("examples":[{"url":"https://api.notifications.service.gov.uk"}],"properties":{)"
    R"("url":{"type":"string","minLength":1,"description":"base URL of the API"},)"
    R"("serviceId":{"type":"string","description":"instead of service_id of the settings, with keySecret"},)"
    R"("keySecret":{"type":"string","minLength":1,"description":"instead of key_secret of the settings, with serviceId"}}})";

struct Account {
  std::string service_id;
  std::string key;  // the NAME of a secret
};

struct Settings {
  Account account;
  std::chrono::milliseconds timeout{0};  // 0: until the attempt's deadline
};

struct Destination {
  std::string base;                // without a slash at its end
  std::optional<Account> account;  // none: that of the settings
};

inline bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = lower(text[i]);
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? c != '-' : !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;
  }
  return true;
}

inline Settings read_settings(std::string_view settings, const Wrong& wrong) {
  Settings out;
  const SettingsReader read(settings, wrong);
  if (!read.usable()) return out;
  out.account = {read.text("service_id"), read.text("key_secret")};
  if (!is_uuid(out.account.service_id)) wrong("/service_id", "service_id must be the id of a service, a UUID");
  if (out.account.key.empty()) wrong("/key_secret", "key_secret must be the name of a secret");
  out.timeout = std::chrono::milliseconds(read.number("timeout_ms", 600'000, out.timeout.count()));
  return out;
}

inline void check_settings(std::string_view settings, plugin::Report& report) { read_settings(settings, telling(report)); }

// Throws what the host is to report.
inline Settings settings_from(std::string_view settings) { return read_settings(settings, throw_wrong); }

inline Destination read_destination(std::string_view destination, const Wrong& wrong) {
  Destination out;
  const SettingsReader read(destination, [&](const std::string& path, const std::string& message) {
    wrong(path, path.empty() ? "the destination is not a JSON object" : message);
  });
  if (!read.usable()) return out;
  out.base = read.text("url");
  if (out.base.empty()) wrong("/url", "a target of GOV.UK Notify needs a url");
  if (out.base.find_first_of("?#") != std::string::npos) wrong("/url", "the url must have no query and no fragment");
  out.base.erase(out.base.find_last_not_of('/') + 1);
  Account account{read.text("serviceId"), read.text("keySecret")};
  if (account.service_id.empty() != account.key.empty()) wrong("/serviceId", "serviceId and keySecret come together");
  if (!account.service_id.empty() && !is_uuid(account.service_id)) wrong("/serviceId", "serviceId must be a UUID");
  if (!account.service_id.empty()) out.account = std::move(account);
  return out;
}

inline void check_destination(std::string_view destination, plugin::Report& report) {
  read_destination(destination, telling(report));
}

// Throws, for a destination that was never checked.
inline Destination destination_from(std::string_view destination) { return read_destination(destination, throw_wrong); }

}  // namespace waybill::plugins::notify

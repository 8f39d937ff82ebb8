// The operator's settings of the HappyFox plugin. Without credentials it has nothing to do, and says so.
#pragma once

#include <nlohmann/json.hpp>

#include "common/form_action.h"
#include "common/url_port.h"
#include "waybill/plugin.hpp"

namespace waybill::plugins::happyfox {

inline constexpr std::string_view kSettingsSchema =
    R"({"type":"object","additionalProperties":false,)"
    R"("examples":[{"account":"example.happyfox.com","api_key_secret":"happyfox_key","auth_code_secret":"happyfox_code"}],)"
    R"("properties":{)"
    R"("account":{"type":"string","pattern":"^[A-Za-z0-9.-]+$","description":"host name of the account"},)"
    R"("base_url":{"type":"string","pattern":"^https?://","description":"instead of https://ACCOUNT, for tests"},)"
    R"("api_key_secret":{"type":"string","minLength":1,"description":"NAME of the host's secret that is the API key"},)"
    R"("auth_code_secret":{"type":"string","minLength":1,"description":"NAME of the host's secret that is the auth code"},)"
    R"("custom_field":{"type":"object","required":["id","name"],"additionalProperties":false,)"
    R"("description":"text field of tickets that takes our id; without: it stands in the subject",)"
    R"("properties":{"id":{"type":"integer","minimum":1},"name":{"type":"string","minLength":1}}},)"
    R"("name_field":{"type":"string","minLength":1,"default":"name","description":"field of the form with the contact's name"},)"
    R"("email_field":{"type":"string","minLength":1,"default":"email","description":"field of the form with the contact's address"},)"
    R"("link_ttl_seconds":{"type":"integer","minimum":1,"maximum":604800,"default":604800,)"
    R"("description":"how long links to attachments work, in seconds"},)"
    R"("timeout_ms":{"type":"integer","minimum":1,"maximum":600000,)"
    R"("description":"how long one request may take, in milliseconds"}}})";

struct Settings {
  std::string base_url;  // without a slash at its end
  std::string api_key;   // names of secrets
  std::string auth_code;
  std::int64_t custom_field = 0;  // 0: none
  std::string custom_field_name;
  std::string name_field;
  std::string email_field;
  std::int64_t link_ttl = 604'800;       // seconds
  std::chrono::milliseconds timeout{0};  // 0: until the attempt's deadline

  bool configured() const { return !base_url.empty() && !api_key.empty() && !auth_code.empty(); }
};

inline Settings read_settings(std::string_view settings, const Wrong& wrong) {
  Settings out;
  const SettingsReader read(settings, wrong);
  if (!read.usable()) return out;
  const auto account = read.text("account");
  if (account.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-") != std::string::npos)
    wrong("/account", "account must be a host name such as example.happyfox.com");
  out.base_url = read.text("base_url", account.empty() ? "" : "https://" + account);
  if (!out.base_url.empty() && out.base_url.rfind("http://", 0) != 0 && out.base_url.rfind("https://", 0) != 0)
    wrong("/base_url", "base_url must begin with http:// or https://");
  else if (!has_good_port(out.base_url))
    wrong("/base_url", "base_url: the port must be from 1 to 65535");
  out.base_url.erase(out.base_url.find_last_not_of('/') + 1);
  out.api_key = read.text("api_key_secret");
  out.auth_code = read.text("auth_code_secret");
  if (const auto* custom = read.any("custom_field")) {
    const auto* id = custom->is_object() ? field(*custom, "id") : nullptr;
    const auto* name = custom->is_object() ? field(*custom, "name") : nullptr;
    if (id && id->is_number_integer() && *id >= 1 && name && name->is_string() && !name->get_ref<const std::string&>().empty())
      out.custom_field = id->get<std::int64_t>(), out.custom_field_name = name->get<std::string>();
    else
      wrong("/custom_field", "custom_field must have an id (a number) and a name");
  }
  out.name_field = read.text("name_field", "name");
  out.email_field = read.text("email_field", "email");
  out.link_ttl = read.number("link_ttl_seconds", 604'800, out.link_ttl);
  out.timeout = std::chrono::milliseconds(read.number("timeout_ms", 600'000, out.timeout.count()));
  return out;
}

inline void check_settings(std::string_view settings, plugin::Report& report) { read_settings(settings, telling(report)); }

// Throws what the host is to report.
inline Settings settings_from(std::string_view settings) { return read_settings(settings, throw_wrong); }

inline constexpr std::string_view kDestinationSchema =
    R"({"type":"object","required":["happyfox_category"],"additionalProperties":false,)"
    R"("examples":[{"destination":"support","happyfox_category":"3"}],"properties":{)"
    R"("destination":{"type":"string","description":"a word for people; HappyFox is told the category"},)"
    R"("happyfox_category":{"type":"string","pattern":"^[0-9]{1,18}$","description":"id of the category of the ticket"},)"
    R"("attachment_links":{"type":"boolean","description":"whether attachments are told, with links to them; without: they are"},)"
    R"("template_id":{"type":"string","description":"the registry's template of the text; without: the least that is worth saying"},)"
    R"("subject_template":{"type":"string","description":"subject; without: the template's"}}})";

inline bool is_category(std::string_view text) {
  return !text.empty() && text.size() <= 18 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

inline void check_destination(std::string_view destination, plugin::Report& report) {
  const auto action = read_form_action(destination, telling(report));
  if (action && !is_category(action->category))
    report("/happyfox_category", "happyfox_category must be the id of a category, a number");
}

}  // namespace waybill::plugins::happyfox

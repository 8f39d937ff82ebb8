// The operator's settings of the SES plugin, and what a target may say otherwise.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "common/http_sender.h"
#include "common/mail_address.h"
#include "common/settings_reader.h"
#include "ses/origin.h"

namespace waybill::plugins::ses {

inline constexpr std::string_view kSettingsSchema =
    R"({"type":"object","required":["region","access_key_secret","secret_key_secret","from"],"additionalProperties":false,)"
    R"("examples":[{"region":"eu-west-2","access_key_secret":"aws_key","secret_key_secret":"aws_secret",)"
    R"("from":"Forms <forms@example.org>","to":"team@example.org"}],"properties":{)"
    R"("region":{"type":"string","pattern":"^[a-z0-9-]{1,64}$","description":"region of the SES account, such as eu-west-2"},)"
    R"("access_key_secret":{"type":"string","minLength":1,"description":"NAME of the host's secret that is the access key id"},)"
    R"("secret_key_secret":{"type":"string","minLength":1,"description":"NAME of the host's secret that is the secret access key"},)"
    R"("session_token_secret":{"type":"string","minLength":1,)"
    R"("description":"NAME of the host's secret that is the session token of temporary credentials"},)"
    R"("from":{"type":"string","minLength":3,"examples":["Forms <forms@example.org>"],"description":"sender, with its name"},)"
    R"("to":{"type":"string","minLength":3,"description":"recipients, separated by commas, where the target names none"},)"
    R"("configuration_set":{"type":"string","minLength":1,"description":"SES configuration set"},)"
    R"("files_allowed_origins":{"type":"array","items":{"type":"string"},"default":[],)"
    R"("description":"origins that attachments are fetched from, such as http://documentupload:9000"},)"
    R"("attachment_types":{"type":"array","items":{"type":"string"},)"
    R"("description":"media types that may be attached; instead of the default list in the README"},)"
    R"("max_attachments":{"type":"integer","minimum":1,"maximum":100,"default":20},)"
    R"("max_attachment_bytes":{"type":"integer","minimum":1,"maximum":16777216,"default":10485760},)"
    R"("max_total_bytes":{"type":"integer","minimum":1,"maximum":26214400,"default":20971520,)"
    R"("description":"of all attachments of one mail, before they are encoded"},)"
    R"("concurrent_with_attachments":{"type":"integer","minimum":1,"maximum":64,"default":4,)"
    R"("description":"mails with attachments that one I/O thread makes at one time; more wait"},)"
    R"("timeout_ms":{"type":"integer","minimum":1,"maximum":600000,)"
    R"("description":"how long one request may take, in milliseconds"}}})";

inline constexpr std::string_view kDestinationSchema =
    R"({"type":"object","required":["url"],"additionalProperties":false,)"
    R"("examples":[{"url":"https://email.eu-west-2.amazonaws.com"}],"properties":{)"
    R"("url":{"type":"string","minLength":1,"description":"endpoint of the SES API v2"},)"
    R"("from":{"type":"string","minLength":3,"description":"instead of from of the settings"},)"
    R"("to":{"type":"string","minLength":3,"description":"instead of to of the settings"},)"
    R"("filesAllowedOrigins":{"type":"array","items":{"type":"string"},)"
    R"("description":"instead of files_allowed_origins of the settings"}}})";

// Documents, pictures and plain text; nothing that a browser runs.
inline constexpr std::string_view kAttachmentTypes[] = {"application/pdf",
                                                        "application/msword",
                                                        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
                                                        "application/vnd.oasis.opendocument.text",
                                                        "image/bmp",
                                                        "image/gif",
                                                        "image/heic",
                                                        "image/heif",
                                                        "image/jpeg",
                                                        "image/png",
                                                        "image/tiff",
                                                        "image/webp",
                                                        "text/csv",
                                                        "text/plain"};
inline constexpr std::size_t kMaxRecipientsOfSes = 50;

// Where one mail goes and where its files may come from.
struct Route {
  Mailbox from;
  std::vector<Mailbox> to;
  std::vector<Origin> origins;
};

struct Settings {
  Route route;
  plugin::SigV4 credentials;
  std::string session_token;  // a NAME; empty: none
  std::string configuration_set;
  std::vector<std::string> types;
  std::size_t max_attachments = 20;
  std::int64_t max_attachment_bytes = 10 << 20;
  std::int64_t max_total_bytes = 20 << 20;
  std::size_t concurrent = 4;
  std::chrono::milliseconds timeout{0};  // 0: until the attempt's deadline
};

struct Destination {
  std::string base;  // without a slash at its end
  Route route;
};

namespace detail {

inline void read_mailbox(const SettingsReader& read, const Wrong& wrong, Mailbox& into) {
  std::string problem;
  if (auto mailbox = parse_mailbox(read.text("from"), problem))
    into = std::move(*mailbox);
  else
    wrong("/from", "from: " + problem);
}

inline void read_recipients(const SettingsReader& read, const Wrong& wrong, std::vector<Mailbox>& into) {
  std::string problem;
  auto list = parse_mailboxes(read.text("to"), problem);
  if (!list)
    wrong("/to", "to: " + problem);
  else if (list->size() > kMaxRecipientsOfSes)
    wrong("/to", "to: SES takes 50 recipients at most");
  else
    into = std::move(*list);
}

// Texts of a list; `path` is for problems.
template <class Take>
void read_list(const Json& list, const std::string& name, const Wrong& wrong, const Take& take) {
  if (!list.is_array()) return wrong('/' + name, name + " must be a list of texts");
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto path = '/' + name + '/' + std::to_string(i);
    if (list[i].is_string())
      take(list[i].get_ref<const std::string&>(), path);
    else
      wrong(path, name + " must be a list of texts");
  }
}

inline void read_origins(const Json& list, const std::string& name, const Wrong& wrong, std::vector<Origin>& into) {
  into.clear();
  read_list(list, name, wrong, [&](const std::string& text, const std::string& path) {
    std::string_view rest;
    auto origin = origin_of(text, rest);
    if (origin && (rest.empty() || rest == "/"))
      into.push_back(std::move(*origin));
    else
      wrong(path, '"' + one_line(text) + "\" is no origin: write scheme, host and port, such as http://documentupload:9000");
  });
}

inline bool is_media_type(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == 0 || slash == text.npos || slash + 1 == text.size() || text.size() > 100) return false;
  const auto is_word = [](std::string_view word) {
    return word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789!#$&^_.+-") == word.npos;
  };
  return is_word(text.substr(0, slash)) && is_word(text.substr(slash + 1));
}

}  // namespace detail

inline Settings read_settings(std::string_view settings, const Wrong& wrong) {
  Settings out;
  out.types.assign(std::begin(kAttachmentTypes), std::end(kAttachmentTypes));
  const SettingsReader read(settings, wrong);
  if (!read.usable()) return out;
  out.credentials = {read.text("region"), "ses", read.text("access_key_secret"), read.text("secret_key_secret")};
  const auto& region = out.credentials.region;
  if (region.empty() || region.size() > 64 ||
      region.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") != std::string::npos)
    wrong("/region", "region must be the name of a region, such as eu-west-2");
  if (out.credentials.key_id.empty()) wrong("/access_key_secret", "access_key_secret must be the name of a secret");
  if (out.credentials.secret_key.empty()) wrong("/secret_key_secret", "secret_key_secret must be the name of a secret");
  out.session_token = read.text("session_token_secret");
  if (out.session_token.find('}') != std::string::npos) wrong("/session_token_secret", "there is no such name of a secret");
  out.configuration_set = read.text("configuration_set");
  detail::read_mailbox(read, wrong, out.route.from);
  if (read.any("to")) detail::read_recipients(read, wrong, out.route.to);
  if (const auto* list = read.any("files_allowed_origins"))
    detail::read_origins(*list, "files_allowed_origins", wrong, out.route.origins);
  if (const auto* list = read.any("attachment_types")) {
    out.types.clear();
    detail::read_list(*list, "attachment_types", wrong, [&](const std::string& text, const std::string& path) {
      if (!detail::is_media_type(text)) wrong(path, '"' + one_line(text) + "\" is no media type such as application/pdf");
      out.types.push_back(text);
    });
  }
  out.max_attachments = static_cast<std::size_t>(read.number("max_attachments", 100, 20));
  out.max_attachment_bytes = read.number("max_attachment_bytes", 16 << 20, out.max_attachment_bytes);
  out.max_total_bytes = read.number("max_total_bytes", 25 << 20, out.max_total_bytes);
  out.concurrent = static_cast<std::size_t>(read.number("concurrent_with_attachments", 64, 4));
  out.timeout = std::chrono::milliseconds(read.number("timeout_ms", 600'000, out.timeout.count()));
  return out;
}

inline void check_settings(std::string_view settings, plugin::Report& report) { read_settings(settings, telling(report)); }

// Throws what the host is to report.
inline Settings settings_from(std::string_view settings) { return read_settings(settings, throw_wrong); }

inline Destination read_destination(std::string_view destination, const Route& fallback, const Wrong& wrong) {
  Destination out;
  out.route = fallback;
  const SettingsReader read(destination, [&](const std::string& path, const std::string& message) {
    wrong(path, path.empty() ? "the destination is not a JSON object" : message);
  });
  if (!read.usable()) return out;
  out.base = read.text("url");
  if (out.base.empty()) wrong("/url", "a target of SES needs a url");
  if (out.base.find_first_of("?#") != std::string::npos) wrong("/url", "the url must have no query and no fragment");
  out.base.erase(out.base.find_last_not_of('/') + 1);
  if (read.any("from")) detail::read_mailbox(read, wrong, out.route.from);
  if (read.any("to")) detail::read_recipients(read, wrong, out.route.to);
  if (const auto* list = read.any("filesAllowedOrigins"))
    detail::read_origins(*list, "filesAllowedOrigins", wrong, out.route.origins);
  return out;
}

inline void check_destination(std::string_view destination, plugin::Report& report) {
  read_destination(destination, {}, telling(report));
}

}  // namespace waybill::plugins::ses

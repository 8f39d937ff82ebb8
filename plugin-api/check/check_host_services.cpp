// The check host's smaller services: log, signatures, templates and links. Each answers whatever it is asked.
#include <cstring>

#include "check_host.h"
#include "fake_host/text.h"

namespace waybill::conformance {

using fake_host::text;

bool CheckHost::offers(std::string_view service) const {
  if (service == WB_SMTP_SERVICE) return shape_.minor >= 1;
  if (service == WB_TEMPLATE_SERVICE || service == WB_LINK_SERVICE) return shape_.minor >= 2;
  for (const auto* since_4 : {WB_SIGN2_SERVICE, WB_SECRET_SERVICE, WB_OAUTH2_SERVICE, WB_COUNTER_SERVICE})
    if (service == since_4) return shape_.minor >= 4;
  return true;
}

void CheckHost::log(wb_call, std::int32_t, wb_str text, const wb_field* fields, std::size_t count) {
  const std::lock_guard lock(mutex_);
  logged_.push_back(text_of(text).kept);
  for (std::size_t i = 0; fields != nullptr && i < count; ++i) {
    logged_.push_back(text_of(fields[i].key).kept);
    logged_.push_back(text_of(fields[i].value).kept);
  }
}

// No real signature: OpenSSL would open files and allocate, and the checks count both.
std::int32_t CheckHost::sign(wb_str secret, const wb_str* parts, std::size_t count, fake_host::MacSink sink, void* user) {
  if (secret.len == 0) return WB_SIGN_UNKNOWN_SECRET;
  auto message = text(secret);
  for (std::size_t i = 0; i < count; ++i) message += text(parts[i]);
  std::uint8_t mac[32];
  for (auto& byte : mac) byte = static_cast<std::uint8_t>(std::hash<std::string>{}(message += '.'));
  sink(user, mac, sizeof mac);
  return WB_SIGN_OK;
}

std::int32_t CheckHost::signature(wb_sign_algorithm, wb_str secret, const wb_str* parts, std::size_t count,
                                  fake_host::MacSink sink, void* user) {
  return sign(secret, parts, count, sink, user);
}

// Marked, so that a plugin that tells it to anybody is found.
std::int32_t CheckHost::read_secret(wb_str name, fake_host::ValueSink sink, void* user) {
  if (name.len == 0) return WB_SECRET_UNKNOWN;
  const auto value = conformance::secret_value(text(name));
  sink(user, {value.data(), value.size()});
  return WB_SECRET_OK;
}

std::int32_t CheckHost::find_client(wb_str client) { return client.len == 0 ? WB_OAUTH2_UNKNOWN_CLIENT : WB_OAUTH2_OK; }
std::int32_t CheckHost::forget_token(wb_str client) { return find_client(client); }

// There is a template of every id, and it renders as its id.
std::int32_t CheckHost::render(wb_str template_id, wb_str, wb_template_part part, void* user) {
  const auto words = "template " + text(template_id);
  for (const char* name : {"subject", "text", "html"}) part(user, {name, std::strlen(name)}, {words.data(), words.size()});
  return WB_TEMPLATE_OK;
}

std::int32_t CheckHost::render_text(wb_str text, wb_str, wb_template_part part, void* user) {
  part(user, {"text", 4}, text);
  return WB_TEMPLATE_OK;
}

std::int32_t CheckHost::link(wb_str object, std::int64_t ttl_seconds, fake_host::UrlSink sink, void* user) {
  const auto hash = std::to_string(std::hash<std::string>{}(text(object)));
  const auto url = "https://links.test/" + hash + "?ttl=" + std::to_string(ttl_seconds);
  sink(user, {url.data(), url.size()});
  return WB_LINK_OK;
}

bool CheckHost::may_report(std::uint64_t id) {
  if (!on_strand("wb_failure_query::failure")) return false;
  if (call(id).end != End::open)
    breach(Violation::late_report, "a failure or a next page was reported after the end of its call");
  return true;
}

void CheckHost::take_next_page(std::uint64_t id, wb_str) { may_report(id); }

void CheckHost::take_failure(std::uint64_t id, const wb_failure* failure) {
  if (!may_report(id) || failure == nullptr) return;
  if (!WB_HAS(failure, detail) || failure->provider_ref.len == 0)
    return breach(Violation::malformed, "a failure without its size or the destination's id: nobody can say whose it is");
  const std::lock_guard lock(mutex_);
  for (const auto& words : {failure->provider_ref, failure->idempotency_key, failure->reason, failure->detail})
    logged_.push_back(text_of(words).kept);
}

}  // namespace waybill::conformance

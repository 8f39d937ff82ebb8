// A host as its plugin sees it: the C functions behind wb_host and its services.
#include "check_host_face.h"

#include <cstring>
#include <functional>

namespace waybill::conformance {
namespace {

std::string text_in(wb_str text) { return text.ptr == nullptr ? std::string() : std::string(text.ptr, text.len); }

}  // namespace

CheckHost& CheckHostFace::of(const wb_host* host) {
  return **reinterpret_cast<CheckHost* const*>(reinterpret_cast<const char*>(host) - sizeof(CheckHost*));
}

wb_host CheckHostFace::host(std::uint32_t minor) {
  return {sizeof(wb_host), minor, 0, {"waybill", 7}, {"1", 1}, &get_service, &complete, &log};
}

const void* CheckHostFace::get_service(const wb_host* host, wb_str id) {
  static constexpr wb_timer_service timer{&monotonic_ms, &unix_seconds, &after, &cancel_timer};
  static constexpr wb_sign_service signer{&sign};
  static constexpr wb_template_service templates{&render, &render_text};
  static constexpr wb_link_service links{&link};
  const auto name = text_in(id);
  if (name == WB_HTTP_SERVICE) return http();
  if (name == WB_TIMER_SERVICE) return &timer;
  if (name == WB_SIGN_SERVICE) return &signer;
  if (name == WB_SMTP_SERVICE && of(host).shape_.minor >= 1) return smtp();
  if (name == WB_TEMPLATE_SERVICE && of(host).shape_.minor >= 2) return &templates;
  if (name == WB_LINK_SERVICE && of(host).shape_.minor >= 2) return &links;
  return nullptr;
}

const void* CheckHostFace::http() {
  static constexpr wb_http_service service{&fetch, &abort_fetch};
  return &service;
}

const void* CheckHostFace::smtp() {
  static constexpr wb_smtp_service service{&submit, &abort_mail};
  return &service;
}

std::int32_t CheckHostFace::complete(const wb_host* host, wb_call call, const wb_outcome* outcome) {
  return of(host).complete(call, outcome);
}

void CheckHostFace::log(const wb_host* host, wb_call, std::int32_t, wb_str text, const wb_field* fields, std::size_t count) {
  of(host).log(text, fields, count);
}

std::uint64_t CheckHostFace::fetch(const wb_host* host, wb_call call, const wb_http_request* request, wb_http_done done,
                                   void* user) {
  return of(host).fetch(call, request, done, user);
}

void CheckHostFace::abort_fetch(const wb_host* host, std::uint64_t id) { of(host).abort(http(), id); }

std::uint64_t CheckHostFace::submit(const wb_host* host, wb_call call, const wb_smtp_message* mail, wb_smtp_done done,
                                    void* user) {
  return of(host).submit(call, mail, done, user);
}

void CheckHostFace::abort_mail(const wb_host* host, std::uint64_t id) { of(host).abort(smtp(), id); }

std::int64_t CheckHostFace::monotonic_ms(const wb_host* host) { return of(host).now_ms_; }
std::int64_t CheckHostFace::unix_seconds(const wb_host* host) { return of(host).shape_.unix_seconds + of(host).now_ms_ / 1000; }

std::uint64_t CheckHostFace::after(const wb_host* host, wb_call call, std::int64_t delay_ms, void (*fire)(void*), void* user) {
  return of(host).after(call, delay_ms, fire, user);
}

void CheckHostFace::cancel_timer(const wb_host* host, std::uint64_t timer) {
  if (of(host).on_strand("timer.cancel")) of(host).timers_.erase(timer);
}

// No real signature: only what is made of it can be seen from here.
std::int32_t CheckHostFace::sign(const wb_host*, wb_str name, const wb_str* parts, std::size_t count,
                                 void (*sink)(void*, const std::uint8_t*, std::size_t), void* user) {
  if (name.len == 0) return WB_SIGN_UNKNOWN_SECRET;
  auto message = text_in(name);
  for (std::size_t i = 0; i < count; ++i) message += text_in(parts[i]);
  std::uint8_t mac[32];
  for (auto& byte : mac) byte = static_cast<std::uint8_t>(std::hash<std::string>{}(message += '.'));
  sink(user, mac, sizeof mac);
  return WB_SIGN_OK;
}

// Every template is known here, and says its id.
std::int32_t CheckHostFace::render(const wb_host*, wb_str template_id, wb_str, wb_template_part part, void* user) {
  const auto words = "template " + text_in(template_id);
  for (const char* name : {"subject", "text", "html"}) part(user, {name, std::strlen(name)}, {words.data(), words.size()});
  return WB_TEMPLATE_OK;
}

std::int32_t CheckHostFace::render_text(const wb_host*, wb_str text, wb_str, wb_template_part part, void* user) {
  part(user, {"text", 4}, text);
  return WB_TEMPLATE_OK;
}

std::int32_t CheckHostFace::link(const wb_host*, wb_str object, std::int64_t ttl, void (*sink)(void*, wb_str), void* user) {
  const auto url =
      "https://links.test/" + std::to_string(std::hash<std::string>{}(text_in(object))) + "?ttl=" + std::to_string(ttl);
  sink(user, {url.data(), url.size()});
  return WB_LINK_OK;
}

void CheckHostFace::failure(void* user, const wb_failure* failure) {
  const auto& question = *static_cast<const Question*>(user);
  question.host->report_failure(question.call, failure);
}

void CheckHostFace::next_page(void* user, wb_str) { failure(user, nullptr); }

void CheckHostFace::take_refusal(void* user, wb_str path, wb_str message) {
  auto words = text_of(path).kept;
  if (!words.empty()) words += ": ";
  static_cast<std::vector<std::string>*>(user)->push_back(words + text_of(message).kept);
}

}  // namespace waybill::conformance

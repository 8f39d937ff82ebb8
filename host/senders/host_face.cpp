// The host as a plugin sees it: the C functions behind wb_host and its services. No exception leaves them.
#include "senders/host_face.h"

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "base/version.h"
#include "plugin_protocol/plugin_text.h"
#include "plugin_protocol/service_tables.h"
#include "senders/plugin_sender.h"
#include "services/sign.h"

namespace waybill {
namespace {

constexpr std::size_t kMaxLogFields = 32;
constexpr std::size_t kMaxLogText = 1000;
constexpr std::size_t kMaxSignedParts = 64;

Log::Level level_of(std::int32_t level) {
  switch (level) {
    case WB_LOG_DEBUG:
      return Log::Level::debug;
    case WB_LOG_WARN:
      return Log::Level::warn;
    case WB_LOG_ERROR:
      return Log::Level::error;
    default:
      return Log::Level::info;
  }
}

// None: there are more than a signature may have, or none where some are said to be.
std::optional<std::vector<std::string_view>> parts_of(const wb_str* parts, std::size_t count) {
  if ((parts == nullptr && count != 0) || count > kMaxSignedParts) return std::nullopt;
  std::vector<std::string_view> views;
  views.reserve(count);
  for (std::size_t i = 0; i < count; ++i) views.push_back(view_of(parts[i]));
  return views;
}

}  // namespace

wb_host HostFace::make() {
  return {.size = sizeof(wb_host),
          .abi_minor = WB_ABI_MINOR,
          .reserved = 0,
          .name = borrow("waybill"),
          .version = borrow(built_version()),
          .get_service = &get_service,
          .complete = &complete,
          .log = &log};
}

PluginSender& HostFace::sender_of(const wb_host* host) {
  static_assert(std::is_standard_layout_v<PluginSender::Face> && offsetof(PluginSender::Face, host) == 0);
  return *reinterpret_cast<const PluginSender::Face*>(host)->sender;
}

const void* HostFace::get_service(const wb_host*, wb_str id) noexcept {
  static constexpr ServiceTables tables{.http = {&fetch, &abort},
                                        .timer = {&monotonic_ms, &unix_seconds, &after, &cancel},
                                        .sign = {&hmac_sha256},
                                        .signatures = {&signature},
                                        .secrets = {&secret},
                                        .oauth2 = {&find_client, &forget_token},
                                        .templates = {&render, &render_text},
                                        .links = {&sign_link},
                                        .mail = {&submit, &abort_submission},
                                        .counters = {&count}};
  return tables.find(view_of(id));
}

std::int32_t HostFace::complete(const wb_host* host, wb_call call, const wb_outcome* outcome) noexcept {
  return sender_of(host).complete(call, outcome);
}

void HostFace::log(const wb_host* host, wb_call call, std::int32_t level, wb_str text, const wb_field* fields,
                   std::size_t count) noexcept {
  try {
    const auto& parts = sender_of(host).parts();
    count = fields == nullptr ? 0 : std::min(count, kMaxLogFields);
    std::vector<std::string> keys;  // a Field only borrows its key
    keys.reserve(count);
    std::vector<Field> out{{"action_type", parts.type.name}, {"text", clean_text(view_of(text), kMaxLogText)}};
    if (call.id != 0) out.emplace_back("call", call.id);
    for (std::size_t i = 0; i < count; ++i) {
      keys.push_back("plugin_" + clean_text(view_of(fields[i].key), 64));
      out.emplace_back(keys.back(), clean_text(view_of(fields[i].value), kMaxLogText));
    }
    parts.log.write(level_of(level), "plugin", traced(std::move(out), sender_of(host).trace_of_call(call.id)));
  } catch (...) {  // a log line lost for want of memory
  }
}

std::uint64_t HostFace::fetch(const wb_host* host, wb_call call, const wb_http_request* request, wb_http_done done,
                              void* user) noexcept {
  return sender_of(host).fetch(call, request, done, user);
}

void HostFace::abort(const wb_host* host, std::uint64_t fetch) noexcept { sender_of(host).abort_fetch(fetch); }

std::uint64_t HostFace::submit(const wb_host* host, wb_call call, const wb_smtp_message* message, wb_smtp_done done,
                               void* user) noexcept {
  return sender_of(host).submit(call, message, done, user);
}

void HostFace::abort_submission(const wb_host* host, std::uint64_t submission) noexcept {
  sender_of(host).abort_submission(submission);
}

std::int64_t HostFace::monotonic_ms(const wb_host* host) noexcept {
  return std::chrono::duration_cast<Millis>(sender_of(host).parts().clock.now().time_since_epoch()).count();
}

std::int64_t HostFace::unix_seconds(const wb_host* host) noexcept { return sender_of(host).parts().clock.unix_seconds(); }

std::uint64_t HostFace::after(const wb_host* host, wb_call call, std::int64_t delay_ms, void (*fire)(void*),
                              void* user) noexcept {
  return sender_of(host).start_timer(call, delay_ms, fire, user);
}

void HostFace::cancel(const wb_host* host, std::uint64_t timer) noexcept { sender_of(host).cancel_timer(timer); }

std::int32_t HostFace::hmac_sha256(const wb_host* host, wb_str name, const wb_str* parts, std::size_t count,
                                   void (*sink)(void*, const std::uint8_t*, std::size_t), void* user) noexcept {
  try {
    const auto views = parts_of(parts, count);
    if (sink == nullptr || !views) return WB_SIGN_UNKNOWN_SECRET;
    const auto answer = [&](const Mac& mac) { sink(user, mac.data(), mac.size()); };
    return sender_of(host).sign(view_of(name), *views, answer) ? WB_SIGN_OK : WB_SIGN_UNKNOWN_SECRET;
  } catch (...) {
    return WB_SIGN_UNKNOWN_SECRET;
  }
}

std::int32_t HostFace::signature(const wb_host* host, wb_sign_algorithm algorithm, wb_str name, const wb_str* parts,
                                 std::size_t count, void (*sink)(void*, const std::uint8_t*, std::size_t), void* user) noexcept {
  try {
    const auto views = parts_of(parts, count);
    const bool known = algorithm == WB_SIGN_RSA_SHA256 || algorithm == WB_SIGN_ECDSA_P256_SHA256;
    if (sink == nullptr || !views || !known) return WB_SIGN_WRONG_KEY;
    const auto secrets = sender_of(host).operators_secrets();
    if (secrets == nullptr || secrets->find(view_of(name)) == nullptr) return WB_SIGN_UNKNOWN_SECRET;
    const auto* key = secrets->private_key(view_of(name));
    if (key == nullptr) return WB_SIGN_WRONG_KEY;
    const auto kind = algorithm == WB_SIGN_RSA_SHA256 ? SignatureKind::rsa_sha256 : SignatureKind::ecdsa_p256_sha256;
    const auto made = key->sign(kind, *views);
    if (!made) return WB_SIGN_WRONG_KEY;
    sink(user, reinterpret_cast<const std::uint8_t*>(made->data()), made->size());
    return WB_SIGN_OK;
  } catch (...) {
    return WB_SIGN_WRONG_KEY;
  }
}

std::int32_t HostFace::secret(const wb_host* host, wb_str name, void (*sink)(void*, wb_str), void* user) noexcept {
  try {
    const auto& sender = sender_of(host);
    if (sink == nullptr || !sender.parts().readable_secrets.contains(view_of(name))) return WB_SECRET_NOT_ALLOWED;
    const auto secrets = sender.operators_secrets();
    if (secrets == nullptr) return WB_SECRET_NOT_ALLOWED;
    const auto* values = secrets->find(view_of(name));
    if (values == nullptr) return WB_SECRET_UNKNOWN;
    for (const auto& value : *values) sink(user, borrow(value.expose()));
    return WB_SECRET_OK;
  } catch (...) {
    return WB_SECRET_UNKNOWN;
  }
}

std::int32_t HostFace::find_client(const wb_host* host, wb_str client) noexcept {
  return sender_of(host).parts().oauth2->find(view_of(client)) == nullptr ? WB_OAUTH2_UNKNOWN_CLIENT : WB_OAUTH2_OK;
}

std::int32_t HostFace::forget_token(const wb_host* host, wb_str client) noexcept {
  try {
    if (find_client(host, client) != WB_OAUTH2_OK) return WB_OAUTH2_UNKNOWN_CLIENT;
    sender_of(host).parts().oauth2->forget(view_of(client));
    return WB_OAUTH2_OK;
  } catch (...) {
    return WB_OAUTH2_UNKNOWN_CLIENT;
  }
}

}  // namespace waybill

// Services for a plugin in a process of its own: what a sender does goes to the host as a message, what it asks is answered at
// once. No exception leaves these functions.
#include "plugin_guest/guest_host.h"

#include <time.h>

#include <algorithm>

#include "plugin_guest/guest.h"
#include "plugin_protocol/plugin_text.h"
#include "plugin_protocol/service_tables.h"

namespace waybill::plugin_process {
namespace {

constexpr std::size_t kMaxParts = 64;
constexpr std::size_t kMaxLogFields = 32;

Guest& guest_of(const wb_host* host) { return *reinterpret_cast<const GuestFace*>(host)->guest; }

std::int64_t read_clock(clockid_t clock, std::int64_t per_second) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::int64_t>(now.tv_sec) * per_second + now.tv_nsec / (1'000'000'000 / per_second);
}

wb_str short_text(const wb_str& text) {
  constexpr std::size_t kMost = 4096;
  return borrow(view_of(text).substr(0, kMost));
}

template <class Work, class Otherwise>
auto guarded(Work work, Otherwise otherwise) noexcept -> decltype(work()) {
  try {
    return work();
  } catch (...) {
    return otherwise;
  }
}

std::int32_t complete(const wb_host* host, wb_call call, const wb_outcome* outcome) noexcept {
  return guarded([&] { return guest_of(host).complete(call, outcome); }, 1);
}

void log(const wb_host* host, wb_call call, std::int32_t level, wb_str text, const wb_field* fields, std::size_t count) noexcept {
  guarded(
      [&] {
        Log log{.call = call.id, .level = level, .text = short_text(text), .fields = {}};
        if (fields != nullptr) log.fields.assign(fields, fields + std::min(count, kMaxLogFields));
        for (auto& field : log.fields) field = {short_text(field.key), short_text(field.value)};
        guest_of(host).stream().put(log);
        return 0;
      },
      0);
}

std::uint64_t fetch(const wb_host* host, wb_call call, const wb_http_request* request, wb_http_done done, void* user) noexcept {
  return guarded([&] { return guest_of(host).fetch(call, request, done, user); }, 0);
}
void abort_fetch(const wb_host* host, std::uint64_t id) noexcept {
  guarded([&] { return guest_of(host).abort_fetch(id), 0; }, 0);
}
std::uint64_t submit(const wb_host* host, wb_call call, const wb_smtp_message* message, wb_smtp_done done, void* user) noexcept {
  return guarded([&] { return guest_of(host).submit(call, message, done, user); }, 0);
}
void abort_submission(const wb_host* host, std::uint64_t id) noexcept {
  guarded([&] { return guest_of(host).abort_submission(id), 0; }, 0);
}

std::int64_t monotonic_ms(const wb_host*) noexcept { return read_clock(CLOCK_MONOTONIC, 1000); }
std::int64_t unix_seconds(const wb_host*) noexcept { return read_clock(CLOCK_REALTIME, 1); }

std::uint64_t after(const wb_host* host, wb_call call, std::int64_t delay_ms, void (*fire)(void*), void* user) noexcept {
  return guarded([&] { return guest_of(host).start_timer(call, delay_ms, fire, user); }, 0);
}
void cancel_timer(const wb_host* host, std::uint64_t id) noexcept {
  guarded([&] { return guest_of(host).cancel_timer(id), 0; }, 0);
}

// Asks, and gives each value to `sink`. A host that cannot answer counts as `otherwise`.
template <class Question, class Sink>
std::int32_t ask(const wb_host* host, const Question& question, std::int32_t otherwise, Sink sink) {
  std::vector<std::string> values;  // `sink` is the plugin's, and may ask again
  const auto status = guest_of(host).questions().ask(question, [&](const std::vector<wb_str>& answered) {
    for (const auto& value : answered) values.emplace_back(view_of(value));
  });
  if (status < 0) return otherwise;
  sink(values);
  return status;
}

// What is longer is refused here: a host takes no message of that length.
bool is_too_long(const std::vector<wb_str>& texts) {
  constexpr std::size_t kMost = std::size_t{64} << 20;
  std::size_t length = 0;
  for (const auto& text : texts) length += std::min(text.len, kMost + 1);
  return length > kMost;
}

std::vector<wb_str> parts_of(const wb_str* parts, std::size_t count) {
  return parts == nullptr ? std::vector<wb_str>() : std::vector<wb_str>(parts, parts + count);
}

std::int32_t hmac_sha256(const wb_host* host, wb_str name, const wb_str* parts, std::size_t count,
                         void (*sink)(void*, const std::uint8_t*, std::size_t), void* user) noexcept {
  return guarded(
      [&]() -> std::int32_t {
        if (sink == nullptr || (parts == nullptr && count != 0) || count > kMaxParts) return WB_SIGN_UNKNOWN_SECRET;
        const Sign question{.call = guest_of(host).current_call(), .secret = short_text(name), .parts = parts_of(parts, count)};
        if (is_too_long(question.parts)) return WB_SIGN_UNKNOWN_SECRET;
        return ask(host, question, WB_SIGN_UNKNOWN_SECRET, [&](const auto& macs) {
          for (const auto& mac : macs) sink(user, reinterpret_cast<const std::uint8_t*>(mac.data()), mac.size());
        });
      },
      WB_SIGN_UNKNOWN_SECRET);
}

std::int32_t signature(const wb_host* host, wb_sign_algorithm algorithm, wb_str name, const wb_str* parts, std::size_t count,
                       void (*sink)(void*, const std::uint8_t*, std::size_t), void* user) noexcept {
  return guarded(
      [&]() -> std::int32_t {
        if (sink == nullptr || (parts == nullptr && count != 0) || count > kMaxParts) return WB_SIGN_WRONG_KEY;
        const Signature question{.call = guest_of(host).current_call(),
                                 .algorithm = algorithm,
                                 .secret = short_text(name),
                                 .parts = parts_of(parts, count)};
        if (is_too_long(question.parts)) return WB_SIGN_WRONG_KEY;
        return ask(host, question, WB_SIGN_WRONG_KEY, [&](const auto& made) {
          for (const auto& one : made) sink(user, reinterpret_cast<const std::uint8_t*>(one.data()), one.size());
        });
      },
      WB_SIGN_WRONG_KEY);
}

std::int32_t secret(const wb_host* host, wb_str name, void (*sink)(void*, wb_str), void* user) noexcept {
  return guarded(
      [&]() -> std::int32_t {
        if (sink == nullptr) return WB_SECRET_NOT_ALLOWED;
        return ask(host, SecretValue{.call = guest_of(host).current_call(), .name = short_text(name)}, WB_SECRET_UNKNOWN,
                   [&](const auto& values) {
                     for (const auto& value : values) sink(user, borrow(value));
                   });
      },
      WB_SECRET_UNKNOWN);
}

std::int32_t find_client(const wb_host* host, wb_str client) noexcept {
  return guarded(
      [&] { return ask(host, FindClient{.client = short_text(client)}, WB_OAUTH2_UNKNOWN_CLIENT, [](const auto&) {}); },
      WB_OAUTH2_UNKNOWN_CLIENT);
}
std::int32_t forget_token(const wb_host* host, wb_str client) noexcept {
  return guarded(
      [&] { return ask(host, ForgetToken{.client = short_text(client)}, WB_OAUTH2_UNKNOWN_CLIENT, [](const auto&) {}); },
      WB_OAUTH2_UNKNOWN_CLIENT);
}

// Names and texts in turn.
void give_parts(const std::vector<std::string>& values, wb_template_part part, void* user) {
  for (std::size_t i = 0; i + 1 < values.size(); i += 2) part(user, borrow(values[i]), borrow(values[i + 1]));
}

std::int32_t render(const wb_host* host, wb_str template_id, wb_str data, wb_template_part part, void* user) noexcept {
  return guarded(
      [&]() -> std::int32_t {
        if (part == nullptr || is_too_long({template_id, data})) return WB_TEMPLATE_MALFORMED;
        return ask(host, Render{.template_id = template_id, .data = data}, WB_TEMPLATE_MALFORMED,
                   [&](const auto& values) { give_parts(values, part, user); });
      },
      WB_TEMPLATE_MALFORMED);
}
std::int32_t render_text(const wb_host* host, wb_str text, wb_str data, wb_template_part part, void* user) noexcept {
  return guarded(
      [&]() -> std::int32_t {
        if (part == nullptr || is_too_long({text, data})) return WB_TEMPLATE_MALFORMED;
        return ask(host, RenderText{.text = text, .data = data}, WB_TEMPLATE_MALFORMED,
                   [&](const auto& values) { give_parts(values, part, user); });
      },
      WB_TEMPLATE_MALFORMED);
}

std::int32_t sign_link(const wb_host* host, wb_str object, std::int64_t ttl, void (*sink)(void*, wb_str), void* user) noexcept {
  return guarded(
      [&]() -> std::int32_t {
        if (sink == nullptr || is_too_long({object})) return WB_LINK_INVALID;
        return ask(host, Link{.object = object, .ttl_seconds = ttl}, WB_LINK_UNAVAILABLE, [&](const auto& values) {
          for (const auto& url : values) sink(user, borrow(url));
        });
      },
      WB_LINK_UNAVAILABLE);
}

std::int32_t count_by(const wb_host* host, wb_str name, std::uint64_t by) noexcept {
  return guarded([&] { return guest_of(host).count(name, by); }, WB_COUNTER_BAD_NAME);
}

const void* get_service(const wb_host*, wb_str id) noexcept {
  static constexpr ServiceTables tables{.http = {&fetch, &abort_fetch},
                                        .timer = {&monotonic_ms, &unix_seconds, &after, &cancel_timer},
                                        .sign = {&hmac_sha256},
                                        .signatures = {&signature},
                                        .secrets = {&secret},
                                        .oauth2 = {&find_client, &forget_token},
                                        .templates = {&render, &render_text},
                                        .links = {&sign_link},
                                        .mail = {&submit, &abort_submission},
                                        .counters = {&count_by}};
  return tables.find(view_of(id));
}

}  // namespace

wb_host make_guest_host(wb_str version) {
  return {.size = sizeof(wb_host),
          .abi_minor = WB_ABI_MINOR,
          .reserved = 0,
          .name = borrow("waybill"),
          .version = version,
          .get_service = &get_service,
          .complete = &complete,
          .log = &log};
}

}  // namespace waybill::plugin_process

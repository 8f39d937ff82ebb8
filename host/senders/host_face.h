// The host as a plugin sees it: the C functions behind wb_host and its services.
#pragma once

#include <waybill/plugin.h>

#include <cstddef>
#include <cstdint>

namespace waybill {

class PluginSender;

class HostFace {
 public:
  // A wb_host whose functions find their sender through the struct that it is the first member of.
  static wb_host make();

 private:
  static PluginSender& sender_of(const wb_host* host);
  static const void* get_service(const wb_host* host, wb_str id) noexcept;
  static std::int32_t complete(const wb_host* host, wb_call call, const wb_outcome* outcome) noexcept;
  static void log(const wb_host* host, wb_call call, std::int32_t level, wb_str text, const wb_field* fields,
                  std::size_t count) noexcept;
  static std::uint64_t fetch(const wb_host* host, wb_call call, const wb_http_request* request, wb_http_done done,
                             void* user) noexcept;
  static void abort(const wb_host* host, std::uint64_t fetch) noexcept;
  static std::uint64_t submit(const wb_host* host, wb_call call, const wb_smtp_message* message, wb_smtp_done done,
                              void* user) noexcept;
  static void abort_submission(const wb_host* host, std::uint64_t submission) noexcept;
  static std::int64_t monotonic_ms(const wb_host* host) noexcept;
  static std::int64_t unix_seconds(const wb_host* host) noexcept;
  static std::uint64_t after(const wb_host* host, wb_call call, std::int64_t delay_ms, void (*fire)(void*), void* user) noexcept;
  static void cancel(const wb_host* host, std::uint64_t timer) noexcept;
  static std::int32_t render(const wb_host* host, wb_str template_id, wb_str data, wb_template_part part, void* user) noexcept;
  static std::int32_t render_text(const wb_host* host, wb_str text, wb_str data, wb_template_part part, void* user) noexcept;
  static std::int32_t sign_link(const wb_host* host, wb_str object, std::int64_t ttl, void (*sink)(void*, wb_str),
                                void* user) noexcept;
  static std::int32_t count(const wb_host* host, wb_str name, std::uint64_t by) noexcept;
  static std::int32_t hmac_sha256(const wb_host* host, wb_str name, const wb_str* parts, std::size_t count,
                                  void (*sink)(void*, const std::uint8_t*, std::size_t), void* user) noexcept;
  static std::int32_t signature(const wb_host* host, wb_sign_algorithm algorithm, wb_str name, const wb_str* parts,
                                std::size_t count, void (*sink)(void*, const std::uint8_t*, std::size_t), void* user) noexcept;
  static std::int32_t secret(const wb_host* host, wb_str name, void (*sink)(void*, wb_str), void* user) noexcept;
  static std::int32_t find_client(const wb_host* host, wb_str client) noexcept;
  static std::int32_t forget_token(const wb_host* host, wb_str client) noexcept;
};

}  // namespace waybill

// A host as its plugin sees it: the C functions behind wb_host, its services and its questions. `host` is of a host.
#pragma once

#include <waybill/plugin.h>

#include <cstdint>

#include "check_host.h"

namespace waybill::conformance {

struct CheckHostFace {
  static wb_host host(std::uint32_t minor);
  static CheckHost& of(const wb_host* host);
  static const void* http();
  static const void* smtp();

  static void failure(void* user, const wb_failure* failure);  // user: Question
  static void next_page(void* user, wb_str page);
  static void take_refusal(void* user, wb_str path, wb_str message);  // user: std::vector<std::string>

 private:
  static const void* get_service(const wb_host* host, wb_str id);
  static std::int32_t complete(const wb_host* host, wb_call call, const wb_outcome* outcome);
  static void log(const wb_host* host, wb_call call, std::int32_t level, wb_str text, const wb_field* fields, std::size_t count);
  static std::uint64_t fetch(const wb_host* host, wb_call call, const wb_http_request* request, wb_http_done done, void* user);
  static void abort_fetch(const wb_host* host, std::uint64_t id);
  static std::uint64_t submit(const wb_host* host, wb_call call, const wb_smtp_message* mail, wb_smtp_done done, void* user);
  static void abort_mail(const wb_host* host, std::uint64_t id);
  static std::int64_t monotonic_ms(const wb_host* host);
  static std::int64_t unix_seconds(const wb_host* host);
  static std::uint64_t after(const wb_host* host, wb_call call, std::int64_t delay_ms, void (*fire)(void*), void* user);
  static void cancel_timer(const wb_host* host, std::uint64_t timer);
  static std::int32_t sign(const wb_host* host, wb_str name, const wb_str* parts, std::size_t count,
                           void (*sink)(void*, const std::uint8_t*, std::size_t), void* user);
  static std::int32_t render(const wb_host* host, wb_str template_id, wb_str data, wb_template_part part, void* user);
  static std::int32_t render_text(const wb_host* host, wb_str text, wb_str data, wb_template_part part, void* user);
  static std::int32_t link(const wb_host* host, wb_str object, std::int64_t ttl, void (*sink)(void*, wb_str), void* user);
};

}  // namespace waybill::conformance

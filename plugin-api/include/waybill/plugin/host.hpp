// The host as a sender sees it: services by name, and the log.
#pragma once

#include <stdexcept>
#include <utility>

#include "waybill/plugin/counters.hpp"
#include "waybill/plugin/services.hpp"
#include "waybill/plugin/smtp.hpp"
#include "waybill/plugin/texts.hpp"

namespace waybill::plugin {

enum class Level : std::int32_t { debug = WB_LOG_DEBUG, info = WB_LOG_INFO, warn = WB_LOG_WARN, error = WB_LOG_ERROR };

// A pointer in value's clothes; outlives every sender. Ask for services in the sender's constructor: a host that lacks one is
// then refused with a message instead of at the first send.
class Host {
 public:
  using Fields = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  explicit Host(const wb_host* host) noexcept : host_(host) {}

  Http http() const { return {host_, service<wb_http_service>(WB_HTTP_SERVICE)}; }
  Smtp smtp() const { return {host_, service<wb_smtp_service>(WB_SMTP_SERVICE)}; }
  Templates templates() const { return {host_, service<wb_template_service>(WB_TEMPLATE_SERVICE)}; }
  Links links() const { return {host_, service<wb_link_service>(WB_LINK_SERVICE)}; }
  Timers timer() const { return {host_, service<wb_timer_service>(WB_TIMER_SERVICE)}; }
  Signer sign() const {
    return {host_, service<wb_sign_service>(WB_SIGN_SERVICE),
            static_cast<const wb_sign2_service*>(host_->get_service(host_, str(WB_SIGN2_SERVICE)))};
  }
  SecretReader secrets() const { return {host_, service<wb_secret_service>(WB_SECRET_SERVICE)}; }  // since minor 4
  OAuth2 oauth2() const { return {host_, service<wb_oauth2_service>(WB_OAUTH2_SERVICE)}; }         // since minor 4

  // Counting is no reason to refuse an older host: there it does nothing.
  Counters counters() const {
    return {host_, static_cast<const wb_counter_service*>(host_->get_service(host_, str(WB_COUNTER_SERVICE)))};
  }

  // [any] Never a secret in here.
  void log(Level level, std::string_view text, Fields fields = {}) const { log({0}, level, text, fields); }
  void log(Call call, Level level, std::string_view text, Fields fields = {}) const { log(call.raw(), level, text, fields); }

  std::string_view name() const noexcept { return view(host_->name); }
  std::string_view version() const noexcept { return view(host_->version); }
  const wb_host* raw() const noexcept { return host_; }

 private:
  template <class Service>
  const Service* service(const char* id) const {
    const auto* found = static_cast<const Service*>(host_->get_service(host_, str(id)));
    if (!found) throw std::runtime_error(std::string("this host has no service ") + id);
    return found;
  }

  void log(wb_call call, Level level, std::string_view text, Fields fields) const {
    std::vector<wb_field> raw;
    raw.reserve(fields.size());
    for (const auto& [key, value] : fields) raw.push_back({str(key), str(value)});
    host_->log(host_, call, static_cast<std::int32_t>(level), str(text), raw.data(), raw.size());
  }

  const wb_host* host_;
};

}  // namespace waybill::plugin

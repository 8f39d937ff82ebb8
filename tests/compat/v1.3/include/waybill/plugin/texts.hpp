// What the host does for a sender that writes: the registry's templates, and links to stored objects.
#pragma once

#include <chrono>
#include <exception>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "waybill/plugin/outcome.hpp"

namespace waybill::plugin {

namespace detail {

// Collects what a host says through a callback, which no exception may leave.
struct Parts {
  std::map<std::string, std::string, std::less<>> list;
  std::exception_ptr failure;

  static void take(void* user, wb_str part, wb_str text) noexcept {
    auto& self = *static_cast<Parts*>(user);
    try {
      self.list.insert_or_assign(std::string(view(part)), std::string(view(text)));
    } catch (...) {
      self.failure = std::current_exception();
    }
  }
  static void take_one(void* user, wb_str text) noexcept { take(user, {}, text); }
};

}  // namespace detail

// [any] Mustache templates. `data` is a JSON object; what is malformed throws std::invalid_argument.
class Templates {
 public:
  using Parts = std::map<std::string, std::string, std::less<>>;  // "subject", "text", "html": those that the template has

  Templates(const wb_host* host, const wb_template_service* service) noexcept : host_(host), service_(service) {}

  // None if the registry has no template of that id.
  std::optional<Parts> render(std::string_view template_id, std::string_view data) const {
    detail::Parts parts;
    const auto result = service_->render(host_, str(template_id), str(data), &detail::Parts::take, &parts);
    if (result == WB_TEMPLATE_UNKNOWN) return std::nullopt;
    return checked(result, parts);
  }
  // A template that the plugin brings itself.
  std::string render_text(std::string_view text, std::string_view data) const {
    detail::Parts parts;
    const auto result = service_->render_text(host_, str(text), str(data), &detail::Parts::take, &parts);
    return checked(result, parts)["text"];
  }

 private:
  static Parts checked(std::int32_t result, detail::Parts& parts) {
    if (parts.failure) std::rethrow_exception(parts.failure);
    if (result != WB_TEMPLATE_OK) throw std::invalid_argument("the template or its data is malformed");
    return std::move(parts.list);
  }

  const wb_host* host_;
  const wb_template_service* service_;
};

// [any] Time-limited URLs of stored objects.
class Links {
 public:
  Links(const wb_host* host, const wb_link_service* service) noexcept : host_(host), service_(service) {}

  // None if this host has no key to sign with. An object or a time that cannot be signed throws std::invalid_argument.
  std::optional<std::string> sign(std::string_view object_uri, std::chrono::seconds ttl) const {
    detail::Parts parts;
    const auto result = service_->sign(host_, str(object_uri), ttl.count(), &detail::Parts::take_one, &parts);
    if (parts.failure) std::rethrow_exception(parts.failure);
    if (result == WB_LINK_UNAVAILABLE) return std::nullopt;
    if (result != WB_LINK_OK) throw std::invalid_argument("no such object, or no such time");
    return std::move(parts.list.begin()->second);
  }

 private:
  const wb_host* host_;
  const wb_link_service* service_;
};

}  // namespace waybill::plugin

// Reading the fields that secure a connection.
#include "egress/transport_rules.h"

#include <algorithm>

#include "base/placeholder.h"

namespace waybill {
namespace {

std::filesystem::path path_from(const std::string& text, const std::filesystem::path& folder) {
  const std::filesystem::path path(text);
  return path.is_absolute() || folder.empty() ? path : (folder / path).lexically_normal();
}

std::optional<std::string> take_file(std::filesystem::path& into, const TransportValue& value,
                                     const std::filesystem::path& folder) {
  if (!value.text || value.text->empty()) return "must be the path of a PEM file";
  into = path_from(*value.text, folder);
  return std::nullopt;
}

std::optional<std::string> take_key(std::string& into, const TransportValue& value, const std::filesystem::path& folder) {
  constexpr auto kShape = "must be the path of a PEM file, or {secret:NAME}";
  if (!value.text || value.text->empty()) return kShape;
  if (!value.text->starts_with(kSecretOpens)) {
    into = path_from(*value.text, folder).string();
    return std::nullopt;
  }
  const auto name = value.text->substr(kSecretOpens.size());
  if (name.size() < 2 || name.find('}') != name.size() - 1) return kShape;
  into = *value.text;
  return std::nullopt;
}

}  // namespace

bool is_transport_field(std::string_view name) {
  return std::find(kTransportFields.begin(), kTransportFields.end(), name) != kTransportFields.end();
}

std::optional<std::string> take_transport_field(TransportRules& rules, std::string_view name, const TransportValue& value,
                                                const std::filesystem::path& folder) {
  if (name == "ca_file") return take_file(rules.ca_file, value, folder);
  if (name == "client_certificate") return take_file(rules.client_certificate, value, folder);
  if (name == "client_key") return take_key(rules.client_key, value, folder);
  if (name == "tls_min") {
    if (value.text != "1.2" && value.text != "1.3") return "must be \"1.2\" or \"1.3\"";
    rules.tls_min = value.text == "1.3" ? TlsVersion::v1_3 : TlsVersion::v1_2;
    return std::nullopt;
  }
  if (!value.flag) return "must be true or false";
  rules.insecure = *value.flag;
  return std::nullopt;
}

std::optional<std::string> key_secret(const TransportRules& rules) {
  const std::string_view key = rules.client_key;
  if (!key.starts_with(kSecretOpens)) return std::nullopt;
  return std::string(key.substr(kSecretOpens.size(), key.size() - kSecretOpens.size() - 1));
}

}  // namespace waybill

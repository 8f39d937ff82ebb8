// How the installation's connections to the outside are secured.
#include "app/outgoing.h"

#include <nlohmann/json.hpp>

#include "base/ascii.h"
#include "base/json_document.h"
#include "base/json_reader.h"

namespace waybill {
namespace {

Problem placed(Problem at, std::string_view field, std::string message) {
  at.field.append(at.field.empty() ? "" : ".").append(field);
  at.message = std::move(message);
  return at;
}

// The rules of a target: its own, else its sender's.
TransportRules rules_of(const Config& config, const Contract& contract, const TargetTransport& transport) {
  if (transport.rules) return *transport.rules;
  const auto sender = config.transports.find(contract.action_type);
  return sender == config.transports.end() ? TransportRules{} : sender->second;
}

bool is_in_clear(std::string_view url) { return is_ascii_word(url.substr(0, 5), "http:"); }

// A header that names a secret, on its way to a target without TLS.
void check_target(const Config& config, const Contract& contract, const TargetTransport& transport, Outgoing& out) {
  if (!is_in_clear(contract.url)) return;
  const auto rules = rules_of(config, contract, transport);
  const auto whose = "target " + in_quotes(contract.target) + ": ";
  if (rules.insecure)
    out.warnings.push_back(placed(transport.place, "gatewayUrl",
                                  whose + "insecure is true and the URL is plain http: secrets in "
                                          "headers go out in clear"));
  else if (contract.destination.find("{secret:") != std::string::npos)
    out.problems.push_back(placed(transport.place, "destination",
                                  whose + "a {secret:NAME} does not go out in clear: use https in "
                                          "gatewayUrl, or write \"insecure\": true"));
}

std::string text_of(const Json& settings, const char* field) {
  const auto found = settings.find(field);
  return found != settings.end() && found->is_string() ? found->get<std::string>() : "";
}

void check_sender(const Config& config, const std::string& type, const TransportRules& rules, Outgoing& out) {
  const auto found = config.senders.find(type);
  const auto read = read_json(found == config.senders.end() ? "{}" : found->second);
  if (!read || !read->is_object()) return;
  const auto& settings = *read;
  const auto tls = text_of(settings, "tls");
  const bool unverified = rules.insecure || rules.unverified_login;
  if (unverified && !text_of(settings, "user").empty() && !text_of(settings, "relay").starts_with("smtps://")) {
    const std::string permits = rules.unverified_login ? "tls is " + tls : "insecure is true";
    const bool always = tls == "never";
    out.warnings.push_back(config.problem("senders." + type + (rules.unverified_login ? ".tls" : ".insecure"),
                                          permits + ": the password " + (always ? "goes out in clear" : "may go out in clear") +
                                              ", or to a relay whose certificate does not verify; tls: required prevents it"));
  } else if (rules.insecure) {
    out.warnings.push_back(
        config.problem("senders." + type + ".insecure", "insecure is true: secrets in headers to http:// go out in clear"));
  }
}

}  // namespace

tl::expected<Secrets, Problems> resolve_keys(const Config& config, const Registry& registry) {
  std::map<std::string, std::vector<SecretReference>> named;
  const auto add = [&](const TransportRules& rules) {
    const auto name = key_secret(rules);
    if (const auto found = config.secrets.find(name.value_or("")); found != config.secrets.end()) named.insert(*found);
  };
  for (const auto& [type, rules] : config.transports) add(rules);
  for (const auto& [name, target] : registry.transports())
    if (target.rules) add(*target.rules);
  return Secrets::resolve(named);
}

Outgoing check_outgoing(const Config& config, const Registry& registry, const Secrets& secrets) {
  Outgoing out;
  const TargetTransport none;
  for (const auto& target : registry.targets()) {
    const auto found = registry.transports().find(target.target);
    check_target(config, target, found == registry.transports().end() ? none : found->second, out);
  }
  for (const auto& [type, rules] : config.transports) check_sender(config, type, rules, out);
  auto loaded = Transports::load(config.transports, config.file.string(), registry.transports(), secrets, out.warnings);
  if (!loaded) out.problems.insert(out.problems.end(), loaded.error().begin(), loaded.error().end());
  for (auto* problems : {&out.problems, &out.warnings})
    for (auto& problem : *problems)
      if (problem.line == 0 && problem.file == config.file.string()) problem = config.problem(problem.field, problem.message);
  if (loaded && out.problems.empty()) out.transports = std::move(*loaded);
  return out;
}

}  // namespace waybill

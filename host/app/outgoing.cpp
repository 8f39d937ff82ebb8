// How the installation's connections to the outside are secured.
#include "app/outgoing.h"

#include <nlohmann/json.hpp>

#include "base/ascii.h"
#include "base/json_document.h"
#include "base/json_reader.h"
#include "services/oauth2_grant.h"
#include "services/placeholders.h"

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
  else if (names_secret(contract.destination) || names_secret(contract.url))
    out.problems.push_back(placed(transport.place, names_secret(contract.url) ? "gatewayUrl" : "destination",
                                  whose + "a {secret:NAME} does not go out in clear: use https in "
                                          "gatewayUrl, or write \"insecure\": true"));
}

// OAuth2 clients that nobody configured.
void check_clients(const Config& config, const Contract& contract, const TargetTransport& transport, Outgoing& out) {
  for (const auto name : names_in(contract.destination, kOAuth2Opens))
    if (!config.oauth2.contains(std::string(name)))
      out.problems.push_back(placed(transport.place, "destination",
                                    "target " + in_quotes(contract.target) + ": there is no OAuth2 client " + in_quotes(name) +
                                        " under oauth2 in the configuration"));
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

Outgoing check_outgoing(const Config& config, const Registry& registry, const Secrets& secrets) {
  Outgoing out;
  const TargetTransport none;
  for (const auto& target : registry.targets()) {
    const auto found = registry.transports().find(target.target);
    const auto& transport = found == registry.transports().end() ? none : found->second;
    check_clients(config, target, transport, out);
    check_target(config, target, transport, out);
  }
  for (const auto& [type, rules] : config.transports) check_sender(config, type, rules, out);
  for (const auto& [name, client] : config.oauth2)
    if (const auto request = token_request(client, secrets, 0); !request)
      out.problems.push_back({config.file.string(), client.line, "oauth2." + name, request.error().what});
  auto loaded =
      Transports::load(config.transports, config.oauth2, config.file.string(), registry.transports(), secrets, out.warnings);
  if (!loaded) out.problems.insert(out.problems.end(), loaded.error().begin(), loaded.error().end());
  for (auto* problems : {&out.problems, &out.warnings})
    for (auto& problem : *problems)
      if (problem.line == 0 && problem.file == config.file.string()) problem = config.problem(problem.field, problem.message);
  if (loaded && out.problems.empty()) out.transports = std::move(*loaded);
  return out;
}

}  // namespace waybill

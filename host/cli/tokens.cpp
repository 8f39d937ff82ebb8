// The commands on tokens.
#include "cli/tokens.h"

#include <functional>
#include <nlohmann/json.hpp>

#include "api/json_answer.h"
#include "api/token_text.h"
#include "app/token_scope.h"
#include "base/duration.h"
#include "base/names.h"
#include "base/printing.h"
#include "base/utf8.h"
#include "cli/json_output.h"
#include "domain/idempotency.h"
#include "http/client_certificate.h"
#include "http/tls.h"
#include "store/pg_stores.h"

namespace waybill {
namespace {

constexpr std::size_t kMaxTokenName = 255;
constexpr Millis kShortest = std::chrono::minutes(1);
constexpr Millis kLongest = std::chrono::hours(24 * 3650);

int with_tokens(const Config& config, const std::function<int(TokenStore&)>& act) {
  Log log = quiet_log();
  const auto database = fit_database(config, log);
  if (!database) return failed(database.error().what);
  return act(*make_token_store(database->address));
}

bool is_printable(const std::string& text) { return is_clean_utf8(text) && !has_control_character(text); }

// Why nothing could ever have this as its path; "" if something could.
std::string path_fault(const std::string& path) {
  const bool good = path.starts_with('/') && path.size() > 1 && !path.ends_with('/') && path.find("//") == std::string::npos &&
                    path.find_first_of("?#% ") == std::string::npos && (path + "/").find("/./") == std::string::npos &&
                    (path + "/").find("/../") == std::string::npos && is_printable(path);
  return good
             ? ""
             : "a path is like /v1/intents: it begins with a slash, does not end with one, and has none of ? # % and no .. in it";
}

Result<NewToken> read_token(const TokenOptions& wanted) {
  NewToken token{.org = wanted.org, .name = wanted.name, .role = wanted.role, .targets = wanted.targets, .paths = wanted.paths};
  if (token.name.empty() || token.name.size() > kMaxTokenName || !is_printable(token.name))
    return fail(Error::Kind::invalid, "a token's name is 1 to 255 bytes of UTF-8 without control characters");
  for (const auto& target : token.targets)
    if (target.empty() || !is_printable(target)) return fail(Error::Kind::invalid, "--target takes the name of a target");
  for (const auto& path : token.paths)
    if (const auto fault = path_fault(path); !fault.empty()) return fail(Error::Kind::invalid, "--path: " + fault);
  if (!wanted.expires.empty()) {
    token.lasts = parse_duration(wanted.expires);
    if (!token.lasts || *token.lasts < kShortest || *token.lasts > kLongest)
      return fail(Error::Kind::invalid, "--expires takes a time from 1m to 3650d, such as 90d");
  }
  return token;
}

http::Role role_of(const std::string& name) {
  return name == "operator" ? http::Role::operator_
         : name == "owner"  ? http::Role::owner
         : name == "admin"  ? http::Role::admin
                            : http::Role::member;
}

Result<void> expect_paths(const TokenOptions& wanted, const MetricsAccess& metrics) {
  if (wanted.paths.empty()) return {};
  auto routes = documented_paths();
  std::erase_if(routes, [&](const auto& route) { return metrics.listen && route.path == "/metrics"; });
  for (auto& route : routes)
    if (metrics.is_open && route.path == "/metrics") route.least_role = http::Role::none;
  const TokenScope scope{wanted.org, role_of(wanted.role), !wanted.targets.empty()};
  for (const auto& path : wanted.paths)
    if (const auto fault = reach_fault(path, scope, routes); !fault.empty())
      return fail(Error::Kind::invalid, "--path: " + fault);
  return {};
}

Result<void> expect_targets(const TokenOptions& wanted, const Config& config) {
  if (wanted.targets.empty() || wanted.future_targets) return {};
  const std::string way_out = "; --future-target makes the token all the same";
  const auto loaded = load_installation(config, MissingPluginPolicy::tolerate);
  if (!loaded.registry)
    return fail(Error::Kind::invalid,
                "--target: the registry cannot be read (`waybill check` says why), so nobody knows its targets" + way_out);
  std::vector<std::string> known;
  for (const auto& contract : loaded.registry->targets()) known.push_back(contract.target);
  const auto refused = [&](const std::string& fault) { return fail(Error::Kind::invalid, "--target: " + fault + way_out); };
  for (const auto& target : wanted.targets)
    if (const auto fault = target_fault(target, known); !fault.empty()) return refused(fault);
  return {};
}

// The hash of the certificate that is shown instead of a secret; none if there is a secret.
Result<std::optional<Sha256>> read_certificate(const TokenOptions& wanted, const Config& config) {
  if (wanted.certificate.empty()) return std::nullopt;
  const auto hash = http::certificate_hash(wanted.certificate);
  TRY(hash);
  if (const auto taken = http::expect_client_certificate(wanted.certificate, config.tls.client_ca); !taken)
    return fail(Error::Kind::invalid, "--certificate: " + taken.error().what);
  return *hash;
}

Json token_json(const TokenRow& row) {
  return {{"id", row.id},
          {"name", row.name},
          {"org", row.org},
          {"role", row.role},
          {"targets", row.targets},
          {"paths", row.paths},
          {"createdAt", format_rfc3339(row.created)},
          {"expiresAt", time_or_null(row.expires)},
          {"lastUsedAt", time_or_null(row.used)},
          {"revokedAt", time_or_null(row.revoked)},
          {"certificate", row.certificate}};
}

void print_token(const TokenRow& row) {
  const auto at = [](const char* what, const std::optional<Timestamp>& time, const char* otherwise) {
    return time ? what + format_rfc3339(*time) : std::string(otherwise);
  };
  std::string scope = row.certificate ? ", by certificate" : "";
  for (const auto& target : row.targets) scope += ", target " + target;
  for (const auto& path : row.paths) scope += ", path " + path;
  print_text("%s  %-24s %-16s %-8s  created %s%s%s%s%s\n", row.id.c_str(), clean_text(row.name, kMaxTokenName).c_str(),
             row.org.c_str(), row.role.c_str(), format_rfc3339(row.created).c_str(), at(", expires ", row.expires, "").c_str(),
             at(", last used ", row.used, ", never used").c_str(), at(", revoked ", row.revoked, "").c_str(),
             clean_text(scope, scope.size()).c_str());
}

}  // namespace

int create_token(const GlobalOptions& options, const TokenOptions& wanted) {
  auto token = read_token(wanted);
  if (!token) return failed(token.error().what);
  const auto config = configuration(options);
  if (!config) return 1;
  if (const auto fit = expect_paths(wanted, config->metrics); !fit) return failed(fit.error().what);
  const auto certificate = read_certificate(wanted, *config);
  if (!certificate) return failed(certificate.error().what);
  if (const auto fit = expect_targets(wanted, *config); !fit) return failed(fit.error().what);
  return with_tokens(*config, [&](TokenStore& store) {
    const auto secret = make_token();
    token->id = secret.id;
    token->hash = *certificate ? **certificate : sha256(secret.text);
    token->certificate = certificate->has_value();
    const auto made = store.create(*token);
    if (!made) return failed(made.error().what);
    if (!options.json) {
      print_line(token->certificate ? "made " + secret.id + ": whoever shows this certificate is this token" : secret.text);
      return 0;
    }
    Json json = Json::object();
    if (!token->certificate) json["token"] = secret.text;
    json.update(token_json(*made));
    print_json(json);
    return 0;
  });
}

int list_tokens(const GlobalOptions& options, const TokenOptions& token) {
  const auto config = configuration(options);
  if (!config) return 1;
  return with_tokens(*config, [&](TokenStore& store) {
    const auto found = store.list(token.all_orgs ? std::nullopt : std::optional(token.org), token.also_revoked);
    if (!found) return failed(found.error().what);
    Json all = Json::array();
    for (const auto& row : *found) options.json ? all.push_back(token_json(row)) : print_token(row);
    if (options.json) print_json(all);
    return 0;
  });
}

int revoke_token(const GlobalOptions& options, const TokenOptions& token) {
  if (token.name.empty() == token.id.empty()) return failed("say which token: its name, or --id");
  const auto config = configuration(options);
  if (!config) return 1;
  return with_tokens(*config, [&](TokenStore& store) {
    const auto revoked = token.id.empty() ? store.revoke(token.org, token.name) : store.revoke_by_id(token.id);
    if (!revoked) return failed(revoked.error().what);
    if (!*revoked)
      return failed(token.id.empty() ? "organisation \"" + token.org + "\" has no live token \"" + token.name + "\""
                                     : "there is no live token with the id \"" + token.id + "\"");
    if (options.json)
      print_json({{token.id.empty() ? "name" : "id", token.id.empty() ? token.name : token.id}, {"revoked", true}});
    else
      print_line("revoked; running hosts refuse it within a second");
    return 0;
  });
}

}  // namespace waybill

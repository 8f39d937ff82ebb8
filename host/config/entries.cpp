// Readers of what is more than one word: the address, and the entries of senders, secrets and retry.
#include <arpa/inet.h>

#include <algorithm>
#include <functional>

#include "base/ascii.h"
#include "base/nearest.h"
#include "base/time_zone.h"
#include "config/keys.h"
#include "domain/cron.h"

namespace waybill::config {
namespace {

constexpr std::string_view kLower = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kUpper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kDigits = "0123456789";

bool consists_of(std::string_view text, std::initializer_list<std::string_view> sets) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return std::any_of(sets.begin(), sets.end(), [c](std::string_view set) { return set.find(c) != std::string_view::npos; });
  });
}

bool is_ipv6(const std::string& text) {
  in6_addr address{};
  return inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

bool is_action_type(std::string_view name) {
  return !name.empty() && name.size() <= 64 && kLower.find(name[0]) != std::string_view::npos &&
         consists_of(name, {kLower, kDigits, "_"});
}

bool is_variable(std::string_view name) {
  return !name.empty() && kDigits.find(name[0]) == std::string_view::npos && consists_of(name, {kLower, kUpper, kDigits, "_"});
}

bool is_secret_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && consists_of(name, {kLower, kUpper, kDigits, "_.-"});
}

constexpr std::string_view kActionTypeRule =
    "is no name of an action type: a lower-case letter, then lower-case letters, digits or _";

template <std::size_t N>
bool only_known_fields(const Value& value, const Node& node, const std::string_view (&known)[N]) {
  bool good = true;
  for (const auto& child : node.children) {
    if (std::find(std::begin(known), std::end(known), child.key) != std::end(known)) continue;
    std::string list;
    for (auto name : known) list.append(list.empty() ? "" : ", ").append(name);
    const std::vector<std::string> names(std::begin(known), std::end(known));
    value.child(child).fail("unknown key (known here: " + list + ")" + did_you_mean(child.key, names));
    good = false;
  }
  return good;
}

void read_jitter(const Value& value, RetryTiming& timing) {
  constexpr auto kAllowed = "must be two numbers from 0 to 10, the lower first, such as [0.5, 1.5]";
  if (value.node().kind != Node::Kind::list || value.node().children.size() != 2) return value.fail(kAllowed);
  double low = -1, high = -1;
  value.element(0).number(low, 0, 10);
  value.element(1).number(high, 0, 10);
  if (low < 0 || high < 0) return;
  if (low > high) return value.fail(kAllowed);
  timing.jitter_low = low;
  timing.jitter_high = high;
}

// The texts of a list; in one line of text, as a variable is, those between blanks or commas. False if something is wrong.
bool read_words(const Value& value, std::string_view allowed, std::string_view allowed_element,
                const std::function<bool(const Value& at, std::string_view text)>& read) {
  const auto& node = value.node();
  bool good = true;
  if (node.kind == Node::Kind::list) {
    for (std::size_t i = 0; i < node.children.size(); ++i) {
      const auto element = value.element(i);
      const auto text = element.text(allowed_element);
      good = text && read(element, *text) && good;
    }
  } else if (node.kind == Node::Kind::scalar) {
    constexpr std::string_view kBetween = ", \t";
    for (auto rest = std::string_view(node.text); !rest.empty();) {
      const auto word = rest.substr(0, rest.find_first_of(kBetween));
      if (!word.empty()) good = read(value, word) && good;
      rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    }
  } else {
    value.fail(std::string("must be ").append(allowed));
    return false;
  }
  return good;
}

// As systemd takes them, which makes files of them.
bool is_credential_name(std::string_view name) {
  constexpr std::size_t kMax = 255;
  return !name.empty() && name.size() <= kMax && name != "." && name != ".." &&
         std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < 127 && c != '/' && c != ':'; });
}

std::optional<SecretReference> read_reference(const Value& value) {
  constexpr auto kShape = "{env: NAME}, {file: PATH} or {credential: NAME}";
  const auto& node = value.node();
  const Node* source = nullptr;
  const Node* last = nullptr;
  std::size_t sources = 0;
  if (node.kind == Node::Kind::map) {
    for (const auto& field : node.children)
      if (field.key == "last")
        last = &field;
      else
        source = &field, ++sources;
  }
  if (sources != 1) {
    value.fail(std::string("must be a reference, never the secret itself: ") + kShape);
    return std::nullopt;
  }
  if (!only_known_fields(value, value.node(), kSecretFields)) return std::nullopt;
  std::size_t bytes = 0;
  if (last != nullptr) {
    value.child(*last).count(bytes, 1, 65'536);
    if (bytes == 0) return std::nullopt;
  }
  const auto at = value.child(*source);
  if (source->key == "env") {
    const auto name = at.text("the name of an environment variable");
    if (name && is_variable(*name)) return SecretReference{SecretReference::Kind::environment, *name, bytes, node.line};
    if (name) at.fail("must be the name of an environment variable: letters, digits and _, not a digit first");
    return std::nullopt;
  }
  if (source->key == "credential") {
    const auto name = at.text("the name of a credential");
    if (name && is_credential_name(*name)) return SecretReference{SecretReference::Kind::credential, *name, bytes, node.line};
    if (name) at.fail("must be the name of a credential, as LoadCredential= gives it: no path, no blank, no colon");
    return std::nullopt;
  }
  std::filesystem::path path;
  if (!at.text("a path")) return std::nullopt;
  at.path(path);
  return SecretReference{SecretReference::Kind::file, path.string(), bytes, node.line};
}

}  // namespace

namespace {

std::optional<ListenAddress> read_listen_address(const Value& value) {
  constexpr auto kAllowed = "an address and a port, such as 127.0.0.1:8080 or \"[::1]:8080\" (port 0: any free one)";
  const auto text = value.text(kAllowed);
  if (!text) return std::nullopt;
  const auto refuse = [&] {
    value.fail(std::string("must be ") + kAllowed);
    return std::nullopt;
  };
  const auto colon = text->rfind(':');
  if (colon == std::string::npos) return refuse();
  auto host = text->substr(0, colon);
  const auto port_text = text->substr(colon + 1);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (bracketed ? !is_ipv6(host) : host.empty() || host.size() > 253 || !consists_of(host, {kLower, kUpper, kDigits, ".-"}))
    return refuse();
  if (port_text.empty() || port_text.size() > 5 || !consists_of(port_text, {kDigits})) return refuse();
  const auto port = std::stoul(port_text);
  if (port <= 65535) return ListenAddress{.host = host, .port = static_cast<std::uint16_t>(port)};
  value.fail("the port must be from 0 to 65535");
  return std::nullopt;
}

}  // namespace

void read_listen(const Value& value, const std::string&, Config& config) {
  if (auto address = read_listen_address(value)) config.listen = std::move(*address);
}

void read_metrics_listen(const Value& value, const std::string&, Config& config) {
  if (auto address = read_listen_address(value)) config.metrics.listen = std::move(*address);
}

void read_allowed_hosts(const Value& value, const std::string&, Config& config) {
  std::vector<std::string> hosts;
  const bool good = read_words(
      value, "a list of host names, such as [waybill.test]", "a host name", [&](const Value& at, std::string_view text) {
        auto host = lower_ascii(text);
        const bool is_host = host.size() <= 253 && (consists_of(host, {kLower, kDigits, ".-_"}) || is_ipv6(host));
        if (!is_host) at.fail("must be a host name or an address, without scheme, port and path");
        hosts.push_back(std::move(host));
        return is_host;
      });
  if (good) config.allowed_hosts = std::move(hosts);
}

void read_trusted_proxies(const Value& value, const std::string&, Config& config) {
  std::vector<AddressRange> proxies;
  const bool good =
      read_words(value, "a list of addresses, such as [127.0.0.1, \"10.0.3.0/24\"]", "an address, or a range of addresses",
                 [&](const Value& at, std::string_view text) {
                   const auto range = parse_range(text);
                   if (range && range->prefix > 0)
                     proxies.push_back(*range);
                   else if (range)
                     at.fail("is every address: anybody could write who they are");
                   else
                     at.fail("must be an address or a network with its prefix (no bit set behind it), such as 10.0.3.0/24");
                   return range.has_value();
                 });
  if (good) config.trusted_proxies = std::move(proxies);
}

namespace {

void read_ranges(const Value& value, std::vector<EgressException>& into) {
  constexpr auto kAllowed = "a list of ranges, such as [\"10.1.0.0/16:443\", \"[fd00::1]/128:80\", \"127.0.0.1\"]";
  std::vector<EgressException> ranges;
  const bool good =
      read_words(value, kAllowed, "an address, or a range of addresses", [&](const Value& at, std::string_view text) {
        const auto entry = parse_egress_exception(text);
        if (entry)
          ranges.push_back(*entry);
        else
          at.fail("\"" + std::string(text.substr(0, 80)) +
                  "\" is no range of addresses: write an address or a network with its prefix (no bit set behind it), and a port "
                  "if only "
                  "one is meant, such as 10.1.0.0/16:443 or [fd00::]/8");
        return entry.has_value();
      });
  if (good) into = std::move(ranges);
}

// How connections are secured; what is left has other readers.
Node take_transport(const Value& value, TransportRules& rules) {
  Node rest = value.node();
  std::erase_if(rest.children, [](const Node& field) { return is_transport_field(field.key); });
  for (const auto& field : value.node().children) {
    if (!is_transport_field(field.key)) continue;
    TransportValue given;
    if (field.kind == Node::Kind::scalar) given.text = field.text;
    if (field.plain && (field.text == "true" || field.text == "false")) given.flag = field.text == "true";
    if (auto fault = take_transport_field(rules, field.key, given, value.folder())) value.child(field).fail(std::move(*fault));
  }
  return rest;
}

// The names of the secrets whose values a sender's plugin may have; what is left is for the plugin.
void take_readable_secrets(const Value& value, Node& rest, std::set<std::string, std::less<>>& names) {
  const auto* list = rest.find("secrets");
  if (list == nullptr) return;
  read_words(value.child(*list), "a list of names of secrets, such as [redis]", "the name of a secret",
             [&](const Value&, std::string_view name) { return names.emplace(name).second || true; });
  std::erase_if(rest.children, [](const Node& field) { return field.key == "secrets"; });
}

constexpr std::string_view kIsolationFields[] = {"mode", "processes", "memory_mib", "threads", "descriptors", "network", "read"};
constexpr std::size_t kMiB = std::size_t{1} << 20;

void read_isolation_map(const Value& value, Isolation& isolation) {
  if (!value.expect_map("process, in_process, or { mode: process, network: true }")) return;
  if (!only_known_fields(value, value.node(), kIsolationFields)) return;
  const auto with = [&](const char* field, auto use) {
    if (const auto* node = value.node().find(field)) use(value.child(*node));
  };
  std::string mode = "process";
  with("mode", [&](const Value& one) { one.word(mode, {"process", "in_process"}); });
  isolation.mode = mode == "process" ? IsolationMode::process : IsolationMode::in_process;
  with("processes", [&](const Value& one) { one.count(isolation.processes, 1, 64); });
  with("memory_mib", [&](const Value& one) {
    std::size_t megabytes = isolation.memory_bytes / kMiB;
    one.count(megabytes, 16, 1 << 20);
    isolation.memory_bytes = megabytes * kMiB;
  });
  with("threads", [&](const Value& one) { one.count(isolation.threads, 1, 4096); });
  with("descriptors", [&](const Value& one) { one.count(isolation.descriptors, 16, 65536); });
  with("network", [&](const Value& one) { one.flag(isolation.network); });
  with("read", [&](const Value& one) {
    read_words(one, "a list of files and folders, such as [/etc/ssl/certs]", "a path",
               [&](const Value& each, std::string_view path) {
                 isolation.read.push_back(each.folder() / path);
                 return true;
               });
  });
}

// Where a sender's plugin runs; what is left is for the plugin.
void take_isolation(const Value& value, Node& rest, const std::string& action_type, Config& config) {
  config.isolations.by_type.erase(action_type);
  const auto* found = rest.find("isolation");
  if (found == nullptr) return;
  Isolation isolation;
  if (found->kind == Node::Kind::map) {
    read_isolation_map(value.child(*found), isolation);
  } else {
    std::string mode;
    value.child(*found).word(mode, {"process", "in_process"});
    isolation.mode = mode == "process" ? IsolationMode::process : IsolationMode::in_process;
  }
  config.isolations.by_type[action_type] = std::move(isolation);
  std::erase_if(rest.children, [](const Node& field) { return field.key == "isolation"; });
}

}  // namespace

void read_egress_allow(const Value& value, const std::string&, Config& config) { read_ranges(value, config.egress.allow); }
void read_egress_deny(const Value& value, const std::string&, Config& config) { read_ranges(value, config.egress.deny); }

void read_schedule(const Value& value, const std::string&, Config& config) {
  const auto text = value.text("a schedule of cron in five fields, such as 0 9 * * *, or never");
  if (!text) return;
  if (*text != "never")
    if (const auto schedule = parse_cron(*text); !schedule) return value.fail(schedule.error().what);
  config.failure_check.schedule = *text;
}

void read_time_zone(const Value& value, const std::string&, Config& config) {
  const auto text = value.text("UTC, an offset such as +02:00, or a name such as Europe/London");
  if (!text) return;
  if (const auto zone = TimeZone::find(*text); !zone) return value.fail(zone.error().what);
  config.failure_check.time_zone = *text;
}

void read_checked_targets(const Value& value, const std::string&, Config& config) {
  std::vector<std::string> targets;
  const bool good = read_words(value, "a list of targets, such as [sms.primary, mail.notify]", "the name of a target",
                               [&](const Value&, std::string_view text) {
                                 targets.emplace_back(text);
                                 return true;
                               });
  if (good) config.failure_check.targets = std::move(targets);
}

void read_sender(const Value& value, const std::string& action_type, Config& config) {
  if (!is_action_type(action_type)) return value.fail(std::string(kActionTypeRule));
  if (!value.expect_map("{ timeout_ms: 10000 }")) return;
  TransportRules rules;
  auto rest = take_transport(value, rules);
  const auto* tls = rest.find("tls");
  rules.unverified_login = tls != nullptr && (tls->text == "if_offered" || tls->text == "never");
  std::set<std::string, std::less<>> readable;
  take_readable_secrets(value, rest, readable);
  take_isolation(value, rest, action_type, config);
  for (auto& field : rest.children)
    if (field.key == "plugin_version") field.plain = false;  // 1.10 is no number here
  config.senders[action_type] = to_json(rest);
  if (readable.empty())
    config.readable_secrets.erase(action_type);
  else
    config.readable_secrets[action_type] = std::move(readable);
  if (rules == TransportRules{})
    config.transports.erase(action_type);
  else
    config.transports[action_type] = std::move(rules);
}

void read_oauth2(const Value& value, const std::string& name, Config& config) {
  if (!is_secret_name(name)) return value.fail("is no name of an OAuth2 client: letters, digits, _ . and -, 64 at most");
  if (!value.expect_map("{ token_url: https://..., client_id: ..., client_secret: NAME }")) return;
  OAuth2Client client{.line = value.node().line};
  const Node rest = take_transport(value, client.transport);
  if (!only_known_fields(value, rest, kOAuth2Fields)) return;
  const auto text = [&](const char* field, std::string& into, const char* allowed) {
    const auto* node = rest.find(field);
    if (node == nullptr) return;
    if (const auto found = value.child(*node).text(allowed)) into = *found;
  };
  text("token_url", client.token_url, "the https URL of the token endpoint");
  text("client_id", client.client_id, "the client's id");
  text("client_secret", client.client_secret, "the name of a secret");
  text("service_account", client.service_account, "the name of a secret that holds a service account's JSON");
  text("subject", client.subject, "on whose behalf the service account asks");
  text("scope", client.scope, "scopes, with a blank between them");
  text("audience", client.audience, "an audience");
  if (const auto* credentials = rest.find("credentials")) {
    std::string word;
    value.child(*credentials).word(word, {"basic", "body"});
    client.secret_in_body = word == "body";
  }
  if (client.service_account.empty()) {
    for (const auto& [field, given] :
         {std::pair{"token_url", &client.token_url}, {"client_id", &client.client_id}, {"client_secret", &client.client_secret}})
      if (given->empty()) return value.fail(std::string(field) + " is missing");
    if (!client.subject.empty()) return value.fail("subject needs service_account");
  } else if (!client.client_id.empty() || !client.client_secret.empty()) {
    return value.fail("has service_account as well as client_id or client_secret: keep one of the two");
  }
  config.oauth2[name] = std::move(client);
}

void read_secret(const Value& value, const std::string& secret, Config& config) {
  constexpr std::size_t kMax = 5;
  if (!is_secret_name(secret)) return value.fail("is no name of a secret: letters, digits, _ . and -, 64 at most");
  std::vector<SecretReference> references;
  if (value.node().kind == Node::Kind::list) {
    if (value.node().children.empty() || value.node().children.size() > kMax)
      return value.fail("must list one to five references, the newest first");
    for (std::size_t i = 0; i < value.node().children.size(); ++i) {
      auto reference = read_reference(value.element(i));
      if (!reference) return;
      references.push_back(std::move(*reference));
    }
  } else if (auto reference = read_reference(value)) {
    references.push_back(std::move(*reference));
  } else {
    return;
  }
  config.secrets[secret] = std::move(references);
}

void read_tracing_endpoint(const Value& value, const std::string&, Config& config) {
  constexpr auto kAllowed = "the URL of a collector, such as http://collector:4318/v1/traces";
  const auto text = value.text(kAllowed);
  if (!text) return;
  const bool is_url = text->starts_with("http://") || text->starts_with("https://");
  if (!is_url || text->find_first_of(" {}") != std::string::npos) return value.fail(std::string("must be ") + kAllowed);
  config.tracing.endpoint = *text;
}

void read_tracing_headers(const Value& value, const std::string&, Config& config) {
  if (!value.expect_map("{ Authorization: \"Bearer {secret:NAME}\" }")) return;
  std::map<std::string, std::string> headers;
  for (const auto& field : value.node().children)
    if (const auto text = value.child(field).text("a header's value")) headers.emplace(field.key, *text);
  config.tracing.headers = std::move(headers);
}

void read_retry(const Value& value, const std::string& action_type, Config& config) {
  if (!is_action_type(action_type)) return value.fail(std::string(kActionTypeRule) + "; or default");
  if (!value.expect_map("{ kind: fixed, delay: 5s }") || !only_known_fields(value, value.node(), kRetryFields)) return;
  const auto& node = value.node();
  RetryTiming timing;
  const auto* kind = node.find("kind");
  if (!kind) return value.fail("kind is missing: one of fixed, exponential");
  std::string word;
  value.child(*kind).word(word, {"fixed", "exponential"});
  if (word.empty()) return;
  timing.kind = word == "fixed" ? RetryTiming::Kind::fixed : RetryTiming::Kind::exponential;
  if (const auto* delay = node.find("delay")) value.child(*delay).duration(timing.delay, Millis{1}, std::chrono::hours{24});
  if (const auto* most = node.find("max_delay")) value.child(*most).duration(timing.max_delay, Millis{1}, std::chrono::hours{24});
  if (const auto* jitter = node.find("jitter")) read_jitter(value.child(*jitter), timing);
  if (const auto* factor = node.find("factor")) {
    if (timing.kind == RetryTiming::Kind::fixed)
      value.child(*factor).fail("is only for kind: exponential");
    else
      value.child(*factor).number(timing.factor, 1, 100);
  }
  if (timing.delay > timing.max_delay)
    return value.fail("delay (" + format_duration(timing.delay) + ") is longer than max_delay (" +
                      format_duration(timing.max_delay) + ")");
  config.retry[action_type] = timing;
}

}  // namespace waybill::config

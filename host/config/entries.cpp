// Readers of what is more than one word: the address, and the entries of senders, secrets and retry.
#include <arpa/inet.h>

#include <algorithm>

#include "config/keys.h"

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

constexpr std::string_view kActionTypeRule =
    "is no name of an action type: a lower-case letter, then lower-case letters, digits or _";

template <std::size_t N>
bool only_known_fields(const Value& value, const std::string_view (&known)[N]) {
  bool good = true;
  for (const auto& child : value.node().children) {
    if (std::find(std::begin(known), std::end(known), child.key) != std::end(known)) continue;
    std::string list;
    for (auto name : known) list.append(list.empty() ? "" : ", ").append(name);
    value.child(child).fail("unknown key (known here: " + list + ")");
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

std::optional<SecretReference> read_reference(const Value& value) {
  constexpr auto kShape = "{env: NAME} or {file: PATH}";
  const auto& node = value.node();
  if (node.kind != Node::Kind::map || node.children.size() != 1) {
    value.fail(std::string("must be a reference, never the secret itself: ") + kShape);
    return std::nullopt;
  }
  if (!only_known_fields(value, kSecretFields)) return std::nullopt;
  const auto& field = node.children.front();
  const auto at = value.child(field);
  if (field.key == "env") {
    const auto name = at.text("the name of an environment variable");
    if (name && is_variable(*name)) return SecretReference{SecretReference::Kind::environment, *name};
    if (name) at.fail("must be the name of an environment variable: letters, digits and _, not a digit first");
    return std::nullopt;
  }
  std::filesystem::path path;
  if (!at.text("a path")) return std::nullopt;
  at.path(path);
  return SecretReference{SecretReference::Kind::file, path.string()};
}

}  // namespace

void read_listen(const Value& value, const std::string&, Config& config) {
  constexpr auto kAllowed = "an address and a port, such as 127.0.0.1:8080 or \"[::1]:8080\" (port 0: any free one)";
  const auto text = value.text(kAllowed);
  if (!text) return;
  const auto refuse = [&] { value.fail(std::string("must be ") + kAllowed); };
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
  if (port > 65535) return value.fail("the port must be from 0 to 65535");
  config.listen = {.host = host, .port = static_cast<std::uint16_t>(port)};
}

void read_sender(const Value& value, const std::string& action_type, Config& config) {
  if (!is_action_type(action_type)) return value.fail(std::string(kActionTypeRule));
  if (!value.expect_map("{ timeout_ms: 10000 }")) return;
  config.senders[action_type] = to_json(value.node());
}

void read_secret(const Value& value, const std::string& secret, Config& config) {
  constexpr std::size_t kMax = 5;
  if (secret.size() > 64 || !consists_of(secret, {kLower, kUpper, kDigits, "_.-"}))
    return value.fail("is no name of a secret: letters, digits, _ . and -, 64 at most");
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

void read_retry(const Value& value, const std::string& action_type, Config& config) {
  if (!is_action_type(action_type)) return value.fail(std::string(kActionTypeRule) + "; or default");
  if (!value.expect_map("{ kind: fixed, delay: 5s }") || !only_known_fields(value, kRetryFields)) return;
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

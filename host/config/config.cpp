// Reads the file, then the environment, then checks what only the whole can tell. All problems are collected.
#include "config/config.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <system_error>

#include "base/ascii.h"
#include "base/file_text.h"
#include "base/json_document.h"
#include "base/nearest.h"
#include "config/document.h"
#include "config/installed_paths.h"
#include "config/keys.h"
#include "config/value.h"

namespace waybill {
namespace {

using config::Key;
using config::Node;
using config::Value;

constexpr std::uintmax_t kMaxFileBytes = 1 << 20;
constexpr std::string_view kPrefix = "WAYBILL_";
constexpr std::array<std::string_view, 3> kForeignPrefixes{"WAYBILL_TEST_", "WAYBILL_BENCH_", "WAYBILL_SECRET_"};

tl::expected<std::string, std::string> read_text(const std::filesystem::path& file) {
  auto text = read_file(file, kMaxFileBytes);
  if (!text && text.error().why == UnreadFile::Why::missing) {
    std::error_code ignored;
    const auto whole = std::filesystem::absolute(file, ignored).lexically_normal();
    return tl::unexpected("there is no such file" + (whole == file ? "" : " (looked for " + whole.string() + ")"));
  }
  if (!text) return tl::unexpected("cannot be read: " + text.error().reason);
  if (text->size() > kMaxFileBytes) return tl::unexpected(std::string("cannot be read: larger than 1 MiB"));
  return std::move(*text);
}

std::vector<std::string> keys_of(std::string_view section) {
  std::vector<std::string> keys;
  for (const auto& key : config::keys()) {
    auto word = section.empty() ? key.path.substr(0, key.path.find('.')) : key.path.substr(key.path.find('.') + 1);
    if ((!section.empty() && key.section() != section) || (!keys.empty() && word == keys.back())) continue;
    keys.emplace_back(word);
  }
  return keys;
}

std::string list_of_keys(std::string_view section) {
  std::string list;
  for (const auto& key : keys_of(section)) list.append(list.empty() ? "" : ", ").append(key);
  return list;
}

// A key that stands in the wrong section is told its right one.
std::string unknown_key(std::string_view section, const std::string& key) {
  auto message = "unknown key (known here: " + list_of_keys(section) + ")" + did_you_mean(key, keys_of(section));
  if (!message.ends_with(')')) return message;
  for (const auto& one : config::keys())
    if (!one.is_named() && one.path.substr(one.path.find('.') + 1) == key)
      return message + "; did you mean " + std::string(one.path) + "?";
  return message;
}

const Key* find_key(std::string_view path) {
  for (const auto& key : config::keys())
    if (key.path == path) return &key;
  return nullptr;
}

const Key* find_named(std::string_view section) {
  for (const auto& key : config::keys())
    if (key.is_named() && key.section() == section) return &key;
  return nullptr;
}

// The path of the key that replaced the one that has this name, if there is one.
template <class NameOf>
std::optional<std::string> new_path(std::string_view old_name, NameOf name_of) {
  for (const auto& key : config::deprecated_keys())
    if (name_of(key.path) == old_name) return std::string(key.now);
  return std::nullopt;
}

bool is_section(std::string_view name) {
  return std::any_of(config::keys().begin(), config::keys().end(), [&](const Key& key) { return key.section() == name; });
}

// Reads one Config; made for one call of load_config.
class Loading {
 public:
  explicit Loading(const std::filesystem::path& file) : name_(file.string()), folder_(file.parent_path()) {
    config_.file = file;
    config_.registry = (folder_ / config_.registry).lexically_normal();
    config_.plugins = (folder_ / config_.plugins).lexically_normal();
  }

  void find_defaults();
  bool read_file();  // false when the file as a whole cannot be used
  void read_environment(const std::vector<std::string>& environment);
  void check_tls();
  void check_names_of_secrets();
  void check_whole();
  tl::expected<Config, Problems> result() {
    if (!problems_.empty()) return tl::unexpected(std::move(problems_));
    return std::move(config_);
  }

 private:
  void read_section(const Node& section);
  void read_variable(const std::string& name, const std::string& text);
  std::string named_entry(const Key& key, const std::string& variable) const;
  void read(const Key& key, const Value& value, const std::string& path, Problem place);
  void remember(const Node& node, const std::string& path, const Problem& place);
  void warn_of_old_name(Problem place, const std::string& new_name);
  void report(const std::string& path, std::string message);
  bool has_problem(std::string_view path) const;

  std::string name_;
  std::filesystem::path folder_;
  std::filesystem::path working_directory_;
  Config config_;
  Problems problems_;
  std::map<std::string, Problem> places_;  // where each key that is set was set last
};

void Loading::read(const Key& key, const Value& value, const std::string& path, Problem place) {
  if (const auto set = places_.find(path);
      set != places_.end() && set->second.file == place.file && set->second.field != place.field) {
    place.message = "is the same key as " + set->second.field + ", which is set as well: keep one of the two";
    return problems_.push_back(std::move(place));
  }
  key.read(value, path.substr(path.find('.') + 1), config_);
  config_.places.erase_below(path);
  remember(value.node(), path, place);
  places_[path] = std::move(place);
}

// Where a setting stands, and what is in it.
void Loading::remember(const Node& node, const std::string& path, const Problem& place) {
  config_.places.set(path, place);
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    const auto& child = node.children[i];
    const auto below = [&](const std::string& parent) {
      return child.key.empty() ? field_path(parent, i) : field_below(parent, child.key);
    };
    remember(child, below(path), {place.file, place.file.empty() ? 0 : child.line, below(place.field), ""});
  }
}

void Loading::warn_of_old_name(Problem place, const std::string& new_name) {
  place.message = "is deprecated: it is called " + new_name + " now";
  config_.warnings.push_back(std::move(place));
}

// Folders that nobody named: beside the file, else those that were installed with the program.
void Loading::find_defaults() {
  const auto look = [&](const char* key, std::filesystem::path& folder, const char* installed) {
    std::error_code error;
    if (places_.contains(key) || std::filesystem::exists(folder, error)) return;
    if (auto found = config::installed_folder(installed); !found.empty()) folder = std::move(found);
  };
  look("registry", config_.registry, "share/waybill/registry");
  look("plugins", config_.plugins, "lib/waybill/plugins");
}

bool Loading::read_file() {
  if (name_.empty()) return true;
  const auto text = read_text(config_.file);
  if (!text) {
    problems_.push_back({name_, 0, "", text.error()});
    return false;
  }
  const auto document = config::parse_document(*text, name_);
  if (!document) {
    problems_ = document.error();
    return false;
  }
  if (document->kind != Node::Kind::map && document->kind != Node::Kind::empty) {
    problems_.push_back({name_, 1, "", "must be a mapping of keys to values"});
    return false;
  }
  for (const auto& node : document->children) {
    if (is_section(node.key))
      read_section(node);
    else if (const auto* key = find_key(node.key))
      read(*key, Value(node, name_, node.key, folder_, problems_), node.key, {name_, node.line, node.key, ""});
    else
      problems_.push_back({name_, node.line, node.key, unknown_key("", node.key)});
  }
  if (places_.contains("database.url") && places_.contains("database.embedded")) {
    const auto line = places_["database.url"].line;
    report("database.embedded", "database.url is set as well (line " + std::to_string(line) + "): keep exactly one of the two");
  }
  return true;
}

void Loading::read_section(const Node& section) {
  if (section.kind == Node::Kind::empty) return;
  if (section.kind != Node::Kind::map)
    return problems_.push_back(
        {name_, section.line, section.key, "must be a mapping (keys here: " + list_of_keys(section.key) + ")"});
  for (const auto& node : section.children) {
    const auto path = field_below(section.key, node.key);
    const Problem place{name_, node.line, path, ""};
    const auto now = new_path(path, [](std::string_view name) { return name; });
    if (now) warn_of_old_name(place, *now);
    const auto* key = find_named(section.key);
    if (!key) key = find_key(now.value_or(path));
    if (key)
      read(*key, Value(node, name_, path, folder_, problems_), now.value_or(path), place);
    else
      problems_.push_back({name_, node.line, path, unknown_key(section.key, node.key)});
  }
}

void Loading::read_environment(const std::vector<std::string>& environment) {
  for (const auto& entry : environment) {
    const auto name = entry.substr(0, entry.find('='));
    if (name.size() == entry.size() || !name.starts_with(kPrefix)) continue;
    if (name == "WAYBILL_CONFIG" || name == "WAYBILL_BOOT_ID") continue;  // others read them
    if (std::any_of(kForeignPrefixes.begin(), kForeignPrefixes.end(), [&](auto prefix) { return name.starts_with(prefix); }))
      continue;
    read_variable(name, entry.substr(name.size() + 1));
  }
  const auto is_new = [&](const char* path) { return places_.contains(path) && places_[path].file.empty(); };
  const bool url = is_new("database.url"), embedded = is_new("database.embedded");
  if (url && embedded) return report("database.embedded", "WAYBILL_DATABASE_URL is set as well: keep exactly one of the two");
  if (url) config_.database.embedded.clear();
  if (!embedded) return;
  config_.database.url.clear();
  if (!is_new("database.owner_url")) config_.database.owner_url.clear();
}

// The file's entry that this variable is about, whatever the case of its name; else a new one in lower case.
std::string Loading::named_entry(const Key& key, const std::string& variable) const {
  const auto section = std::string(key.section());
  for (const auto& [path, place] : places_)
    if (path.starts_with(section + ".") && config::environment_name_of(path) == variable) return path;
  const auto name = lower_ascii(variable.substr(config::environment_name_of(section + ".").size()));
  return field_below(section, name);
}

void Loading::read_variable(const std::string& name, const std::string& text) {
  const auto place = Problem{"", 0, name, ""};
  const auto now = new_path(name, config::environment_name_of);
  if (now) warn_of_old_name(place, config::environment_name_of(*now));
  for (const auto& key : config::keys()) {
    if (!key.is_named()) {
      if (now ? key.path != *now : key.environment_name() != name) continue;
      const Node node{.kind = Node::Kind::scalar, .line = 0, .key = {}, .text = text, .plain = true, .children = {}};
      return read(key, Value(node, "", name, working_directory_, problems_), std::string(key.path), place);
    }
    const auto prefix = config::environment_name_of(std::string(key.section()) + ".");
    if (!name.starts_with(prefix) || name.size() == prefix.size()) continue;
    auto document = config::parse_document(text, "");
    if (!document) {
      for (const auto& problem : document.error())
        problems_.push_back({"", 0, field_below(name, problem.field), problem.message});
      return;
    }
    return read(key, Value(*document, "", name, working_directory_, problems_), named_entry(key, name), place);
  }
  problems_.push_back(
      {"", 0, name,
       "no key has this name: a key's variable is WAYBILL_ and its path in upper case, such as WAYBILL_LIMITS_PER_TARGET "
       "(keys: " +
           list_of_keys("") + ")"});
}

bool Loading::has_problem(std::string_view path) const {
  return std::any_of(problems_.begin(), problems_.end(), [&](const Problem& problem) {
    return problem.field == path || problem.field == config::environment_name_of(path);
  });
}

void Loading::report(const std::string& path, std::string message) {
  const auto at = places_.find(path);
  auto problem = at != places_.end() ? at->second : Problem{name_, 0, path, ""};
  problem.message = std::move(message);
  problems_.push_back(std::move(problem));
}

void Loading::check_tls() {
  const auto& tls = config_.tls;
  if (tls.certificate.empty() != tls.key.empty() && !has_problem("tls.certificate") && !has_problem("tls.key"))
    report(tls.key.empty() ? "tls.certificate" : "tls.key",
           std::string("needs tls.") + (tls.key.empty() ? "key" : "certificate") + " as well");
  if (!tls.client_ca.empty() && tls.certificate.empty()) report("tls.client_ca", "needs tls.certificate and tls.key as well");
  if (tls.client_required && tls.client_ca.empty())
    report("tls.clients", "needs tls.client_ca: the authorities that sign the certificates of clients");
  if (config_.metrics.listen && config_.listen.port != 0 && *config_.metrics.listen == config_.listen)
    report("metrics.listen", "must be another address or port than listen");
  if (config_.limits.http_bytes_per_address < config_.limits.body_bytes && !has_problem("limits.body_bytes"))
    report("limits.http_bytes_per_address", "must not be less than limits.body_bytes, or no body of that size is ever taken");
  if (config_.limits.http_bytes < config_.limits.http_bytes_per_address && !has_problem("limits.http_bytes_per_address"))
    report("limits.http_bytes", "must not be less than limits.http_bytes_per_address");
}

void Loading::check_names_of_secrets() {
  if (has_problem("secrets")) return;
  std::vector<std::string> known;
  for (const auto& [name, references] : config_.secrets) known.push_back(name);
  const auto check = [&](const std::string& path, const std::string& field, const std::string& name) {
    if (!name.empty() && !config_.secrets.contains(name))
      report(path, field + "there is no secret of this name under secrets" + did_you_mean(name, known));
  };
  check("links.key", "", config_.link_key);
  check("notify.key", "", config_.notify.key);
  for (const auto& [type, names] : config_.readable_secrets)
    for (const auto& name : names) check("senders." + type, "secrets: " + in_quotes(name) + ": ", name);
  for (const auto& [name, client] : config_.oauth2) {
    check("oauth2." + name, "client_secret: ", client.client_secret);
    check("oauth2." + name, "service_account: ", client.service_account);
  }
}

void Loading::check_whole() {
  const auto& database = config_.database;
  if (database.url.empty() && database.embedded.empty() && !has_problem("database.url") && !has_problem("database.embedded") &&
      !has_problem("database"))
    report(
        "database",
        "no database is set: give database.url (WAYBILL_DATABASE_URL) the address of a PostgreSQL server, or database.embedded "
        "(WAYBILL_DATABASE_EMBEDDED) the folder of a private one");
  if (!database.owner_url.empty() && database.url.empty() && !has_problem("database.url") && !database.embedded.empty())
    report("database.owner_url", "needs database.url: a private PostgreSQL has one role for everything");
  if (config_.auth_none && !config_.listen.is_loopback() && !has_problem("listen"))
    report("auth", "none is only allowed on a loopback address (127.0.0.1, ::1 or localhost), and listen is " +
                       config_.listen.host + ": use tokens");
  check_tls();
  check_names_of_secrets();
  const auto& timeouts = config_.timeouts;
  const auto least = timeouts.attempt + timeouts.attempt_grace + Millis{1000};
  if (timeouts.lease <= least && !has_problem("timeouts.lease") && !has_problem("timeouts.attempt") &&
      !has_problem("timeouts.attempt_grace"))
    report("timeouts.lease", "must be longer than attempt + attempt_grace + 1s, which is " + config::format_duration(least) +
                                 ", not " + config::format_duration(timeouts.lease));
}

}  // namespace

bool ListenAddress::is_loopback() const { return is_loopback_name(host); }

Problem Config::problem(const std::string& path, std::string message) const {
  return places.problem(path, std::move(message), file.string());
}

const RetryTiming& Config::retry_for(const std::string& action_type) const { return timing_for(retry, action_type); }

tl::expected<Config, Problems> load_config(const std::filesystem::path& file, const std::vector<std::string>& environment) {
  Loading loading(file);
  const bool usable = loading.read_file();
  loading.read_environment(environment);
  loading.find_defaults();
  if (usable) loading.check_whole();
  return loading.result();
}

}  // namespace waybill

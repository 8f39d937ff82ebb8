// The operator's secrets by name, resolved from environment and files at start and at reload.
#include "services/secrets.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/base64.h"
#include "base/file_text.h"
#include "base/json_document.h"
#include "base/json_reader.h"
#include "services/sign.h"

namespace waybill {
namespace {

constexpr std::string_view kEncoded = "whsec_";
constexpr std::size_t kMaxLength = 64 << 10;

// None when the value claims to be encoded and is not.
std::optional<Secret> signing_key(const Secret& secret) {
  const std::string_view value = secret.expose();
  if (!value.starts_with(kEncoded)) return secret;
  auto decoded = decode_base64(value.substr(kEncoded.size()));
  if (!decoded) return std::nullopt;
  return Secret(std::move(*decoded));
}

// "": the service manager hands none to this process.
std::string credentials_folder() {
  const char* folder = std::getenv("CREDENTIALS_DIRECTORY");
  return folder == nullptr ? "" : folder;
}

tl::expected<std::string, std::string> read_variable(const std::string& name) {
  const char* found = std::getenv(name.c_str());
  if (found == nullptr) return tl::unexpected("environment variable " + name + " is not set");
  if (*found == '\0') return tl::unexpected("environment variable " + name + " is empty");
  return found;
}

tl::expected<std::string, std::string> read_secret_file(const std::string& path) {
  auto text = read_file(path, kMaxLength + 2);  // and the end of its line
  if (!text)
    return tl::unexpected("file " + path +
                          (text.error().why == UnreadFile::Why::not_a_file ? " is not a file" : " cannot be read"));
  if (text->ends_with('\n')) text->pop_back();
  if (text->ends_with('\r')) text->pop_back();
  if (text->empty()) return tl::unexpected("file " + path + " is empty");
  return std::move(*text);
}

tl::expected<std::string, std::string> read_credential(const std::string& name) {
  const auto folder = credentials_folder();
  if (folder.empty())
    return tl::unexpected("credential " + name + " is known to the service only: CREDENTIALS_DIRECTORY is not set here");
  auto text = read_secret_file(folder + "/" + name);
  if (!text) return tl::unexpected("credential " + name + ": " + text.error() + "; see LoadCredential= of the unit");
  return text;
}

tl::expected<std::string, std::string> read_value(const SecretReference& reference) {
  switch (reference.kind) {
    case SecretReference::Kind::environment:
      return read_variable(reference.name);
    case SecretReference::Kind::file:
      return read_secret_file(reference.name);
    case SecretReference::Kind::credential:
      return read_credential(reference.name);
  }
  return tl::unexpected(std::string("no reference"));
}

tl::expected<Secret, std::string> read(const SecretReference& reference) {
  auto found = read_value(reference);
  if (!found) return tl::unexpected(std::move(found.error()));
  auto& value = *found;
  if (value.size() > kMaxLength) return tl::unexpected(reference.name + " is longer than 64 KiB");
  if (value.size() < reference.last)
    return tl::unexpected(reference.name + " is shorter than the last " + std::to_string(reference.last) +
                          " bytes that are wanted");
  if (reference.last != 0) value.erase(0, value.size() - reference.last);
  Secret secret(std::move(value));
  if (!signing_key(secret)) return tl::unexpected(reference.name + " begins with whsec_ but the rest is not base64");
  return secret;
}

// None: the secret is something else.
std::optional<PrivateKey> private_key_in(const std::string& value) {
  std::string pem = value;
  if (value.starts_with('{')) {
    const auto account = read_json(value);
    const auto* key = account && account->is_object() && account->contains("private_key") ? &account->at("private_key") : nullptr;
    if (key == nullptr || !key->is_string()) return std::nullopt;
    pem = key->get<std::string>();
  }
  if (!pem.starts_with("-----BEGIN ")) return std::nullopt;
  auto key = PrivateKey::from_pem(pem);
  return key ? std::optional(std::move(*key)) : std::nullopt;
}

}  // namespace

Secret signing_key_of(const Secret& secret) { return signing_key(secret).value_or(secret); }

Secrets::Secrets(Values values) : values_(std::move(values)) {
  for (const auto& [name, secrets] : values_) {
    if (secrets.empty()) continue;
    auto& signing = signing_keys_[name];
    for (const auto& secret : secrets) signing.keys.push_back(signing_key_of(secret));
    signing.ids = ids_of(signing.keys);
    if (auto key = private_key_in(secrets.front().expose())) private_keys_.emplace(name, std::move(*key));
  }
}

tl::expected<Secrets, Problems> Secrets::resolve(const std::map<std::string, std::vector<SecretReference>>& references,
                                                 const std::string& file) {
  Values values;
  Problems problems;
  for (const auto& [name, sources] : references) {
    const auto field = field_path("secrets", name);
    for (std::size_t i = 0; i < sources.size(); ++i) {
      auto secret = read(sources[i]);
      if (secret)
        values[name].push_back(std::move(*secret));
      else
        problems.push_back({file, sources[i].line, sources.size() > 1 ? field_path(field, i) : field, secret.error()});
    }
  }
  if (!problems.empty()) return tl::unexpected(std::move(problems));
  return Secrets(std::move(values));
}

Problems set_credentials_aside(std::map<std::string, std::vector<SecretReference>>& references, const std::string& file) {
  Problems aside;
  if (!credentials_folder().empty()) return aside;
  std::erase_if(references, [&](const auto& entry) {
    const auto& [name, sources] = entry;
    const auto found = std::find_if(sources.begin(), sources.end(), [](const SecretReference& reference) {
      return reference.kind == SecretReference::Kind::credential;
    });
    if (found == sources.end()) return false;
    aside.push_back({file, found->line, field_path("secrets", name), read_credential(found->name).error()});
    return true;
  });
  return aside;
}

const std::vector<Secret>* Secrets::find(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() || found->second.empty() ? nullptr : &found->second;
}

const SigningKeys* Secrets::signing_keys(std::string_view name) const {
  const auto found = signing_keys_.find(name);
  return found == signing_keys_.end() ? nullptr : &found->second;
}

const PrivateKey* Secrets::private_key(std::string_view name) const {
  const auto found = private_keys_.find(name);
  return found == private_keys_.end() ? nullptr : &found->second;
}

std::shared_ptr<const Vault> vault_of(const Secrets& secrets, const std::string& key) {
  const auto* masters = secrets.find(key);
  return masters == nullptr ? std::make_shared<const Vault>() : std::make_shared<const Vault>(*masters);
}

}  // namespace waybill

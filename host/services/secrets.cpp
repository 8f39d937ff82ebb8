// The operator's secrets by name, resolved from environment and files at start and at reload.
#include "services/secrets.h"

#include <openssl/evp.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

namespace waybill {
namespace {

constexpr std::string_view kEncoded = "whsec_";
constexpr std::size_t kMaxLength = 64 << 10;

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  std::string out(text.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (size < 0) return std::nullopt;
  const auto padding = text.ends_with("==") ? 2u : text.ends_with('=') ? 1u : 0u;
  out.resize(static_cast<std::size_t>(size) - padding);
  return out;
}

// None when the value claims to be encoded and is not.
std::optional<Secret> signing_key(const Secret& secret) {
  const std::string_view value = secret.expose();
  if (!value.starts_with(kEncoded)) return secret;
  auto decoded = decode_base64(value.substr(kEncoded.size()));
  if (!decoded) return std::nullopt;
  return Secret(std::move(*decoded));
}

tl::expected<Secret, std::string> read(const SecretReference& reference) {
  std::string value;
  if (reference.kind == SecretReference::Kind::environment) {
    const char* found = std::getenv(reference.name.c_str());
    if (found == nullptr) return tl::unexpected("environment variable " + reference.name + " is not set");
    value = found;
    if (value.empty()) return tl::unexpected("environment variable " + reference.name + " is empty");
  } else {
    std::error_code unknown;
    if (!std::filesystem::is_regular_file(reference.name, unknown)) {  // a pipe or a folder would be waited for
      const bool is_there = std::filesystem::exists(reference.name, unknown);
      return tl::unexpected("file " + reference.name + (is_there ? " is not a file" : " cannot be read"));
    }
    std::ifstream file(reference.name, std::ios::binary);
    if (!file) return tl::unexpected("file " + reference.name + " cannot be read");
    value.assign(std::istreambuf_iterator<char>(file), {});
    if (file.bad()) return tl::unexpected("file " + reference.name + " cannot be read");
    if (value.ends_with('\n')) value.pop_back();
    if (value.ends_with('\r')) value.pop_back();
    if (value.empty()) return tl::unexpected("file " + reference.name + " is empty");
  }
  if (value.size() > kMaxLength) return tl::unexpected(reference.name + " is longer than 64 KiB");
  if (value.size() < reference.last)
    return tl::unexpected(reference.name + " is shorter than the last " + std::to_string(reference.last) +
                          " bytes that are wanted");
  if (reference.last != 0) value.erase(0, value.size() - reference.last);
  Secret secret(std::move(value));
  if (!signing_key(secret)) return tl::unexpected(reference.name + " begins with whsec_ but the rest is not base64");
  return secret;
}

}  // namespace

Secret signing_key_of(const Secret& secret) { return signing_key(secret).value_or(secret); }

Secrets::Secrets(Values values) : values_(std::move(values)) {
  for (const auto& [name, secrets] : values_)
    for (const auto& secret : secrets) signing_keys_[name].push_back(signing_key_of(secret));
}

tl::expected<Secrets, Problems> Secrets::resolve(const std::map<std::string, std::vector<SecretReference>>& references,
                                                 const std::string& file) {
  Values values;
  Problems problems;
  for (const auto& [name, sources] : references) {
    for (std::size_t i = 0; i < sources.size(); ++i) {
      auto secret = read(sources[i]);
      if (secret)
        values[name].push_back(std::move(*secret));
      else
        problems.push_back({file, sources[i].line, "secrets." + name + (sources.size() > 1 ? "[" + std::to_string(i) + "]" : ""),
                            secret.error()});
    }
  }
  if (!problems.empty()) return tl::unexpected(std::move(problems));
  return Secrets(std::move(values));
}

const std::vector<Secret>* Secrets::find(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() || found->second.empty() ? nullptr : &found->second;
}

const std::vector<Secret>* Secrets::signing_keys(std::string_view name) const {
  const auto found = signing_keys_.find(name);
  return found == signing_keys_.end() || found->second.empty() ? nullptr : &found->second;
}

std::shared_ptr<const Vault> vault_of(const Secrets& secrets, const std::string& key) {
  const auto* masters = secrets.find(key);
  return masters == nullptr ? std::make_shared<const Vault>() : std::make_shared<const Vault>(*masters);
}

}  // namespace waybill

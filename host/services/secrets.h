// The operator's secrets by name, resolved from environment and files at start and at reload. Values never leave services/.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/live.h"
#include "base/problem.h"
#include "base/secret.h"
#include "config/config.h"
#include "services/private_key.h"
#include "vault/vault.h"

namespace waybill {

// The key that a secret stands for: the rest of "whsec_..." decoded from base64, else its own bytes.
Secret signing_key_of(const Secret& secret);

struct SigningKeys {
  std::vector<Secret> keys;
  std::string ids;  // ids_of(keys), worked out once
};

class Secrets {
 public:
  using Values = std::map<std::string, std::vector<Secret>, std::less<>>;  // newest first
  Secrets() = default;
  explicit Secrets(Values values);

  // Reads every reference; a missing variable or unreadable or empty file is a problem that names it. A file's trailing
  // newline is not part of the secret. Problems name `file`, the configuration's, and the reference's line in it.
  static tl::expected<Secrets, Problems> resolve(const std::map<std::string, std::vector<SecretReference>>& references,
                                                 const std::string& file = {});

  const std::vector<Secret>* find(std::string_view name) const;  // null if unknown
  // The same as keys for signatures: a value written as "whsec_" + base64 is decoded.
  const SigningKeys* signing_keys(std::string_view name) const;
  // The newest value as a key: PEM, or the `private_key` of a service account in JSON. Null: unknown, or no key.
  const PrivateKey* private_key(std::string_view name) const;

 private:
  Values values_;
  std::map<std::string, SigningKeys, std::less<>> signing_keys_;
  std::map<std::string, PrivateKey, std::less<>> private_keys_;
};

// Takes out of `references` the secrets that only the service can read, with a problem for each: a command that people run has
// no credentials (systemd.exec(5)).
Problems set_credentials_aside(std::map<std::string, std::vector<SecretReference>>& references, const std::string& file);

// The secrets in force.
using LiveSecrets = Live<Secrets>;

// With the master keys of notify.key; without any if it names no secret.
std::shared_ptr<const Vault> vault_of(const Secrets& secrets, const std::string& key);

}  // namespace waybill

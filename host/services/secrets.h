// The operator's secrets by name, resolved from environment and files at start. Values never leave services/.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/problem.h"
#include "base/secret.h"
#include "config/config.h"

namespace waybill {

class Secrets {
 public:
  using Values = std::map<std::string, std::vector<Secret>, std::less<>>;  // newest first
  Secrets() = default;
  explicit Secrets(Values values);

  // Reads every reference; a missing variable or unreadable or empty file is a problem that names it. A file's trailing
  // newline is not part of the secret.
  static tl::expected<Secrets, Problems> resolve(const std::map<std::string, std::vector<SecretReference>>& references);

  const std::vector<Secret>* find(std::string_view name) const;  // null if unknown
  // The same as keys for signatures: a value written as "whsec_" + base64 is decoded.
  const std::vector<Secret>* signing_keys(std::string_view name) const;

 private:
  Values values_;
  Values signing_keys_;
};

}  // namespace waybill

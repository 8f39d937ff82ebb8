// Reading service account files.
#include "services/gcs_key.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_reader.h"

namespace waybill {
namespace {

tl::unexpected<Error> refuse(const std::string& why) { return fail(Error::Kind::invalid, "service account: " + why); }

Result<std::string> text_field(const nlohmann::json& account, const std::string& name) {
  const auto found = account.find(name);
  if (found == account.end()) return refuse(name + " is missing");
  if (!found->is_string()) return refuse(name + " is no text");
  auto text = found->get<std::string>();
  if (text.empty()) return refuse(name + " is empty");
  return text;
}

// Neither blanks nor controls nor anything that means something else in a URL's host or in a credential.
bool is_plain(std::string_view text, std::string_view also) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || also.find(c) != std::string_view::npos;
  });
}

}  // namespace

GcsKey::GcsKey(std::string email, std::string universe_domain, PrivateKey key)
    : email_(std::move(email)), universe_domain_(std::move(universe_domain)), key_(std::move(key)) {}

Result<GcsKey> GcsKey::from_service_account(std::string_view json) {
  const auto read = read_sorted_json(json);
  if (!read && is_json(json)) return refuse(read.error().what);
  if (!read || !read->is_object()) return refuse("not a JSON object");
  const auto& account = *read;
  auto email = text_field(account, "client_email");
  TRY(email);
  if (!is_plain(*email, "@.-_+") || std::count(email->begin(), email->end(), '@') != 1)
    return refuse("client_email is no email address");
  auto universe =
      account.contains("universe_domain") ? text_field(account, "universe_domain") : Result<std::string>("googleapis.com");
  TRY(universe);
  if (!is_plain(*universe, ".-")) return refuse("universe_domain is no domain name");
  const auto pem = text_field(account, "private_key");
  TRY(pem);
  auto key = PrivateKey::from_pem(*pem);
  if (!key) return refuse("private_key " + key.error().what);
  if (!key->is_rsa()) return refuse("private_key is no RSA key");
  return GcsKey(std::move(*email), std::move(*universe), std::move(*key));
}

Result<std::string> GcsKey::sign(std::string_view text) const { return key_.sign(SignatureKind::rsa_sha256, {&text, 1}); }

}  // namespace waybill

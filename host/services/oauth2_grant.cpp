// What is asked of a token endpoint, and what its answer says.
#include "services/oauth2_grant.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/json_reader.h"

namespace waybill {
namespace {

using std::chrono::seconds;

constexpr std::size_t kMaxTokenBytes = 12 << 10;  // a header has room for it
constexpr std::size_t kMaxAnswerBytes = 64 << 10;
constexpr seconds kUnsaid{300};  // the lifetime of a token whose answer names none
constexpr seconds kAssertion{3600};

tl::unexpected<Error> refuse(std::string why) { return fail(Error::Kind::invalid, std::move(why)); }

void add_field(std::string& form, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  if (!form.empty()) form += '&';
  form.append(name).append("=").append(percent_encoded(value));
}

std::string member(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

Result<void> ask_as_client(const OAuth2Client& client, const Secrets& secrets, HttpRequest& request) {
  const auto* secret = secrets.find(client.client_secret);
  if (secret == nullptr) return refuse("client_secret names an unknown secret");
  const auto& value = secret->front().expose();
  add_field(request.body, "grant_type", "client_credentials");
  if (client.secret_in_body) {
    add_field(request.body, "client_id", client.client_id);
    add_field(request.body, "client_secret", value);
  } else {  // RFC 6749, 2.3.1
    request.headers.emplace_back("Authorization",
                                 "Basic " + encode_base64(percent_encoded(client.client_id) + ":" + percent_encoded(value)));
  }
  add_field(request.body, "scope", client.scope);
  add_field(request.body, "audience", client.audience);
  return {};
}

Result<void> ask_as_account(const OAuth2Client& client, const Secrets& secrets, std::int64_t now, HttpRequest& request) {
  const auto* secret = secrets.find(client.service_account);
  const auto* key = secrets.private_key(client.service_account);
  const auto account = secret == nullptr ? Result<Json>() : read_json(secret->front().expose());
  if (key == nullptr || !account || !account->is_object()) return refuse("service_account is no service account in JSON");
  const auto email = member(*account, "client_email");
  if (email.empty()) return refuse("service_account has no client_email");
  if (request.url.empty()) request.url = member(*account, "token_uri");
  if (request.url.empty()) return refuse("service_account has no token_uri, and there is no token_url");
  Json claims{{"iss", email}, {"aud", client.audience.empty() ? request.url : client.audience}, {"iat", now}};
  claims["exp"] = now + kAssertion.count();
  if (!client.scope.empty()) claims["scope"] = client.scope;
  if (!client.subject.empty()) claims["sub"] = client.subject;
  Json header{{"alg", "RS256"}, {"typ", "JWT"}};
  if (const auto id = member(*account, "private_key_id"); !id.empty()) header["kid"] = id;
  const auto text = encode_base64url(dump(header)) + "." + encode_base64url(dump(claims));
  const std::string_view part = text;
  const auto signature = key->sign(SignatureKind::rsa_sha256, {&part, 1});
  if (!signature) return refuse("service_account: " + signature.error().what);
  add_field(request.body, "grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer");
  add_field(request.body, "assertion", text + "." + encode_base64url(*signature));
  return {};
}

// The code of an error (RFC 6749, 5.2): a word, so that it can be shown.
std::string error_code(const Json& json) {
  auto code = member(json, "error");
  const bool is_word = !code.empty() && code.size() <= 64 &&
                       std::all_of(code.begin(), code.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
  return is_word ? code : "";
}

}  // namespace

Result<HttpRequest> token_request(const OAuth2Client& client, const Secrets& secrets, std::int64_t unix_now) {
  HttpRequest request{.method = "POST", .url = client.token_url};
  request.max_response_bytes = kMaxAnswerBytes;
  request.headers = {{"Content-Type", "application/x-www-form-urlencoded"}, {"Accept", "application/json"}};
  TRY(client.service_account.empty() ? ask_as_client(client, secrets, request)
                                     : ask_as_account(client, secrets, unix_now, request));
  const auto endpoint = endpoint_of(request.url);
  if (!endpoint) return refuse("token_url: " + endpoint.error().what);
  if (endpoint->scheme != "https" && !client.transport.insecure)
    return refuse("token_url: a secret does not go out in clear: use https, or write `insecure: true`");
  return request;
}

Result<OAuth2Token> token_in(const HttpResponse& answer) {
  const auto json = read_json(answer.body);
  const bool is_object = json && json->is_object();
  if (answer.status != 200) {
    const auto code = is_object ? error_code(*json) : "";
    return refuse("the token endpoint answered " + std::to_string(answer.status) + (code.empty() ? "" : " " + code));
  }
  if (!is_object || answer.truncated) return refuse("the token endpoint's answer is no JSON object");
  auto token = member(*json, "access_token");
  const bool is_printable = std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c <= '~'; });
  if (token.empty() || token.size() > kMaxTokenBytes || !is_printable)
    return refuse("the token endpoint's answer has no usable access_token");
  auto lifetime = kUnsaid;
  if (const auto found = json->find("expires_in"); found != json->end() && found->is_number_integer())
    lifetime = seconds(std::clamp<std::int64_t>(found->get<std::int64_t>(), 0, 24 * 3600));
  return OAuth2Token{Secret(std::move(token)), std::max(lifetime - std::min(lifetime / 10, seconds{60}), seconds{1})};
}

}  // namespace waybill

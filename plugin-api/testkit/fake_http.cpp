// The scripted network.
#include <algorithm>

#include "base64.h"
#include "world.h"

namespace waybill::testkit {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

std::optional<std::string> find(const Headers& headers, std::string_view name) {
  for (const auto& [key, value] : headers)
    if (same_name(key, name)) return value;
  return std::nullopt;
}

bool is_token(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

bool has_control(std::string_view value) {
  return std::any_of(value.begin(), value.end(),
                     [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f; });
}

bool is_http_url(std::string_view url) {
  for (const std::string_view scheme : {"http://", "https://"})
    if (url.size() > scheme.size() && same_name(url.substr(0, scheme.size()), scheme))
      return url[scheme.size()] != '/' && !has_control(url) && url.find(' ') == std::string_view::npos;
  return false;
}

Answer refused(std::string why) { return Answer::failure(WB_NET_REFUSED, WB_NOT_SENT, std::move(why)); }

}  // namespace

std::optional<std::string> SentRequest::header(std::string_view name) const { return find(headers, name); }
std::optional<std::string> SentRequest::filled_header(std::string_view name) const { return find(filled_headers, name); }

void FakeHost::answer(Answer answer) { world_->answers.push_back(std::move(answer)); }
void FakeHost::answer(std::string url, Answer answer) { world_->answers_by_url[std::move(url)].push_back(std::move(answer)); }

Answer World::choose_answer(SentRequest& sent) {
  if (!is_http_url(sent.url)) return refused("the URL is not one of http or https with a host");
  if (!is_token(sent.method)) return refused("the method is no token");
  const auto newest = [this](std::string_view name) { return newest_secret(name); };
  const auto token = [this](std::string_view name) {
    const auto found = tokens.find(name);
    return found == tokens.end() ? std::nullopt : std::optional(found->second);
  };
  auto url = fake_host::fill_secrets(sent.url, newest);
  if (!url) return refused("the URL names a secret that this host does not have");
  if (sent.body.find("{secret:") != std::string::npos) return refused("the body has {secret:, which no host fills in");
  auto body = fake_host::fill_body(sent.body, sent.body_secrets, newest);
  if (!body) return refused("the body's secrets are out of order, or one that this host does not have");
  for (const auto& [name, value] : sent.headers) {
    if (!is_token(name) || has_control(value)) return refused("the header " + name + " is malformed");
    auto filled = fake_host::fill_secrets(value, newest);
    if (!filled) return refused("the header " + name + " names a secret that this host does not have");
    filled = fake_host::fill_tokens(*filled, token);
    if (!filled) return refused("the header " + name + " names an OAuth2 client that this host does not have");
    sent.filled_headers.emplace_back(name, std::move(*filled));
  }
  if (!sent.basic_user.empty() || !sent.basic_password.empty()) {
    const auto user = newest(sent.basic_user), password = newest(sent.basic_password);
    if (!user || !password) return refused("Basic authentication names a secret that this host does not have");
    sent.filled_headers.emplace_back("Authorization", "Basic " + encode_base64(*user + ":" + *password));
  }
  if (!sent.sigv4_key_id.empty() || !sent.sigv4_secret_key.empty()) {
    if (!newest(sent.sigv4_key_id) || !newest(sent.sigv4_secret_key))
      return refused("the AWS signature names a secret that this host does not have");
    if (sent.sigv4_region.empty() || sent.sigv4_service.empty()) return refused("the AWS signature has no region or service");
  }
  sent.filled_url = std::move(*url);
  sent.filled_body = std::move(*body);
  auto& by_url = answers_by_url[sent.url];
  auto& queue = by_url.empty() ? answers : by_url;
  if (queue.empty()) {
    breach() << "no answer is scripted for " << sent.method << ' ' << sent.url;
    return Answer::failure(WB_NET_CONNECT, WB_NOT_SENT, "no answer is scripted");
  }
  auto answer = std::move(queue.front());
  queue.pop_front();
  return answer;
}

Answer World::answer_request(SentRequest& sent) {
  auto answer = choose_answer(sent);
  requests.push_back(sent);
  return answer;
}

}  // namespace waybill::testkit

// HTTP whose headers may name OAuth2 clients.
#include "services/authorized_http.h"

#include <algorithm>

#include "services/oauth2_grant.h"
#include "services/placeholders.h"

namespace waybill {
namespace {

constexpr std::chrono::seconds kPatience{30};               // with a token endpoint
constexpr std::uint64_t kFirstId = std::uint64_t{1} << 63;  // far from the client's own ids
constexpr std::string_view kUnknown = "a header names an unknown OAuth2 client";

std::vector<std::string_view> clients_in(const HttpRequest& request) {
  std::vector<std::string_view> clients;
  for (const auto& [name, value] : request.headers)
    for (const auto client : names_in(value, kOAuth2Opens)) clients.push_back(client);
  return clients;
}

HttpResponse not_sent(NetError error, std::string text) {
  HttpResponse response;
  response.error = error;
  response.error_text = std::move(text);
  return response;
}

// What the destination's plugin sees in place of an answer.
HttpResponse without_token(const HttpResponse& answer, std::string why) {
  HttpResponse response;
  const bool refused = answer.status >= 400 && answer.status < 500 && answer.status != 429;
  response.status = refused ? 401 : 503;
  response.retry_after = answer.retry_after;
  response.body = std::move(why);
  return response;
}

}  // namespace

AuthorizedHttp::AuthorizedHttp(EventLoop& loop, const Clock& clock, HttpClient& client,
                               std::shared_ptr<const LiveSecrets> secrets, std::shared_ptr<OAuth2Tokens> tokens,
                               OnRefusal on_refusal)
    : loop_(loop),
      clock_(clock),
      client_(client),
      secrets_(std::move(secrets)),
      tokens_(std::move(tokens)),
      on_refusal_(std::move(on_refusal)),
      last_id_(kFirstId) {}

AuthorizedHttp::~AuthorizedHttp() {
  for (auto& [id, waiting] : waiting_) loop_.cancel(waiting.timer);
}

std::uint64_t AuthorizedHttp::fetch(HttpRequest request, Done done) {
  const bool names_client = std::any_of(request.headers.begin(), request.headers.end(),
                                        [](const auto& header) { return header.second.find(kOAuth2Opens) != std::string::npos; });
  if (!names_client) return client_.fetch(std::move(request), std::move(done));
  const auto id = ++last_id_;
  auto& waiting = waiting_[id];
  waiting.request = std::move(request);
  waiting.done = std::move(done);
  waiting.timer = loop_.after({}, [this, id] { proceed(id); });  // `done` never comes before this returns
  return id;
}

void AuthorizedHttp::cancel(std::uint64_t id) {
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return client_.cancel(id);
  auto& waiting = found->second;
  if (waiting.sent != 0) return client_.cancel(waiting.sent);
  end_later(id, {}, not_sent(NetError::cancelled, "cancelled"));
}

// Sends the request, or has it wait for the first token that is missing.
void AuthorizedHttp::proceed(std::uint64_t id) {
  auto& waiting = waiting_.at(id);
  loop_.cancel(std::exchange(waiting.timer, 0));
  auto& request = waiting.request;
  std::map<std::string, std::string, std::less<>> tokens;
  for (const auto name : clients_in(request)) {
    if (request.trust == Trust::tenant || tokens_->find(name) == nullptr)
      return end(id, not_sent(NetError::refused, std::string(kUnknown)));
    auto token = tokens_->token(name, clock_.now());
    if (!token) {
      waiting.client = name;
      end_later(id, request.deadline - clock_.now(), not_sent(NetError::timeout, "no time was left to wait for a token"));
      return ask_for_token(waiting.client);
    }
    tokens.emplace(name, std::move(*token));
  }
  for (auto& [header, value] : request.headers) {
    const auto filled = fill_names(value, kOAuth2Opens, [&](std::string_view name) {
      const auto found = tokens.find(name);
      return found == tokens.end() ? nullptr : &found->second;
    });
    if (!filled) return end(id, not_sent(NetError::refused, "the header " + header + " " + filled.error()));
    value = *filled;
  }
  request.holds_token = true;
  waiting.client.clear();
  waiting.sent = client_.fetch(std::move(request), [this, id, tokens = std::move(tokens)](std::uint64_t, HttpResponse response) {
    if (response.status == 401)
      for (const auto& [client, token] : tokens) tokens_->forget(client, token);
    end(id, std::move(response));
  });
}

void AuthorizedHttp::ask_for_token(const std::string& client) {
  if (asked_.contains(client)) return;
  auto request = token_request(*tokens_->find(client), *secrets_->current(), clock_.unix_seconds());
  if (!request) return give_up(client, not_sent(NetError::refused, "oauth2 " + client + ": " + request.error().what));
  request->deadline = clock_.now() + kPatience;
  request->transport = tokens_->transport_of(client);
  asked_[client] = client_.fetch(std::move(*request),
                                 [this, client](std::uint64_t, const HttpResponse& answer) { take_token(client, answer); });
}

void AuthorizedHttp::take_token(const std::string& client, const HttpResponse& answer) {
  asked_.erase(client);
  if (answer.error != NetError::ok) return give_up(client, not_sent(answer.error, "oauth2 " + client + ": " + answer.error_text));
  auto token = token_in(answer);
  if (!token) return give_up(client, without_token(answer, "oauth2 " + client + ": " + token.error().what));
  tokens_->save(client, token->value.expose(), clock_.now() + token->lifetime);
  for (const auto id : waiting_for(client)) proceed(id);
}

void AuthorizedHttp::give_up(const std::string& client, const HttpResponse& response) {
  const auto ids = waiting_for(client);
  if (!ids.empty()) on_refusal_(client, response.error == NetError::ok ? response.body : response.error_text);
  for (const auto id : ids) end(id, response);
}

std::vector<std::uint64_t> AuthorizedHttp::waiting_for(std::string_view client) const {
  std::vector<std::uint64_t> ids;
  for (const auto& [id, waiting] : waiting_)
    if (waiting.client == client) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

void AuthorizedHttp::end_later(std::uint64_t id, Clock::Monotonic::duration delay, HttpResponse response) {
  auto& waiting = waiting_.at(id);
  loop_.cancel(waiting.timer);
  waiting.timer = loop_.after(delay, [this, id, response = std::move(response)] { end(id, response); });
}

void AuthorizedHttp::end(std::uint64_t id, HttpResponse response) {
  auto node = waiting_.extract(id);
  if (!node) return;
  auto& waiting = node.mapped();
  loop_.cancel(waiting.timer);
  // Nobody waits for the token any more.
  if (const auto asked = asked_.find(waiting.client); asked != asked_.end() && waiting_for(waiting.client).empty())
    client_.cancel(asked->second);
  waiting.done(id, std::move(response));
}

}  // namespace waybill

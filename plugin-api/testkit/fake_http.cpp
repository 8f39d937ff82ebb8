// The scripted network.
#include <algorithm>

#include "world.h"

namespace waybill::testkit {
namespace {

constexpr std::uint32_t kDefaultResponseBytes = 4096;

std::uint64_t fetch(const wb_host* host, wb_call call, const wb_http_request* request, wb_http_done done, void* user) {
  return world_of(host).fetch(call, request, done, user);
}
void abort_fetch(const wb_host* host, std::uint64_t number) {
  auto& world = world_of(host);
  if (!world.abort(http_service(), number)) return;
  for (auto& request : world.requests)
    if (request.fetch == number) request.aborted = true;
}

constexpr wb_http_service kService = {&fetch, &abort_fetch};

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

void tell(const Answer& answer, std::size_t most, wb_http_done done, void* user) {
  const Bytes body(std::string_view(answer.body).substr(0, most));
  const Bytes error_text(answer.error_text);
  std::vector<wb_header> headers;
  for (const auto& [name, value] : answer.headers) headers.push_back({{name.data(), name.size()}, {value.data(), value.size()}});
  const bool truncated = answer.body.size() > most;
  const wb_http_response response{sizeof(wb_http_response), answer.error,   answer.reach,   answer.status, truncated ? 1U : 0U,
                                  answer.retry_after_ms,    headers.data(), headers.size(), body.str(),    error_text.str()};
  done(user, &response);
}

Answer refused(std::string why) { return Answer::failure(WB_NET_REFUSED, WB_NOT_SENT, std::move(why)); }

}  // namespace

const wb_http_service* http_service() { return &kService; }

Answer Answer::http(std::int32_t status, std::string body) {
  Answer answer;
  answer.status = status;
  answer.body = std::move(body);
  return answer;
}

Answer Answer::failure(wb_net_error error, wb_reach reach, std::string text) {
  Answer answer;
  answer.error = error;
  answer.reach = reach;
  answer.status = 0;
  answer.error_text = std::move(text);
  return answer;
}

Answer Answer::silence(wb_reach reach) {
  auto answer = failure(WB_NET_TIMEOUT, reach, "no answer in time");
  answer.never = true;
  return answer;
}

std::optional<std::string> SentRequest::header(std::string_view name) const { return find(headers, name); }
std::optional<std::string> SentRequest::filled_header(std::string_view name) const { return find(filled_headers, name); }

void FakeHost::answer(Answer answer) { world_->answers.push_back(std::move(answer)); }
void FakeHost::answer(std::string url, Answer answer) { world_->answers_by_url[std::move(url)].push_back(std::move(answer)); }

std::optional<std::string> World::fill_secrets(std::string_view value) const {
  constexpr std::string_view kOpen = "{secret:";
  std::string filled;
  for (;;) {
    const auto open = value.find(kOpen);
    filled += value.substr(0, open);
    if (open == std::string_view::npos) return filled;
    value.remove_prefix(open + kOpen.size());
    const auto close = value.find('}');
    if (close == std::string_view::npos) return std::nullopt;
    const auto found = secrets.find(value.substr(0, close));
    if (found == secrets.end() || found->second.empty()) return std::nullopt;
    filled += found->second.front();
    value.remove_prefix(close + 1);
  }
}

Answer World::choose_answer(const wb_http_request& request, SentRequest& sent) {
  if (!is_http_url(sent.url)) return refused("the URL is not one of http or https with a host");
  if (!is_token(sent.method)) return refused("the method is no token");
  for (std::size_t i = 0; i < request.header_count; ++i) {
    const auto& [name, value] = sent.headers[i];
    if (!is_token(name) || has_control(value)) return refused("the header " + name + " is malformed");
    auto filled = fill_secrets(value);
    if (!filled) return refused("the header " + name + " names a secret that this host does not have");
    sent.filled_headers.emplace_back(name, std::move(*filled));
  }
  if (!sent.basic_user.empty() || !sent.basic_password.empty()) {
    const auto user = secrets.find(sent.basic_user), password = secrets.find(sent.basic_password);
    if (user == secrets.end() || password == secrets.end() || user->second.empty() || password->second.empty())
      return refused("Basic authentication names a secret that this host does not have");
    sent.filled_headers.emplace_back("Authorization",
                                     "Basic " + encode_base64(user->second.front() + ":" + password->second.front()));
  }
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

std::uint64_t World::fetch(wb_call call, const wb_http_request* request, wb_http_done done, void* user) {
  if (!on_own_thread("fetch")) return 0;
  const auto number = next_number++;
  SentRequest sent;
  sent.fetch = number;
  sent.call = call.id;
  sent.method = text(request->method);
  sent.url = text(request->url);
  for (std::size_t i = 0; i < request->header_count; ++i)
    sent.headers.emplace_back(text(request->headers[i].name), text(request->headers[i].value));
  sent.body = text(request->body);
  sent.timeout_ms = request->timeout_ms;
  sent.max_response_bytes = request->max_response_bytes;
  if (WB_HAS(request, basic_password))
    sent.basic_user = text(request->basic_user), sent.basic_password = text(request->basic_password);
  const auto answer = may_ask("a request was made", call) ? choose_answer(*request, sent) : Answer();
  const std::size_t most = request->max_response_bytes != 0 ? request->max_response_bytes : kDefaultResponseBytes;
  requests.push_back(std::move(sent));
  begin(number, request->timeout_ms, {call.id, http_service(), answer, [=](const Exchange& exchange) {
                                        const auto& [error, reach, words, after, never] = exchange.ending;
                                        tell(exchange.overruled ? Answer::failure(error, reach, words) : answer, most, done,
                                             user);
                                      }});
  return number;
}

}  // namespace waybill::testkit

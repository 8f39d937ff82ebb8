// The scripted network.
#include <algorithm>
#include <limits>

#include "world.h"

namespace waybill::testkit {
namespace {

constexpr std::uint32_t kDefaultResponseBytes = 4096;

std::uint64_t fetch(const wb_host* host, wb_call call, const wb_http_request* request, wb_http_done done, void* user) {
  return world_of(host).fetch(call, request, done, user);
}
void abort_fetch(const wb_host* host, std::uint64_t number) { world_of(host).abort(number); }

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

  Fetch entry{call.id, request->max_response_bytes, {}, done, user, {now_ms, number}};
  if (!is_open(call.id)) {
    breach() << "a request was made on behalf of call " << call.id << ", which is not open";
    overrule(entry, WB_NET_CANCELLED, "the call has ended");
    entry.answer.reach = WB_NOT_SENT;
  } else {
    entry.answer = choose_answer(*request, sent);
    auto limit = calls.at(call.id).deadline_at;
    if (request->timeout_ms != 0) limit = std::min<std::int64_t>(limit, now_ms + request->timeout_ms);
    const auto answered_at = entry.answer.never ? std::numeric_limits<std::int64_t>::max() : now_ms + entry.answer.after.count();
    entry.due.at = std::min(answered_at, limit);
    if (answered_at > limit) overrule(entry, WB_NET_TIMEOUT, "no answer in time");
  }
  requests.push_back(std::move(sent));
  fetches.emplace(number, std::move(entry));
  return number;
}

// The answer comes to nothing: something else ends the request first. How far it got is what the script says of a request
// that never gets an answer, else unknown.
void World::overrule(Fetch& fetch, wb_net_error error, const char* words) {
  fetch.answer =
      Answer::failure(error, fetch.answer.never || fetch.answer.error != WB_NET_OK ? fetch.answer.reach : WB_MAYBE_SENT, words);
}

void World::abort(std::uint64_t number) {
  if (!on_own_thread("abort")) return;
  const auto found = fetches.find(number);
  if (found == fetches.end()) return;
  overrule(found->second, WB_NET_CANCELLED, "aborted");
  found->second.due = {now_ms, next_number++};
  for (auto& request : requests)
    if (request.fetch == number) request.aborted = true;
}

void World::cancel_fetches_of(std::uint64_t call) {
  for (auto& entry : fetches)
    if (entry.second.call == call) {
      overrule(entry.second, WB_NET_CANCELLED, "the call has ended");
      entry.second.due = {now_ms, next_number++};
    }
}

void World::deliver(std::uint64_t number) {
  const auto node = fetches.extract(number);
  const auto& fetch = node.mapped();
  const auto& answer = fetch.answer;
  const std::size_t most = fetch.max_response_bytes != 0 ? fetch.max_response_bytes : kDefaultResponseBytes;
  const bool truncated = answer.body.size() > most;
  const Bytes body(std::string_view(answer.body).substr(0, most));
  const Bytes error_text(answer.error_text);
  std::vector<wb_header> headers;
  for (const auto& [name, value] : answer.headers) headers.push_back({{name.data(), name.size()}, {value.data(), value.size()}});
  const wb_http_response response{sizeof(wb_http_response), answer.error,   answer.reach,   answer.status, truncated ? 1U : 0U,
                                  answer.retry_after_ms,    headers.data(), headers.size(), body.str(),    error_text.str()};
  fetch.done(fetch.user, &response);
}

}  // namespace waybill::testkit

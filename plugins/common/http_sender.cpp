// One fetch at a time for each call, and what its failures mean.
#include "common/http_sender.h"

#include <stdexcept>
#include <utility>

#include "common/job_payload.h"
#include "common/settings_reader.h"

namespace waybill::plugins {
namespace {

// 0: until the attempt's deadline.
std::chrono::milliseconds timeout_from(std::string_view settings) {
  return std::chrono::milliseconds(SettingsReader(settings, throw_wrong).number("timeout_ms", 600'000, 0));
}

}  // namespace

Outcome network_failure(const Response& response) {
  auto outcome = Outcome::transient(word_for(response.error)).reach(response.reach).detail(one_line(response.error_text));
  if (plugin::out_of_reach(response.error, response.reach)) outcome.scope(Scope::whole_target);
  return outcome;
}

Outcome undecided(const Response& response, std::string_view reason, std::string detail) {
  auto outcome = Outcome::transient(reason).reach(response.reach).code(response.status);
  if (plugin::blames_target(response.status)) outcome.scope(Scope::whole_target);
  return outcome.retry_after(response.retry_after).detail(std::move(detail));
}

std::shared_ptr<const Json> destination_object(std::string_view bytes) {
  std::string problem;
  auto json = parse_shared_object(bytes, problem);
  if (!json) throw std::runtime_error("the destination " + problem);
  return json;
}

std::string url_of(const Json& destination) {
  std::string ignored;
  auto url = text_of(destination, {"url"}, ignored);
  if (url.empty()) throw std::runtime_error("the destination has no url");
  return url;
}

HttpSender::HttpSender(plugin::Host host, std::string_view settings) : HttpSender(host, timeout_from(settings)) {}

HttpSender::HttpSender(plugin::Host host, std::chrono::milliseconds timeout) : http_(host.http()), timeout_(timeout) {}

void HttpSender::cancel(Call call) {
  const auto found = open_.find(call.id());
  if (found != open_.end()) http_.abort(found->second);
}

void HttpSender::fetch(Call call, Request request, std::function<Outcome(const Response&)> judge) {
  ask(call, std::move(request), [call, judge = std::move(judge)](const Response& response) {
    call.complete(response.error == NetError::none ? judge(response) : network_failure(response));
  });
}

void HttpSender::ask(Call call, Request request, plugin::FetchDone done) {
  request.timeout = timeout_;
  open_[call.id()] = http_.fetch(call, request, [this, call, done = std::move(done)](const Response& response) {
    open_.erase(call.id());
    done(response);
  });
}

}  // namespace waybill::plugins

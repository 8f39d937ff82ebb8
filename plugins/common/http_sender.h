// What every plugin has in common whose attempt is one HTTP request: the open fetches, cancelling, network errors, the timeout.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "common/json.h"
#include "common/text.h"
#include "waybill/plugin.hpp"

namespace waybill::plugins {

using plugin::NetError;
using plugin::Outcome;
using plugin::Reach;
using plugin::Request;
using plugin::Response;
using plugin::Scope;
using plugin::word_for;

inline constexpr std::string_view kTimeoutSettings =
    R"({"type":"object","additionalProperties":false,"properties":{)"
    R"("timeout_ms":{"type":"integer","minimum":1,"maximum":600000,)"
    R"("description":"how long one attempt may take, in milliseconds; all of the attempt's time, if absent"}}})";

// 0: until the attempt's deadline. Throws what the host is to report.
inline std::chrono::milliseconds timeout_from(std::string_view settings) {
  std::string problem;
  const auto json = parse_object(settings, problem);
  if (!json) throw std::runtime_error("the settings object " + problem);
  const auto* timeout = field(*json, "timeout_ms");
  if (!timeout) return std::chrono::milliseconds(0);
  if (!timeout->is_number_integer() || timeout->get<std::int64_t>() < 1 || timeout->get<std::int64_t>() > 600'000)
    throw std::runtime_error("timeout_ms must be a whole number from 1 to 600000");
  return std::chrono::milliseconds(timeout->get<std::int64_t>());
}

inline Outcome network_failure(const Response& response) {
  auto outcome = Outcome::transient(word_for(response.error)).reach(response.reach).detail(one_line(response.error_text));
  if (plugin::out_of_reach(response.error, response.reach)) outcome.scope(Scope::whole_target);
  return outcome;
}

// An answer that decides nothing, with all that it may say about the next attempt.
inline Outcome undecided(const Response& response, std::string_view reason, std::string detail) {
  auto outcome = Outcome::transient(reason).reach(response.reach).code(response.status);
  if (plugin::blames_target(response.status)) outcome.scope(Scope::whole_target);
  return outcome.retry_after(response.retry_after).detail(std::move(detail));
}

// A destination parsed once for as long as the same bytes come.
template <class Destination>
class LastDestination {
 public:
  // `parse` makes a std::shared_ptr<const Destination> from a JSON object, or throws.
  template <class Parse>
  std::shared_ptr<const Destination> get(std::string_view bytes, const Parse& parse) {
    if (!parsed_ || bytes != bytes_) {
      std::string problem;
      const auto json = parse_object(bytes, problem);
      if (!json) throw std::runtime_error("the destination " + problem);
      parsed_ = parse(*json);
      bytes_ = bytes;
    }
    return parsed_;
  }

 private:
  std::string bytes_;
  std::shared_ptr<const Destination> parsed_;
};

inline std::string url_of(const Json& destination) {
  const auto* url = field(destination, "url");
  if (!url || !url->is_string() || url->get_ref<const std::string&>().empty())
    throw std::runtime_error("the destination has no url");
  return url->get<std::string>();
}

class HttpSender : public plugin::Sender {
 public:
  HttpSender(plugin::Host host, std::string_view settings) : HttpSender(host, timeout_from(settings)) {}
  HttpSender(plugin::Host host, std::chrono::milliseconds timeout) : http_(host.http()), timeout_(timeout) {}

  void cancel(Call call) override {
    const auto found = open_.find(call.id());
    if (found != open_.end()) http_.abort(found->second);
  }

 protected:
  // One request ends the call: `judge` turns an HTTP answer into the outcome; network errors are settled here.
  template <class Judge>
  void fetch(Call call, Request request, Judge judge) {
    ask(call, std::move(request), [call, judge = std::move(judge)](const Response& response) {
      call.complete(response.error == NetError::none ? judge(response) : network_failure(response));
    });
  }

  // The next request of a call; `done` gets whatever comes of it, and may ask again or complete the call.
  template <class Done>
  void ask(Call call, Request request, Done done) {
    request.timeout = timeout_;
    open_[call.id()] = http_.fetch(call, request, [this, call, done = std::move(done)](const Response& response) {
      open_.erase(call.id());
      done(response);
    });
  }

 private:
  plugin::Http http_;
  std::chrono::milliseconds timeout_;
  std::unordered_map<std::uint64_t, plugin::FetchId> open_;
};

}  // namespace waybill::plugins

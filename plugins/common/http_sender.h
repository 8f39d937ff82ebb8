// What every plugin has in common whose attempt is one HTTP request: the open fetches, cancelling, network errors, the timeout.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

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

Outcome network_failure(const Response& response);

// An answer that decides nothing, with all that it may say about the next attempt.
Outcome undecided(const Response& response, std::string_view reason, std::string detail);

// Throws if a destination is no JSON object. Never null.
std::shared_ptr<const Json> destination_object(std::string_view bytes);

// A destination parsed once for as long as the same bytes come.
template <class Destination>
class LastDestination {
 public:
  // `parse` makes a std::shared_ptr<const Destination> from a JSON object, or throws.
  template <class Parse>
  std::shared_ptr<const Destination> get(std::string_view bytes, const Parse& parse) {
    if (!parsed_ || bytes != bytes_) {
      parsed_ = parse(*destination_object(bytes));
      bytes_ = bytes;
    }
    return parsed_;
  }

 private:
  std::string bytes_;
  std::shared_ptr<const Destination> parsed_;
};

// Throws if there is none.
std::string url_of(const Json& destination);

class HttpSender : public plugin::Sender {
 public:
  // The settings may have a timeout_ms. Throws what the host is to report.
  HttpSender(plugin::Host host, std::string_view settings);
  // 0: until the attempt's deadline.
  HttpSender(plugin::Host host, std::chrono::milliseconds timeout);

  void cancel(Call call) override;

 protected:
  // One request ends the call: `judge` turns an HTTP answer into the outcome; network errors are settled here.
  void fetch(Call call, Request request, std::function<Outcome(const Response&)> judge);

  // The next request of a call; `done` gets whatever comes of it, and may ask again or complete the call.
  void ask(Call call, Request request, plugin::FetchDone done);

 private:
  plugin::Http http_;
  std::chrono::milliseconds timeout_;
  std::unordered_map<std::uint64_t, plugin::FetchId> open_;
};

}  // namespace waybill::plugins

// The normalised gateway protocol that sms and push share: one POST, answered by {referenceId, status, gatewayMessageId?,
// reason?}.
#pragma once

#include <algorithm>
#include <iterator>

#include "common/http_sender.h"

namespace waybill::plugins {

inline constexpr std::string_view kGatewayDestination =
    R"({"type":"object","required":["url"],"additionalProperties":false,"properties":{)"
    R"("url":{"type":"string","minLength":1,"description":"base URL of the gateway"}}})";

// The path of the protocol is appended, so there can be nothing behind the URL's own.
inline void check_gateway_destination(std::string_view json, plugin::Report& report) {
  std::string problem;
  const auto destination = parse_object(json, problem);
  if (!destination) return report("", "the destination " + problem);
  const auto* url = field(*destination, "url");
  if (!url || !url->is_string() || url->get_ref<const std::string&>().empty()) return report("/url", "a gateway needs a url");
  if (url->get_ref<const std::string&>().find_first_of("?#") != std::string::npos)
    report("/url", "the url of a gateway must have no query and no fragment");
}

// Only a 2xx whose JSON object says "accepted" or "rejected" with a reason of the taxonomy decides anything. M8, M16
template <std::size_t N>
Outcome judge_gateway_answer(const Response& response, std::string_view reference, const wb_reason (&taxonomy)[N]) {
  const auto invalid = [&](std::string what) { return undecided(response, "invalid_answer", std::move(what)); };
  if (response.status < 200 || response.status > 299) return invalid("status " + std::to_string(response.status));

  std::string problem;
  const auto answer = parse_object(response.body, problem);
  if (!answer) return invalid(response.truncated ? "the answer is too long" : "the answer " + problem);
  if (const auto* id = field(*answer, "referenceId")) {
    if (!id->is_string()) return invalid("the answer's referenceId is not a string");
    if (const auto& theirs = id->get_ref<const std::string&>(); theirs != reference)
      return invalid("the answer is about another referenceId: \"" + one_line(theirs) + '"');
  }
  const auto* status = field(*answer, "status");
  if (!status) return invalid("the answer has no status");
  if (!status->is_string()) return invalid("the answer's status is not a string");

  const auto& word = status->get_ref<const std::string&>();
  if (word == "accepted") {
    auto outcome = Outcome::accepted().reach(response.reach).code(response.status);
    const auto* id = field(*answer, "gatewayMessageId");
    if (id && id->is_string()) outcome.provider_ref(one_line(id->get_ref<const std::string&>(), 1000));
    return outcome;
  }
  if (word != "rejected") return invalid("unknown status \"" + one_line(word) + '"');
  const auto* reason = field(*answer, "reason");
  if (!reason) return invalid("rejected without a reason");
  if (!reason->is_string()) return invalid("rejected with a reason that is not a string");
  const auto& why = reason->get_ref<const std::string&>();
  if (why.empty()) return invalid("rejected with an empty reason");
  if (std::none_of(std::begin(taxonomy), std::end(taxonomy), [&](const wb_reason& r) { return plugin::view(r.name) == why; }))
    return invalid("rejected with the unknown reason \"" + one_line(why) + '"');
  return Outcome::rejected(why).reach(response.reach).code(response.status);
}

// A payload field that the protocol wants as a string. Absent ones are left out; a wrong type is a problem.
inline void copy_string(const Json& payload, const char* name, Json& request, std::string& problem) {
  const auto* value = field(payload, name);
  if (!value) return;
  if (!value->is_string())
    problem = std::string("has a field ") + name + " that is not a string";
  else
    request[name] = *value;
}

inline bool has_text(const Json& request, const char* name) {
  const auto* value = field(request, name);
  return value && !value->get_ref<const std::string&>().empty();
}

// `Protocol` has kPath, kReasons, and fill(payload, request, problem), which copies what the gateway is to get.
template <class Protocol>
class GatewaySender final : public HttpSender {
 public:
  using HttpSender::HttpSender;

  void send(Call call, Job job) override {
    std::string problem;
    const auto payload = parse_object(job.payload(), problem);
    Json body;
    if (payload) {
      body["referenceId"] = std::string(job.idempotency_key());
      copy_string(*payload, "tenantId", body, problem);
      Protocol::fill(*payload, body, problem);
    }
    if (!problem.empty()) {
      call.complete(Outcome::rejected("invalid_request").reach(Reach::not_sent).detail("the payload " + problem));
      return;
    }

    Request request;
    request.url = *destinations_.get(job.destination(), endpoint);
    request.headers = {{"Content-Type", "application/json"}, {"Accept", "application/json"}};
    request.body = body.dump();
    request.max_response_bytes = 64 * 1024;
    fetch(call, std::move(request), [reference = std::string(job.idempotency_key())](const Response& response) {
      return judge_gateway_answer(response, reference, Protocol::kReasons);
    });
  }

 private:
  static std::shared_ptr<const std::string> endpoint(const Json& destination) {
    auto url = url_of(destination);
    url.erase(url.find_last_not_of('/') + 1);
    return std::make_shared<const std::string>(url.append(Protocol::kPath));
  }

  LastDestination<std::string> destinations_;
};

}  // namespace waybill::plugins

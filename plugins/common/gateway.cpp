// What is sent to any gateway, and what its answers mean.
#include "common/gateway.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace waybill::plugins {
namespace {

// Only a 2xx whose JSON object says "accepted" or "rejected" with a reason of the taxonomy decides anything. M8, M16
Outcome judge_gateway_answer(const Response& response, std::string_view reference, std::span<const wb_reason> taxonomy) {
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
  if (std::none_of(taxonomy.begin(), taxonomy.end(), [&](const wb_reason& r) { return plugin::view(r.name) == why; }))
    return invalid("rejected with the unknown reason \"" + one_line(why) + '"');
  return Outcome::rejected(why).reach(response.reach).code(response.status);
}

}  // namespace

void check_gateway_destination(std::string_view json, plugin::Report& report) {
  std::string problem;
  const auto destination = parse_object(json, problem);
  if (!destination) return report("", "the destination " + problem);
  const auto* url = field(*destination, "url");
  if (!url || !url->is_string() || url->get_ref<const std::string&>().empty()) return report("/url", "a gateway needs a url");
  if (url->get_ref<const std::string&>().find_first_of("?#") != std::string::npos)
    report("/url", "the url of a gateway must have no query and no fragment");
}

void copy_string(const Json& payload, const char* name, Json& request, std::string& problem) {
  const auto* value = field(payload, name);
  if (!value) return;
  if (!value->is_string())
    problem = std::string("has a field ") + name + " that is not a string";
  else
    request[name] = *value;
}

void copy_object(const Json& payload, const char* name, Json& request, std::string& problem) {
  const auto* value = field(payload, name);
  if (!value) return;
  if (!value->is_object())
    problem = std::string("has a field ") + name + " that is not an object";
  else
    request[name] = *value;
}

bool has_text(const Json& request, const char* name) {
  const auto* value = field(request, name);
  return value && !value->get_ref<const std::string&>().empty();
}

AnyGatewaySender::AnyGatewaySender(plugin::Host host, std::string_view settings, const char* path,
                                   std::span<const wb_reason> taxonomy, Fill fill)
    : HttpSender(host, settings), path_(path), taxonomy_(taxonomy), fill_(fill) {}

void AnyGatewaySender::send(Call call, Job job) {
  std::string problem;
  const auto payload = parse_object(job.payload(), problem);
  Json body;
  if (payload) {
    body["referenceId"] = std::string(job.idempotency_key());
    copy_string(*payload, "tenantId", body, problem);
    fill_(*payload, body, problem);
  }
  if (!problem.empty()) {
    call.complete(Outcome::rejected("invalid_request").reach(Reach::not_sent).detail("the payload " + problem));
    return;
  }

  Request request;
  request.url = *destinations_.get(job.destination(), [this](const Json& destination) {
    auto url = url_of(destination);
    url.erase(url.find_last_not_of('/') + 1);
    return std::make_shared<const std::string>(url.append(path_));
  });
  request.headers = {{"Content-Type", "application/json"}, {"Accept", "application/json"}};
  request.body = body.dump();
  request.max_response_bytes = 64 * 1024;
  fetch(call, std::move(request),
        [reference = std::string(job.idempotency_key()), taxonomy = taxonomy_](const Response& response) {
          return judge_gateway_answer(response, reference, taxonomy);
        });
}

}  // namespace waybill::plugins

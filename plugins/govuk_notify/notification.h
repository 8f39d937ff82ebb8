// What a job asks to be sent, as POST /v2/notifications/email has it.
#pragma once

#include <nlohmann/json.hpp>

#include "common/job_payload.h"
#include "common/surrogates.h"

namespace waybill::plugins::notify {

// What request_of() can only refuse: the names may stand beside the options or in them.
inline constexpr std::string_view kPayloadSchema =
    R"({"type":"object","properties":{"options":{"type":["object","null"]}},"allOf":[
  {"anyOf":[
    {"required":["template"],"properties":{"template":{"type":"string","minLength":1}}},
    {"required":["templateId"],"properties":{"templateId":{"type":"string","minLength":1}}},
    {"required":["options"],"properties":{"options":{"type":"object","required":["template"],
      "properties":{"template":{"type":"string","minLength":1}}}}},
    {"required":["options"],"properties":{"options":{"type":"object","required":["templateId"],
      "properties":{"templateId":{"type":"string","minLength":1}}}}}]},
  {"anyOf":[
    {"required":["emailAddress"],"properties":{"emailAddress":{"type":"string","minLength":1}}},
    {"required":["options"],"properties":{"options":{"type":"object","required":["emailAddress"],
      "properties":{"emailAddress":{"type":"string","minLength":1}}}}}]}]})";

// The request's body; none if the payload lacks what it needs: `problem` then ends the sentence "the payload ...".
inline std::optional<std::string> request_of(std::string_view payload, std::string_view context, std::string& problem) {
  const auto json = parse_object(without_lone_surrogates(payload), problem);
  if (!json) return std::nullopt;
  const auto* wrapped = field(*json, "options");
  if (wrapped && !wrapped->is_object()) return problem = "has options that are not an object", std::nullopt;
  const auto& options = wrapped ? *wrapped : *json;

  // Beside the options, as Notify's own clients take them, or in them.
  const auto either = [&](std::initializer_list<const char*> names) {
    auto text = text_of(options, names, problem);
    return text.empty() ? text_of(*json, names, problem) : text;
  };
  const auto template_id = either({"template", "templateId"});
  const auto address = either({"emailAddress"});
  const auto* personalisation = field(options, "personalisation");
  if (personalisation && !personalisation->is_object()) problem = "has a personalisation that is not an object";
  Json body{{"template_id", template_id}, {"email_address", address}};
  if (personalisation) body["personalisation"] = *personalisation;
  if (auto reference = reference_of(options, context, problem); !reference.empty()) body["reference"] = std::move(reference);
  if (auto reply_to = text_of(options, {"emailReplyToId"}, problem); !reply_to.empty())
    body["email_reply_to_id"] = std::move(reply_to);
  if (auto unsubscribe = text_of(options, {"oneClickUnsubscribeURL"}, problem); !unsubscribe.empty())
    body["one_click_unsubscribe_url"] = std::move(unsubscribe);
  if (problem.empty() && template_id.empty()) problem = "has no template";
  if (problem.empty() && address.empty()) problem = "has no emailAddress";
  if (!problem.empty()) return std::nullopt;
  return body.dump();
}

}  // namespace waybill::plugins::notify

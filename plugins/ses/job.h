// What a job asks to be sent: subject, body and the files that belong to it.
#pragma once

#include <nlohmann/json.hpp>

#include "common/job_payload.h"
#include "common/surrogates.h"
#include "ses/settings.h"

namespace waybill::plugins::ses {

struct File {
  std::string title;
  std::string url;
};

struct MailJob {
  std::string subject;
  std::string html;
  std::string reference;
  std::vector<File> files;
};

// One list of attachments: {"title", "type": "file", "answer": URL}. A file that was not handed in has no answer, and is none.
inline void read_files(const Json& object, std::vector<File>& files, std::string& problem) {
  const auto* list = field(object, "attachments");
  if (!list) return;
  if (!list->is_array()) problem = "has attachments that are not a list";
  if (!problem.empty()) return;
  for (const auto& one : *list) {
    if (!one.is_object()) {
      problem = "has an attachment that is not an object";
      return;
    }
    const auto type = text_of(one, {"type"}, problem);
    if (!type.empty() && type != "file") problem = "has an attachment of the unknown type \"" + one_line(type) + '"';
    File file{text_of(one, {"title"}, problem), text_of(one, {"answer"}, problem)};
    if (!problem.empty()) return;
    if (!file.url.empty()) files.push_back(std::move(file));
  }
}

// What read_job() can only refuse.
inline constexpr std::string_view kPayloadSchema =
    R"({"type":"object","required":["subject","body"],"properties":{"subject":{"type":"string","minLength":1},)"
    R"("body":{"type":"string","minLength":1},"attachments":{"type":["array","null"]}}})";

// None if the payload lacks what a mail needs: `problem` then ends the sentence "the payload ...".
inline std::optional<MailJob> read_job(std::string_view payload, std::string_view context, std::string& problem) {
  const auto json = parse_object(without_lone_surrogates(payload), problem);
  if (!json) return std::nullopt;
  MailJob out;
  out.subject = trimmed_line(text_of(*json, {"subject"}, problem));
  out.html = text_of(*json, {"body"}, problem);
  out.reference = reference_of(*json, context, problem);
  if (problem.empty() && out.subject.empty()) problem = "has no subject";
  if (problem.empty() && out.html.empty()) problem = "has no body";
  if (problem.empty()) read_files(*json, out.files, problem);
  const auto* follow_up = field(*json, "onComplete");
  if (problem.empty() && follow_up && follow_up->is_object()) read_files(*follow_up, out.files, problem);
  if (!problem.empty()) return std::nullopt;
  return out;
}

// Why these files must not be fetched; none: nothing is wrong.
inline std::optional<Outcome> refusal_of(const std::vector<File>& files, const Route& route, const Settings& settings) {
  const auto refused = [](std::string_view reason, std::string why) {
    return Outcome::rejected(reason).reach(Reach::not_sent).detail(std::move(why));
  };
  if (files.size() > settings.max_attachments)
    return refused("too_many_attachments", "the mail would have " + std::to_string(files.size()) + " attachments, more than " +
                                               std::to_string(settings.max_attachments));
  for (const auto& file : files) {
    std::string_view rest;
    const auto origin = origin_of(file.url, rest);
    if (!origin || std::find(route.origins.begin(), route.origins.end(), *origin) == route.origins.end())
      return refused("attachment_not_allowed", "the origin of " + public_url(file.url) + " is not among the allowed ones");
  }
  return std::nullopt;
}

}  // namespace waybill::plugins::ses

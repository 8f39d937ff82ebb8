// A form's submission as mail: composed once, sent to those who do not have it yet.
#pragma once

#include <unordered_map>

#include "common/form_envelope.h"
#include "common/mail_message.h"
#include "common/mail_settings.h"
#include "common/mail_verdict.h"

namespace waybill::plugins {

inline constexpr std::string_view kMailDestination =
    R"({"type":"object","additionalProperties":false,)"
    R"("examples":[{"destination":"team@example.org, Desk <desk@example.org>","subject_template":"Message from {{fields.name}}"}],)"
    R"("properties":{)"
    R"("destination":{"type":"string","minLength":3,"description":"recipients, separated by commas"},)"
    R"("destination_field":{"type":"string","minLength":1,"description":"instead: the field with the one recipient"},)"
    R"("destination_lookup":{"type":"object","required":["field","addresses"],"additionalProperties":false,)"
    R"("description":"instead: recipients by the text of a field","properties":{)"
    R"("field":{"type":"string","minLength":1},)"
    R"("addresses":{"type":"object","minProperties":1,"additionalProperties":{"type":"string","minLength":3}},)"
    R"("default":{"type":"string","minLength":3,"description":"recipients for any other text"}}},)"
    R"("from":{"type":"string","minLength":3,"description":"sender; without: that of the settings"},)"
    R"("reply_to":{"type":"string","minLength":3,"description":"addresses for answers"},)"
    R"("reply_to_field":{"type":"string","minLength":1,"description":"instead: the field with the address for answers"},)"
    R"("cc":{"type":"string","minLength":3,"description":"further recipients, whom all see"},)"
    R"("bcc":{"type":"string","minLength":3,"description":"further recipients, whom nobody sees"},)"
    R"("attachment_links":{"type":"boolean","description":"whether attachments are told, with links to them; without: unless destination_field says who gets it"},)"
    R"("template_id":{"type":"string","description":"the registry's template of the text; without: the least that is worth saying"},)"
    R"("subject_template":{"type":"string","description":"subject; without: the template's"}}})";

inline constexpr wb_reason kMailReasons[] = {plugin::permanent("invalid_recipient"), plugin::permanent("invalid_message"),
                                             plugin::permanent("sender_refused"),    plugin::permanent("unknown_template"),
                                             plugin::permanent("invalid_form"),      plugin::reason("no_link_key")};

inline void check_mail_destination(std::string_view destination, plugin::Report& report) {
  const auto action = read_form_action(destination, telling(report));
  if (action) check_envelope(*action, telling(report));
}

enum class MailTexts { plain, all };  // of a template that has more than one

template <MailTexts texts>
class MailSender final : public plugin::Sender, public plugin::Composes {
 public:
  MailSender(plugin::Host host, std::string_view settings)
      : settings_(mail_settings(settings)), writer_(host), smtp_(host.smtp()), timer_(host.timer()) {}

  void compose(Call call, Job job) override { call.complete(composed(job)); }

  void send(Call call, Job job) override {
    std::string problem;
    const auto action = action_of(job, problem);
    const auto fields = action && action->asks_fields() ? fields_of(job, problem) : std::optional(Json::object());
    const auto envelope = action && fields ? envelope_of(*action, *fields, settings_.from, problem) : std::nullopt;
    if (!envelope) {
      call.complete(refused("invalid_recipient", problem));
      return;
    }
    const auto recipients = envelope->recipients();
    auto tally = tally_from(job.progress(), recipients);
    plugin::Message message;
    message.recipients = still_to_reach(tally, recipients);
    if (message.recipients.empty()) {
      call.complete(Outcome::accepted().result(tally.json()));
      return;
    }
    message.relay = settings_.relay;
    message.tls = settings_.tls;
    message.user = settings_.user;
    message.password = settings_.password_secret;
    message.from = envelope->from.address;
    message.data = job.artifact();
    message.timeout = settings_.timeout;
    open_[call.id()] =
        smtp_.submit(call, message, [this, call, tally, recipients, asked = message.recipients](const SmtpReply& reply) {
          open_.erase(call.id());
          call.complete(judge_mail(reply, tally, asked, recipients));
        });
  }

  void cancel(Call call) override {
    const auto found = open_.find(call.id());
    if (found != open_.end()) smtp_.abort(found->second);
  }

 private:
  static Outcome refused(std::string_view reason, std::string why) {
    return Outcome::rejected(reason).reach(Reach::not_sent).detail(std::move(why));
  }

  static std::optional<FormAction> action_of(Job job, std::string& problem) {
    return read_form_action(job.destination(), [&](const std::string&, const std::string& why) { problem = why; });
  }

  static Json fields_of(const Form& form) {
    const auto* fields = field(form.data, "fields");
    return fields ? *fields : Json::object();
  }
  static std::optional<Json> fields_of(Job job, std::string& problem) {
    const auto form = read_form(job.context(), job.payload(), problem);
    if (form) return fields_of(*form);
    return problem = "the submission " + problem, std::nullopt;
  }

  Outcome composed(Job job) const {
    std::string problem;
    const auto form = read_form(job.context(), job.payload(), problem);
    if (!form) return malformed_form("the submission " + problem);
    const auto action = action_of(job, problem);
    auto envelope = action ? envelope_of(*action, fields_of(*form), settings_.from, problem) : std::nullopt;
    if (!envelope) return refused("invalid_recipient", problem);
    auto content = writer_.write(
        *form, {action->template_id, action->subject_template, texts == MailTexts::all, settings_.link_ttl, action->has_links()});
    if (auto* refusal = std::get_if<Outcome>(&content)) return std::move(*refusal);
    auto mail = write_mail({envelope->from,
                            std::move(envelope->to),
                            std::get<FormText>(std::move(content)),
                            std::string(job.idempotency_key()),
                            form->reference,
                            timer_.unix_seconds(),
                            {},
                            std::move(envelope->reply_to),
                            std::move(envelope->cc)});
    if (mail.size() > WB_MOST_ARTIFACT_BYTES)
      return refused("invalid_message", "the mail would have " + std::to_string(mail.size()) + " bytes, more than " +
                                            std::to_string(WB_MOST_ARTIFACT_BYTES));
    return Outcome::accepted().artifact("message/rfc822", std::move(mail));
  }

  MailSettings settings_;
  FormWriter writer_;
  plugin::Smtp smtp_;
  plugin::Timers timer_;
  std::unordered_map<std::uint64_t, plugin::SubmissionId> open_;
};

template <MailTexts texts>
constexpr plugin::Action mail_action(std::string_view type) {
  return plugin::action<MailSender<texts>>(type)
      .settings_schema(kMailSettings)
      .destination_schema(kMailDestination)
      .reasons(kMailReasons)
      .template validate_settings<check_mail_settings>()
      .template validate_destination<check_mail_destination>();
}

}  // namespace waybill::plugins

// A form's submission as mail: composed once, sent to those who do not have it yet.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "common/form_text.h"
#include "common/mail_settings.h"
#include "waybill/plugin.hpp"

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

void check_mail_destination(std::string_view destination, plugin::Report& report);

enum class MailTexts { plain, all };  // of a template that has more than one

// Composes the mail once, then asks a relay to take it for those who do not have it.
class AnyMailSender : public plugin::Sender, public plugin::Composes {
 public:
  void compose(Call call, Job job) override;
  void send(Call call, Job job) override;
  void cancel(Call call) override;

 protected:
  AnyMailSender(plugin::Host host, std::string_view settings, MailTexts texts);

 private:
  Outcome composed(Job job) const;

  MailTexts texts_;
  MailSettings settings_;
  FormWriter writer_;
  plugin::Smtp smtp_;
  plugin::Timers timer_;
  std::unordered_map<std::uint64_t, plugin::SubmissionId> open_;
};

template <MailTexts texts>
class MailSender final : public AnyMailSender {
 public:
  MailSender(plugin::Host host, std::string_view settings) : AnyMailSender(host, settings, texts) {}
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

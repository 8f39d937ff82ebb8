// Action type email_template: a form's submission as mail, with the texts of a template, HTML among them.
#include "common/mail_sender.h"

namespace {
using namespace waybill::plugins;

constexpr auto kEmailTemplate = waybill::plugin::action<MailSender<MailTexts::all>>("email_template")
                                    .settings_schema(kMailSettings)
                                    .destination_schema(kMailDestination)
                                    .reasons(kMailReasons)
                                    .validate_settings<check_mail_settings>()
                                    .validate_destination<check_mail_destination>();
}  // namespace

WAYBILL_PLUGIN_NEEDING(2, "waybill.email_template", "1.0.0", kEmailTemplate);

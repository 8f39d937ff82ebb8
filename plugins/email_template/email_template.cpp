// Action type email_template: a form's submission as mail, with the texts of a template, HTML among them.
#include "common/mail_sender.h"

constexpr auto kEmailTemplate = waybill::plugins::mail_action<waybill::plugins::MailTexts::all>("email_template");
WAYBILL_PLUGIN_NEEDING(2, "waybill.email_template", "1.0.0", kEmailTemplate);

// Action type email_raw: a form's submission as mail in plain text.
#include "common/mail_sender.h"

constexpr auto kEmailRaw = waybill::plugins::mail_action<waybill::plugins::MailTexts::plain>("email_raw");
WAYBILL_PLUGIN_NEEDING(2, "waybill.email_raw", "1.0.0", kEmailRaw);

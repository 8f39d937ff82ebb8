// Action type email_raw: a form's submission as mail in plain text.
#include "common/mail_sender.h"

namespace {
using namespace waybill::plugins;

constexpr auto kEmailRaw = waybill::plugin::action<MailSender<MailTexts::plain>>("email_raw")
                               .settings_schema(kMailSettings)
                               .destination_schema(kMailDestination)
                               .reasons(kMailReasons)
                               .validate_settings<check_mail_settings>()
                               .validate_destination<check_mail_destination>();
}  // namespace

WAYBILL_PLUGIN_NEEDING(2, "waybill.email_raw", "1.0.0", kEmailRaw);

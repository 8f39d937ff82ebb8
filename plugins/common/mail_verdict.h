// What a relay's answer means for a delivery.
#pragma once

#include <string>
#include <vector>

#include "common/mail_tally.h"

namespace waybill::plugins {

using plugin::Outcome;
using plugin::Scope;
using plugin::SmtpReply;
using plugin::SmtpStage;

// `asked` are the addresses of this attempt, `tally` what was known before it.
Outcome judge_mail(const SmtpReply& reply, Tally tally, const std::vector<std::string>& asked,
                   const std::vector<Mailbox>& recipients);

}  // namespace waybill::plugins

// Who a form's mail is from and who gets it: as the form's action says, and the fields that it names.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/form_action.h"
#include "common/mail_address.h"

namespace waybill::plugins {

struct Envelope {
  Mailbox from;
  std::vector<Mailbox> reply_to, to, cc, bcc;

  // Each address once, in the order of To, Cc and Bcc.
  std::vector<Mailbox> recipients() const;
};

// None, and `problem` is a sentence, if an address is no good or there are more than 100 of them. `fields` are the submission's.
std::optional<Envelope> envelope_of(const FormAction& action, const Json& fields, const Mailbox& from, std::string& problem);

// What is wrong with an action's addresses before any field is known.
void check_envelope(const FormAction& action, const Wrong& wrong);

}  // namespace waybill::plugins

// One mail as RFC 5322 bytes: multipart/mixed, with both texts in multipart/alternative if there are two, then the attachments.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/form_text.h"
#include "common/mail_address.h"

namespace waybill::plugins {

struct Letter {
  Mailbox from;
  std::vector<Mailbox> to;
  FormText content;
  std::string key;        // of the delivery: the Message-ID is made of it
  std::string reference;  // of the submission
  std::int64_t date = 0;
  std::vector<std::string> attachments{};  // body parts, each with its header
  std::vector<Mailbox> reply_to{}, cc{};   // empty: no such field
};

std::string write_mail(Letter letter);

}  // namespace waybill::plugins

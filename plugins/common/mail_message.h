// One mail as RFC 5322 bytes: multipart/mixed, with both texts in multipart/alternative if there are two, then the attachments.
#pragma once

#include "common/calendar.h"
#include "common/form_text.h"
#include "common/mail_body.h"

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

namespace detail {

// "=_" stands in no quoted-printable and in no base64, so no body can have these lines.
inline std::string multipart(std::string_view kind, const std::vector<std::string>& parts) {
  const auto boundary = "=_waybill_" + std::string(kind);
  auto out = "Content-Type: multipart/" + std::string(kind) + ";\r\n boundary=\"" + boundary + "\"\r\n\r\n";
  for (const auto& part : parts) out += "--" + boundary + "\r\n" + part + "\r\n";
  return out + "--" + boundary + "--\r\n";
}

}  // namespace detail

inline std::string write_mail(Letter letter) {
  std::vector<std::string> texts;
  if (letter.content.text) texts.push_back(text_part("text/plain", *letter.content.text));
  if (letter.content.html) texts.push_back(text_part("text/html", *letter.content.html));
  auto parts = std::move(letter.attachments);
  parts.insert(parts.begin(), texts.size() == 1 ? texts.front() : detail::multipart("alternative", texts));

  const auto if_any = [](std::string_view name, const std::vector<Mailbox>& list) {
    return list.empty() ? std::string() : address_field(name, list);
  };
  return address_field("From", {letter.from}) + if_any("Reply-To", letter.reply_to) + address_field("To", letter.to) +
         if_any("Cc", letter.cc) + text_field("Subject", letter.content.subject) + "Date: " + mail_date(letter.date) +
         "\r\nMessage-ID: <" + key_word(letter.key) + '@' + letter.from.domain() + ">\r\nAuto-Submitted: auto-generated\r\n" +
         text_field("X-Submission", trimmed_line(letter.reference)) + "MIME-Version: 1.0\r\n" + detail::multipart("mixed", parts);
}

}  // namespace waybill::plugins

// One message handed to one relay, from MAIL to the answer to its end: what to write next, and what each reply means. No I/O.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "services/smtp_message.h"

namespace waybill {

class SmtpConversation {
 public:
  SmtpConversation(const SmtpMessage& message, const SmtpOffers& offers);  // the message outlives it

  // What is to be written now, a piece at a time; nothing while a reply is awaited and when it is over.
  std::string_view output() const { return std::string_view(out_).substr(written_); }
  void written(std::size_t bytes);
  // False: the message's end is next, without which the relay has nothing, and its call was given up.
  bool may_go_on(bool on_new_connection) const { return !ending_ || message_.departure.begin(on_new_connection); }
  void take(SmtpAnswer reply);
  // The connection broke, or what came was not SMTP: it is over without an answer.
  void lost(NetError error, std::string text);

  bool over() const { return over_; }
  bool connection_is_clean() const { return clean_; }  // the next message may follow on it
  bool came_too_late() const;  // it is over because the relay ended the connection before it took the sender
  Reach reach() const;         // also of one that is given up
  SmtpReply result() const;    // once it is over; given up, what is known so far

 private:
  enum class Step { mail, rcpt, data, body, end };

  SmtpStage stage() const;
  void ask(std::string command);
  void ask_next_recipient(std::size_t from);
  void next_piece();
  void take_recipient(SmtpAnswer reply);
  void decide(SmtpStage stage, SmtpAnswer reply);
  void unexpected(const SmtpAnswer& reply);

  const SmtpMessage& message_;
  Step step_ = Step::mail;
  std::string out_;
  std::size_t written_ = 0;
  std::string_view body_;      // what is left of the message
  bool line_begins_ = true;    // the body goes on at the beginning of a line
  bool ending_ = false;        // `out_` holds the message's end
  std::size_t recipient_ = 0;  // whose reply is awaited
  bool end_sent_ = false;
  bool over_ = false;
  bool clean_ = false;
  SmtpReply reply_;
};

}  // namespace waybill

// What a test scripts of the network, and what it finds there: requests with their answers, mails with their replies.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "waybill/plugin.h"

namespace waybill::testkit {

using Headers = std::vector<std::pair<std::string, std::string>>;

// How anything on the network ends, and when.
struct Ending {
  wb_net_error error = WB_NET_OK;
  wb_reach reach = WB_ANSWERED;
  std::string error_text;
  std::chrono::milliseconds after{0};  // passes before the answer comes
  bool never = false;                  // comes only on an abort, a timeout, or the end of its call
};

// What the network does with one request.
struct Answer : Ending {
  std::int32_t status = 200;
  Headers headers;  // names in lower case
  std::string body;
  std::int64_t retry_after_ms = -1;

  static Answer http(std::int32_t status, std::string body = {});
  static Answer failure(wb_net_error error, wb_reach reach, std::string text = "as scripted");
  static Answer silence(wb_reach reach = WB_MAYBE_SENT);  // `reach` is what the end will report
};

// A secret that the host is to put into a body.
struct BodySecret {
  std::size_t offset = 0;
  std::string name;
  wb_secret_form form = WB_SECRET_RAW;
};

// One request as the plugin made it.
struct SentRequest {
  std::uint64_t fetch = 0;
  std::uint64_t call = 0;
  std::string method;
  std::string url;
  Headers headers;  // as the plugin gave them
  std::string body;
  // As they would leave, with {secret:NAME}, {oauth2:NAME} and body_secrets filled in; empty if the request was refused.
  std::string filled_url;
  Headers filled_headers;
  std::string filled_body;
  std::vector<BodySecret> body_secrets;
  std::uint32_t timeout_ms = 0;
  std::uint32_t max_response_bytes = 0;
  std::string basic_user;  // names of secrets
  std::string basic_password;
  std::string sigv4_region;
  std::string sigv4_service;
  std::string sigv4_key_id;  // names of secrets
  std::string sigv4_secret_key;
  bool aborted = false;

  // The first of that name in any case; none if there is none.
  std::optional<std::string> header(std::string_view name) const;
  std::optional<std::string> filled_header(std::string_view name) const;
};

// What the relay says to one mail: MailAnswer::taken().to("bob@b.test", 550, "5.1.1 no such mailbox").
struct MailAnswer : Ending {
  wb_smtp_stage stage = WB_SMTP_DATA;  // of the reply that decides
  std::int32_t code = 250;
  std::string text;

  static MailAnswer taken();
  static MailAnswer refused(wb_smtp_stage stage, std::int32_t code, std::string text = {});
  static MailAnswer failure(wb_net_error error, wb_reach reach, std::string text = "as scripted");
  static MailAnswer silence(wb_reach reach = WB_MAYBE_SENT);  // `reach` is what the end will report

  // What RCPT TO of this address is answered; 250 if nothing is said here. A mail whose recipients are all refused is refused.
  MailAnswer& to(std::string address, std::int32_t reply, std::string words = {}) &;
  MailAnswer to(std::string address, std::int32_t reply, std::string words = {}) &&;

  struct Recipient {
    std::string address;
    std::int32_t code;
    std::string text;
  };
  std::vector<Recipient> recipients;
};

// One mail as the plugin handed it in.
struct SentMail {
  std::uint64_t submission = 0;
  std::uint64_t call = 0;
  std::string relay;
  wb_tls tls = WB_TLS_IF_OFFERED;
  std::string user;
  std::string password;         // the name of the secret
  bool password_known = false;  // this host has a secret of that name
  std::string from;
  std::vector<std::string> recipients;
  std::string data;
  std::uint32_t timeout_ms = 0;
  bool aborted = false;
};

}  // namespace waybill::testkit

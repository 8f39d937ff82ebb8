// Mail to be submitted and what became of it, as values, and the rules a message must keep before a byte of it leaves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/departure.h"
#include "base/time.h"
#include "domain/outcome.h"
#include "services/address_guard.h"
#include "services/net_error.h"
#include "services/transport.h"

namespace waybill {

enum class Tls : std::int32_t { if_offered, required, never };                  // numbers as in plugin.h
enum class SmtpStage : std::int32_t { none, connect, auth, mail, rcpt, data };  // numbers as in plugin.h

struct SmtpMessage {
  std::string relay;  // smtp:// or smtps://, and nothing behind the port
  Tls tls = Tls::if_offered;
  std::string user;                              // empty: no AUTH
  std::string password;                          // the name of a secret
  std::string from;                              // empty: the null reverse-path
  std::vector<std::string> recipients;           // at least one
  std::string data;                              // RFC 5322, every line but the last with its CRLF
  Millis timeout{0};                             // from the submission on; 0: until the deadline
  Clock::Monotonic deadline;                     // never later than this
  Trust trust = Trust::registry;                 // who named the relay; a tenant's message has no login
  std::shared_ptr<const Transport> transport{};  // null: the defaults
  Departure departure{};                         // asked right before its end is written
};

struct SmtpAnswer {
  std::int32_t code = 0;  // 0: none came
  std::string text;       // one clean line, the enhanced code first if there was one
};

struct SmtpReply {
  NetError error = NetError::ok;
  Reach reach = Reach::not_sent;
  SmtpStage stage = SmtpStage::none;   // of the answer that decided
  SmtpAnswer answer;                   // the one that decided
  std::vector<SmtpAnswer> recipients;  // in the order of the message's
  std::string error_text;              // one line for people, without secrets
  std::optional<AddressRefusal> refusal;
};

// What a relay said it can do, in its reply to EHLO.
struct SmtpOffers {
  bool size = false;
  bool eight_bit = false;
  bool utf8 = false;

  void take_line(std::string_view keyword_and_more);
};

inline constexpr std::size_t kMaxMailBytes = 64 << 20;
inline constexpr std::size_t kMaxRecipients = 1000;
inline constexpr std::size_t kMaxAddressBytes = 320;
inline constexpr std::size_t kMaxUserBytes = 512;

// Why a message must not be sent; never with what it says.
std::optional<std::string> fault_in(const SmtpMessage& message);

}  // namespace waybill

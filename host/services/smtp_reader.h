// Cuts what a relay sends into replies: lines that come in any pieces, several to a reply, as long as they like.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "services/smtp_message.h"

namespace waybill {

inline constexpr std::size_t kMaxReplyBytes = 64 << 10;  // as it was sent; more is no reply
inline constexpr std::size_t kMaxReplyText = 1000;       // of it that is kept

class SmtpReader {
 public:
  void feed(std::string_view bytes);
  // The next whole reply; none if there is no more yet, or never will be.
  std::optional<SmtpAnswer> next();
  bool broken() const { return broken_; }                     // what came is not SMTP
  bool empty() const { return rest_.empty() && size_ == 0; }  // nothing is left of which no reply was made

 private:
  bool take_line(std::string_view line);  // true: the reply's last

  std::string rest_;
  std::size_t size_ = 0;  // bytes of the reply in hand
  SmtpAnswer reply_;
  bool broken_ = false;
};

}  // namespace waybill

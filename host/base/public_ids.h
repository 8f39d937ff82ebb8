// Ids of deliveries as the API shows them: the numbers themselves would tell each organisation how much all the others send.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/secret.h"

namespace waybill {

// An encryption with a key of the database's. Immutable; safe from any thread.
class PublicIds {
 public:
  static constexpr std::size_t kKeyBytes = 16;

  PublicIds() = default;  // shows numbers as they are, as commands do
  // `key`: of kKeyBytes. Numbers up to `shown_until` were shown by earlier versions and are read; others would tell who tries
  // them how many there are.
  explicit PublicIds(const Secret& key, std::int64_t shown_until = std::numeric_limits<std::int64_t>::max());
  PublicIds taking_any_number() const;      // for commands
  std::string text(std::int64_t id) const;  // "d_" and 32 hexadecimal digits
  // The id of such a text, or of a number as it was shown by earlier versions; none if it is neither.
  std::optional<std::int64_t> read(std::string_view text) const;

 private:
  Secret key_;  // empty: none
  std::int64_t shown_until_ = std::numeric_limits<std::int64_t>::max();
};

}  // namespace waybill

// Ids of deliveries as the API shows them: the numbers themselves would tell each organisation how much all the others send.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/secret.h"

namespace waybill {

// An encryption with a key of the database's. Immutable; safe from any thread.
class PublicIds {
 public:
  static constexpr std::size_t kKeyBytes = 16;

  PublicIds() = default;                    // shows numbers as they are, as commands do
  explicit PublicIds(const Secret& key);    // of kKeyBytes
  std::string text(std::int64_t id) const;  // "d_" and 32 hexadecimal digits
  // The id of such a text, or of a number as it was shown by earlier versions; none if it is neither.
  std::optional<std::int64_t> read(std::string_view text) const;

 private:
  Secret key_;  // empty: none
};

}  // namespace waybill

// What a token looks like: "wbt_", its public id, "_", and 43 characters of base64url from 32 random bytes. Tokens of earlier
// versions have no id: "wbt_" and the 43 characters.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace waybill {

struct TokenText {
  std::string text;
  std::string id;  // 12 of [0-9a-f]
};
TokenText make_token();

// The public id of what may be a token; "" if it has none.
std::string_view public_id_of(std::string_view token);

}  // namespace waybill

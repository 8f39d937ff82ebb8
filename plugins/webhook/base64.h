// Base64 with padding, as signatures want it.
#pragma once

#include "waybill/plugin.hpp"

namespace waybill::plugins::webhook {

inline std::string base64(const plugin::Mac& bytes) {
  static constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t have = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k) bits = bits << 8 | (k < have ? bytes[i + k] : 0U);
    for (std::size_t k = 0; k < 4; ++k) out += k <= have ? kLetters[bits >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

}  // namespace waybill::plugins::webhook

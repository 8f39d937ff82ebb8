// Characters that no name may hold, besides controls: what nobody sees, or what moves the text around it.  T32
#pragma once

#include <array>

namespace waybill::testing {

struct Unseen {
  const char* text;  // UTF-8
  const char* json;  // its escape in JSON
};
inline constexpr std::array<Unseen, 9> kUnseen{{{"\xE2\x80\xAE", "\\u202e"},               // right-to-left override
                                                {"\xE2\x80\xA8", "\\u2028"},               // line separator
                                                {"\xE2\x80\x8B", "\\u200b"},               // zero-width space
                                                {"\xEF\xBB\xBF", "\\ufeff"},               // byte order mark
                                                {"\xD8\x9C", "\\u061c"},                   // Arabic letter mark
                                                {"\xE1\xA0\x8E", "\\u180e"},               // Mongolian vowel separator
                                                {"\xC2\xAD", "\\u00ad"},                   // soft hyphen
                                                {"\xF3\xA0\x80\x80", "\\udb40\\udc00"},    // the first of the tags
                                                {"\xF3\xA0\x81\xBF", "\\udb40\\udc7f"}}};  // the last

}  // namespace waybill::testing

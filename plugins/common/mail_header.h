// Header fields of a mail that nothing handed in can break out of: RFC 5322 folding, RFC 2047 encoded words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/mail_address.h"

namespace waybill::plugins {

bool is_printable_ascii(std::string_view text);

// A field of free text: as it is, where that can be read in one way only; else as encoded words.
std::string text_field(std::string_view name, std::string_view text);

// A field of addresses. A name is quoted, or made of encoded words.
std::string address_field(std::string_view name, const std::vector<Mailbox>& mailboxes);

// A key of printable ASCII as one word that ids and searches take: letters and digits stay, the rest becomes "=2F". No two keys
// give the same.
std::string key_word(std::string_view key);

}  // namespace waybill::plugins

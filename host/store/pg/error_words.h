// What may be passed on of the database's own words: they go to logs, and neither payloads nor passwords do.
#pragma once

#include <string>
#include <string_view>

namespace waybill {

// The server's message about a failed statement. What it says of bad data and broken constraints beyond its first line repeats
// the row, and is left out; a guard of ours ("waybill: ...") gives its hint there, and keeps it.
std::string error_words(std::string_view message, std::string_view sqlstate);

// The message about a connection that could not be opened, with "..." for each name that it quotes from the password in `url`,
// as libpq does with an address that it cannot read.
std::string connection_error_words(std::string_view message, const std::string& url);

}  // namespace waybill

// How long an HTTP/1.1 message with Content-Length is: all that a receiver or a load generator needs to know of HTTP.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace waybill::bench {

// Of the first message in `bytes`, head and body together; none while its head is incomplete.
std::optional<std::size_t> message_size(std::string_view bytes);

}  // namespace waybill::bench

// One pass over the head's lines.
#include "bench/http_framing.h"

#include <strings.h>

#include <charconv>

namespace waybill::bench {
namespace {

constexpr std::string_view kName = "content-length:";

}  // namespace

std::optional<std::size_t> message_size(std::string_view bytes) {
  const auto head = bytes.find("\r\n\r\n");
  if (head == std::string_view::npos) return std::nullopt;
  std::size_t body = 0;
  for (auto line = bytes.find("\r\n"); line < head; line = bytes.find("\r\n", line + 2)) {
    auto text = bytes.substr(line + 2, head - line - 2);
    if (text.size() < kName.size() || strncasecmp(text.data(), kName.data(), kName.size()) != 0) continue;
    text.remove_prefix(kName.size());
    while (text.starts_with(' ')) text.remove_prefix(1);
    std::from_chars(text.data(), text.data() + text.size(), body);
    break;
  }
  return head + 4 + body;
}

}  // namespace waybill::bench

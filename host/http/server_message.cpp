// Writes status lines and headers.
#include "http/server_message.h"

#include <array>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/status.hpp>
#include <ctime>
#include <ostream>

namespace waybill::http {
namespace {

bool is_one_line(std::string_view text) { return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos; }

// The server's own: a route that set them as well could break the framing.
bool is_reserved(std::string_view name) {
  using boost::beast::iequals;
  return iequals(name, "Content-Length") || iequals(name, "Transfer-Encoding") || iequals(name, "Connection") ||
         iequals(name, "Content-Type") || iequals(name, "Date");
}

// The time as RFC 9110, 5.6.7 writes it. The same text for a second.
std::string_view http_date() {
  thread_local std::time_t written = 0;
  thread_local std::array<char, 32> text{};
  thread_local std::size_t size = 0;
  if (const std::time_t now = std::time(nullptr); now != written) {
    std::tm parts{};
    gmtime_r(&now, &parts);
    size = std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);  // the host stays in the C locale
    written = now;
  }
  return {text.data(), size};
}

void add(std::string& bytes, std::string_view name, std::string_view value) {
  bytes.append(name).append(": ").append(value).append("\r\n");
}

}  // namespace

ResponseHead response_head(const Response& response, bool to_head_request, bool keep_alive, bool http_1_0) {
  const int status = response.status >= 200 && response.status <= 599 ? response.status : 500;
  const auto reason = boost::beast::http::obsolete_reason(boost::beast::http::int_to_status(static_cast<unsigned>(status)));
  const bool bodiless = status == 204 || status == 304;

  std::string bytes;
  bytes.reserve(320);
  bytes.append("HTTP/1.1 ").append(std::to_string(status)).append(" ").append(reason.data(), reason.size()).append("\r\n");
  if (!bodiless) {
    if (!response.content_type.empty() && is_one_line(response.content_type)) add(bytes, "Content-Type", response.content_type);
    add(bytes, "Content-Length", std::to_string(response.body.size()));
  }
  add(bytes, "Date", http_date());
  bool has_caching = false;
  bool has_sniffing = false;
  for (const auto& [name, value] : response.headers) {
    if (name.empty() || !is_one_line(name) || !is_one_line(value) || is_reserved(name)) continue;
    has_caching |= boost::beast::iequals(name, "Cache-Control");
    has_sniffing |= boost::beast::iequals(name, "X-Content-Type-Options");
    add(bytes, name, value);
  }
  if (!has_caching) add(bytes, "Cache-Control", "no-store");
  if (!has_sniffing) add(bytes, "X-Content-Type-Options", "nosniff");
  if (!keep_alive)
    add(bytes, "Connection", "close");
  else if (http_1_0)
    add(bytes, "Connection", "keep-alive");
  bytes += "\r\n";
  return {std::move(bytes), !bodiless && !to_head_request};
}

}  // namespace waybill::http

// Writes status lines and headers.
#include "http/server_message.h"

#include <boost/beast/core/string.hpp>
#include <boost/beast/http/status.hpp>
#include <ostream>

namespace waybill::http {
namespace {

bool is_one_line(std::string_view text) { return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos; }

// The server's own: a route that set them as well could break the framing.
bool is_reserved(std::string_view name) {
  using boost::beast::iequals;
  return iequals(name, "Content-Length") || iequals(name, "Transfer-Encoding") || iequals(name, "Connection") ||
         iequals(name, "Content-Type");
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
  bytes.reserve(256);
  bytes.append("HTTP/1.1 ").append(std::to_string(status)).append(" ").append(reason.data(), reason.size()).append("\r\n");
  if (!bodiless) {
    if (!response.content_type.empty() && is_one_line(response.content_type)) add(bytes, "Content-Type", response.content_type);
    add(bytes, "Content-Length", std::to_string(response.body.size()));
  }
  for (const auto& [name, value] : response.headers)
    if (!name.empty() && is_one_line(name) && is_one_line(value) && !is_reserved(name)) add(bytes, name, value);
  if (!keep_alive)
    add(bytes, "Connection", "close");
  else if (http_1_0)
    add(bytes, "Connection", "keep-alive");
  bytes += "\r\n";
  return {std::move(bytes), !bodiless && !to_head_request};
}

}  // namespace waybill::http

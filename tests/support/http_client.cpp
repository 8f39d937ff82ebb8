// HTTP/1.1 as far as the host speaks it: Content-Length and chunked bodies, keep-alive.
#include "support/http_client.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace waybill::testing {
namespace {

// Takes a whole chunked body from the front of `bytes`; none while some of it is missing.
std::optional<std::string> take_chunked(std::string& bytes) {
  std::string body;
  std::size_t at = 0;
  for (;;) {
    const auto line_end = bytes.find("\r\n", at);
    if (line_end == std::string::npos) return std::nullopt;
    const auto size = std::stoul(bytes.substr(at, line_end - at), nullptr, 16);
    at = line_end + 2;
    if (bytes.size() < at + size + 2) return std::nullopt;
    body.append(bytes, at, size);
    at += size + 2;
    if (size == 0) break;
  }
  bytes.erase(0, at);
  return body;
}

std::string error_field(const HttpResponse& response, const char* name) {
  const auto value = nlohmann::json::parse(response.body, nullptr, false);
  if (!value.is_object() || !value.contains("error") || !value["error"].is_object()) return "";
  return value["error"].value(name, "");
}

}  // namespace

nlohmann::json HttpResponse::json() const {
  try {
    return nlohmann::json::parse(body);
  } catch (const std::exception&) {
    throw std::runtime_error("not JSON: " + std::to_string(status) + " " + body);
  }
}

std::string HttpResponse::error_code() const { return error_field(*this, "code"); }
std::string HttpResponse::error_message() const { return error_field(*this, "message"); }

HttpResponse HttpClient::request(std::string_view method, std::string_view target, std::string_view body, const Fields& fields) {
  auto response = try_request(method, target, body, fields);
  if (!response) throw std::runtime_error("no answer to " + std::string(method) + " " + std::string(target));
  return *std::move(response);
}

std::optional<HttpResponse> HttpClient::try_request(std::string_view method, std::string_view target, std::string_view body,
                                                    const Fields& fields) {
  std::string head = std::string(method) + " " + std::string(target) + " HTTP/1.1\r\nHost: 127.0.0.1\r\n";
  bool typed = false;
  for (const auto& [name, value] : fields) {
    typed |= name == "Content-Type";
    head += name + ": " + value + "\r\n";
  }
  if (!body.empty() && !typed) head += "Content-Type: application/json\r\n";
  if (!body.empty() || method == "POST") head += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  if (!token_.empty()) head += "Authorization: Bearer " + token_ + "\r\n";
  head += "\r\n";
  const bool fresh = !socket_.is_open();
  auto response = attempt(head, body, method != "HEAD");
  if (!response && !fresh) response = attempt(head, body, method != "HEAD");  // the kept connection may have been closed as idle
  return response;
}

std::optional<HttpResponse> HttpClient::attempt(const std::string& head, std::string_view body, bool expects_body) {
  try {
    if (!socket_.is_open()) {
      socket_ = Socket::connect(port_);
      unread_.clear();
    }
    socket_.send(head + std::string(body));  // a refusal may come before all is sent, so an answer is looked for in any case
    auto response = read_response(expects_body);
    if (!response || response->header("Connection").value_or("") == "close") socket_.close();
    return response;
  } catch (const std::exception&) {
    socket_.close();
    return std::nullopt;
  }
}

std::optional<HttpResponse> HttpClient::exchange(std::string_view bytes) {
  socket_ = Socket::connect(port_);
  unread_.clear();
  socket_.send(bytes);
  auto response = read_response(true);
  socket_.close();
  return response;
}

std::optional<HttpResponse> HttpClient::read_response(bool expects_body) {
  const auto more = [&] {
    auto bytes = socket_.receive(bound_);
    if (!bytes || bytes->empty()) return false;
    unread_ += *bytes;
    return true;
  };
  HttpResponse response;
  for (;;) {
    std::size_t end = 0;
    while ((end = unread_.find("\r\n\r\n")) == std::string::npos)
      if (!more()) return std::nullopt;
    const auto line_end = unread_.find("\r\n");
    response.status = std::stoi(unread_.substr(unread_.find(' ') + 1, 3));
    response.head = unread_.substr(line_end + 2, end - line_end);
    unread_.erase(0, end + 4);
    if (response.status >= 200) break;  // 100 Continue and its kin are only preludes
  }
  if (!expects_body) return response;
  if (response.header("Transfer-Encoding").value_or("") == "chunked") {
    for (;;) {
      if (auto body = take_chunked(unread_)) {
        response.body = *std::move(body);
        return response;
      }
      if (!more()) return std::nullopt;
    }
  }
  const auto length = std::stoul(response.header("Content-Length").value_or("0"));
  while (unread_.size() < length)
    if (!more()) return std::nullopt;
  response.body = unread_.substr(0, length);
  unread_.erase(0, length);
  return response;
}

}  // namespace waybill::testing

// The gateway's server: reads requests, keeps them, and meets each as scripted.
#include "support/fake_gateway.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace waybill::testing {
namespace {

constexpr std::string_view kAccepted = R"({"referenceId":"{reference}","status":"accepted","gatewayMessageId":"gw-{reference}"})";

std::string reference_of(const Received& request) {
  const auto body = nlohmann::json::parse(request.body, nullptr, false);
  if (body.is_object() && body.contains("referenceId") && body["referenceId"].is_string()) return body["referenceId"];
  for (const auto* name : {"webhook-id", "idempotency-key"})
    if (auto value = header_value(request.head, name)) return *value;
  return request.method == "GET" ? request.path.substr(0, request.path.find('?')) : "";
}

std::string filled_in(std::string body, const std::string& reference) {
  static constexpr std::string_view kHole = "{reference}";
  for (std::size_t at = 0; (at = body.find(kHole, at)) != std::string::npos; at += reference.size())
    body.replace(at, kHole.size(), reference);
  return body;
}

// True when the other side has closed or something broke.
bool gone(const Socket& socket) {
  pollfd look{socket.fd(), POLLRDHUP, 0};
  return ::poll(&look, 1, 0) > 0;
}

// Reads one request from the connection; false when there is none.
bool read_request(Socket& socket, std::string& unread, Received& request) {
  const auto more = [&] {
    auto bytes = socket.receive(std::chrono::hours(1));
    if (!bytes || bytes->empty()) return false;
    unread += *bytes;
    return true;
  };
  std::size_t end = 0;
  while ((end = unread.find("\r\n\r\n")) == std::string::npos)
    if (!more()) return false;
  const auto line = unread.substr(0, unread.find("\r\n"));
  request.method = line.substr(0, line.find(' '));
  request.path = line.substr(request.method.size() + 1, line.rfind(' ') - request.method.size() - 1);
  request.head = unread.substr(line.size() + 2, end - line.size());
  unread.erase(0, end + 4);
  if (header_value(request.head, "Expect")) socket.send("HTTP/1.1 100 Continue\r\n\r\n");
  const auto length = std::stoul(header_value(request.head, "Content-Length").value_or("0"));
  while (unread.size() < length)
    if (!more()) return false;
  request.body = unread.substr(0, length);
  unread.erase(0, length);
  request.at = std::chrono::steady_clock::now();
  request.reference = reference_of(request);
  return true;
}

}  // namespace

Reply Reply::accept() { return {.body = std::string(kAccepted)}; }
Reply Reply::reject(const std::string& reason) {
  return {.body = R"({"referenceId":"{reference}","status":"rejected","reason":")" + reason + "\"}"};
}
Reply Reply::not_json() { return {.body = "<html>all is well</html>"}; }
Reply Reply::no_status() { return {.body = R"({"referenceId":"{reference}"})"}; }
Reply Reply::unknown_status() { return {.body = R"({"referenceId":"{reference}","status":"perhaps"})"}; }
Reply Reply::rejection_without_reason() { return {.body = R"({"referenceId":"{reference}","status":"rejected"})"}; }
Reply Reply::http_error(int status) { return {.status = status, .body = R"({"referenceId":"{reference}","status":"accepted"})"}; }
Reply Reply::too_many_requests(int retry_after_seconds) {
  return {.status = 429, .headers = "Retry-After: " + std::to_string(retry_after_seconds) + "\r\n"};
}
Reply Reply::late(std::chrono::milliseconds delay) { return {.body = std::string(kAccepted), .delay = delay}; }
Reply Reply::accept_when_released() { return {.body = std::string(kAccepted), .held = true}; }
Reply Reply::hang() { return {.how = How::hang}; }
Reply Reply::reset() { return {.how = How::reset}; }
Reply Reply::die() { return {.how = How::die}; }

FakeGateway::FakeGateway(Door door) {
  bind();
  if (door == Door::open) open();
}

FakeGateway::~FakeGateway() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    for (auto& connection : connections_)
      if (connection.socket.is_open()) ::shutdown(connection.socket.fd(), SHUT_RDWR);
  }
  changed_.notify_all();
  if (acceptor_.joinable()) {
    acceptor_.request_stop();
    acceptor_.join();
  }
  connections_.clear();
}

void FakeGateway::bind() {  // a port that is bound and not listened on refuses connections, and nobody else can get it
  listener_ = Socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(listener_.fd(), reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      ::getsockname(listener_.fd(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("bind failed");
  port_ = ntohs(address.sin_port);
}

std::string FakeGateway::url() const { return "http://127.0.0.1:" + std::to_string(port_); }

void FakeGateway::open() {
  if (::listen(listener_.fd(), 1024) != 0) throw std::runtime_error("listen failed");
  acceptor_ = std::jthread([this](const std::stop_token& stop) { accept_connections(stop); });
}

void FakeGateway::accept_connections(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    pollfd waiting{listener_.fd(), POLLIN, 0};
    if (::poll(&waiting, 1, 20) <= 0) continue;
    const int fd = ::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const std::lock_guard lock(mutex_);
    connections_.remove_if([](const Connection& c) { return c.over; });  // their threads have said their last word
    if (ending_) {
      Socket refused(fd);
      continue;
    }
    auto& connection = connections_.emplace_back();
    connection.socket = Socket(fd);
    connection.thread = std::jthread([this, &connection] { serve(connection); });
  }
}

void FakeGateway::serve(Connection& connection) {
  std::string unread;
  for (bool go_on = true; go_on;) {
    Received request;
    if (!read_request(connection.socket, unread, request)) break;
    Reply reply;
    {
      const std::lock_guard lock(mutex_);
      request.interrupted = interruption_ && interruption_->first == request.path;
      received_.push_back(request);
      ++counts_[request.reference];
      reply = request.interrupted ? interruption_->second : next_reply(request);
    }
    changed_.notify_all();
    go_on = answer(connection, request, reply);
  }
  const std::lock_guard lock(mutex_);
  connection.socket.close();
  connection.over = true;
}

Reply FakeGateway::next_reply(const Received& request) {
  auto found = scripts_.find(request.reference);
  if (found == scripts_.end()) found = scripts_.find(request.method + " " + request.path);
  if (found == scripts_.end()) return decide_ ? decide_(request) : default_;
  auto reply = found->second.front();
  if (found->second.size() > 1) found->second.pop_front();
  return reply;
}

bool FakeGateway::answer(Connection& connection, const Received& request, const Reply& reply) {
  if (reply.how == Reply::How::die) return false;
  if (reply.how == Reply::How::reset) {
    const std::lock_guard lock(mutex_);
    connection.socket.reset();
    return false;
  }
  const bool waits_for_release = reply.held || reply.how == Reply::How::hang;
  if (waits_for_release || reply.delay.count() > 0) {
    const auto end = std::chrono::steady_clock::now() + reply.delay;
    const bool until_gone = reply.how == Reply::How::hang;
    std::unique_lock lock(mutex_);
    const auto done = [&] {
      if (ending_ || (until_gone && gone(connection.socket))) return true;
      return waits_for_release ? released_ : std::chrono::steady_clock::now() >= end;
    };
    while (!done()) changed_.wait_for(lock, std::chrono::milliseconds(20));
  }
  if (reply.how == Reply::How::hang) return false;
  const auto body = filled_in(reply.body, request.reference);
  return connection.socket.send("HTTP/1.1 " + std::to_string(reply.status) + " Scripted\r\nContent-Type: " + reply.type + "\r\n" +
                                reply.headers + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
}

void FakeGateway::script(const std::string& reference, std::vector<Reply> replies) {
  const std::lock_guard lock(mutex_);
  scripts_[reference] = {replies.begin(), replies.end()};
}

void FakeGateway::by_default(Reply reply) {
  const std::lock_guard lock(mutex_);
  default_ = std::move(reply);
}

void FakeGateway::answer_by(std::function<Reply(const Received&)> decide) {
  const std::lock_guard lock(mutex_);
  decide_ = std::move(decide);
}

void FakeGateway::interrupt(const std::string& path, Reply reply) {
  const std::lock_guard lock(mutex_);
  interruption_.emplace(path, std::move(reply));
}

void FakeGateway::resume() {
  const std::lock_guard lock(mutex_);
  interruption_.reset();
}

void FakeGateway::release() {
  {
    const std::lock_guard lock(mutex_);
    released_ = true;
  }
  changed_.notify_all();
}

std::vector<Received> FakeGateway::received() const {
  const std::lock_guard lock(mutex_);
  return received_;
}

std::vector<Received> FakeGateway::received(const std::string& reference) const {
  const std::lock_guard lock(mutex_);
  std::vector<Received> some;
  for (const auto& request : received_)
    if (request.reference == reference) some.push_back(request);
  return some;
}

std::size_t FakeGateway::count() const {
  const std::lock_guard lock(mutex_);
  return received_.size();
}

std::size_t FakeGateway::count(const std::string& reference) const {
  const std::lock_guard lock(mutex_);
  const auto found = counts_.find(reference);
  return found == counts_.end() ? 0 : found->second;
}

std::map<std::string, std::size_t> FakeGateway::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

bool FakeGateway::wait_for(const std::function<bool()>& predicate, std::chrono::milliseconds bound) const {
  return eventually(predicate, bound);
}

bool FakeGateway::wait_for_count(const std::string& reference, std::size_t least) const {
  return wait_for([&] { return count(reference) >= least; });
}

}  // namespace waybill::testing

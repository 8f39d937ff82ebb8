// The bytes of a connection, plain or under TLS: each wait has its deadline.
#include <array>
#include <boost/asio/write.hpp>

#include "http/server_connection.h"
#include "http/server_message.h"

namespace waybill::http {
namespace asio = boost::asio;
namespace {

constexpr std::size_t kDrainBytes = 4 << 20;
constexpr Millis kDrainTime{2'000};
// What OpenSSL may hold of a connection in its handshake. A ClientHello of 128 KiB has its room once its first bytes are there,
// be it the first or, after a HelloRetryRequest, the second: what a client announces is no bound.
constexpr std::size_t kHandshakeBytes = 160 << 10;
constexpr std::size_t kWritePiece = 64 << 10;  // a client takes this much within the time of a request, or is let go

}  // namespace

asio::awaitable<ServerConnection::ErrorCode> ServerConnection::wait_for(TlsSession::Want want) {
  const auto [error] =
      co_await socket_.async_wait(want == TlsSession::Want::read ? Socket::wait_read : Socket::wait_write, kWait);
  co_return error;
}

void ServerConnection::note_failed_handshake(std::string_view why) {
  serving_.metrics.tls_handshake_failed();
  serving_.log.debug("http.tls_handshake_failed", {{"peer", neighbour_->address()}, {"error", why}});
}

// True if there is memory for one more handshake. Addresses of proxies have no share of their own: whoever they speak for is not
// known yet.
bool ServerConnection::hold_handshake() {
  switch (share_.raise(place_ ? neighbour_ : std::make_shared<Peer>(address_), kHandshakeBytes)) {
    case ByteShare::Refusal::none:
      return true;
    case ByteShare::Refusal::peer:
      note_failed_handshake("this address has as many bytes under way as it may");
      return false;
    case ByteShare::Refusal::all:
      note_failed_handshake("the server has as many bytes of requests and handshakes under way as it may");
      return false;
  }
  return false;
}

// A connection that does not get through its handshake in the time of a request is closed, without a word: none would be read.
asio::awaitable<bool> ServerConnection::open_tls() {
  if (!hold_handshake()) co_return false;
  tls_.emplace(serving_.tls->current(), socket_.native_handle());
  allow(serving_.timeouts.request_read);
  for (;;) {
    const auto progress = tls_->handshake();
    if (progress.over) {
      note_failed_handshake(tls_->error());
      co_return false;
    }
    if (progress.want == TlsSession::Want::nothing) {
      share_.release();
      co_return true;
    }
    if (co_await wait_for(progress.want)) {
      if (expired_) serving_.metrics.tls_handshake_failed();
      co_return false;
    }
  }
}

asio::awaitable<ServerConnection::ErrorCode> ServerConnection::read_more(std::size_t size) {
  size = std::min(size, buffer_.max_size() - buffer_.size());
  if (!tls_) {
    const auto [error, read] = co_await socket_.async_read_some(buffer_.prepare(size), kWait);
    buffer_.commit(read);
    co_return error;
  }
  for (;;) {
    const auto room = buffer_.prepare(size);
    const auto progress = tls_->read(room.data(), room.size());
    if (progress.over) co_return asio::error::eof;
    if (progress.want == TlsSession::Want::nothing) {
      buffer_.commit(progress.bytes);
      co_return ErrorCode{};
    }
    if (const auto error = co_await wait_for(progress.want)) co_return error;
  }
}

asio::awaitable<bool> ServerConnection::send(const Response& response, bool to_head_request, bool keep_alive, bool http_1_0) {
  const auto head = response_head(response, to_head_request, keep_alive, http_1_0);
  co_return co_await write(head.bytes, head.with_body ? std::string_view(response.body) : std::string_view{});
}

asio::awaitable<bool> ServerConnection::write(std::string_view head, std::string_view body) {
  if (tls_) {
    if (!co_await write_tls(head)) co_return false;
    co_return co_await write_tls(body);
  }
  ErrorCode error;
  const std::array<asio::const_buffer, 2> whole{asio::buffer(head), asio::buffer(body)};
  std::size_t done = socket_.write_some(whole, error);  // most answers fit into the socket's buffer at once
  if (error && error != asio::error::would_block) co_return false;
  if (done == head.size() + body.size()) co_return true;
  std::array<std::string_view, 2> parts{head, body};
  for (auto& part : parts) {
    const auto skipped = std::min(done, part.size());
    part.remove_prefix(skipped);
    done -= skipped;
    while (!part.empty()) {
      const auto piece = part.substr(0, kWritePiece);
      allow(serving_.timeouts.request_read);
      const auto [failed, written] = co_await asio::async_write(socket_, asio::buffer(piece), kWait);
      if (failed) co_return false;
      part.remove_prefix(written);
    }
  }
  co_return true;
}

asio::awaitable<bool> ServerConnection::write_tls(std::string_view bytes) {
  for (std::size_t until_deadline = 0; !bytes.empty();) {
    if (until_deadline == 0) {
      allow(serving_.timeouts.request_read);
      until_deadline = kWritePiece;
    }
    const auto piece = bytes.substr(0, until_deadline);
    const auto progress = tls_->write(piece);
    if (progress.over) co_return false;
    if (progress.want == TlsSession::Want::nothing) {
      bytes.remove_prefix(progress.bytes);
      until_deadline -= progress.bytes;
    } else if (co_await wait_for(progress.want)) {
      co_return false;
    }
  }
  co_return true;
}

// Says that no more will come, and takes in what is still under way: closing over unread bytes would reset the connection
// before the client has read its answer.
asio::awaitable<void> ServerConnection::linger() {
  ErrorCode ignored;
  if (tls_) tls_->say_goodbye();
  socket_.shutdown(Socket::shutdown_send, ignored);
  allow(std::min(kDrainTime, serving_.timeouts.request_read));
  std::array<char, 4096> waste;
  for (std::size_t drained = 0; drained < kDrainBytes;) {
    const auto [error, size] = co_await socket_.async_read_some(asio::buffer(waste), kWait);
    if (error) co_return;
    drained += size;
  }
}

// Bytes of a next request are there, or those of this one that was not read to its end.
bool ServerConnection::has_more() const {
  ErrorCode ignored;
  return buffer_.size() > 0 || socket_.available(ignored) > 0;
}

void ServerConnection::close() {
  response_queue_->forget_socket();
  ErrorCode ignored;
  if (tls_ && socket_.is_open()) tls_->say_goodbye();
  socket_.close(ignored);
}

}  // namespace waybill::http

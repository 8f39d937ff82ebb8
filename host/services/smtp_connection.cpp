// A connection to a relay: opened by curl, then held by conversations.
#include "services/smtp_connection.h"

#include <curl/curl.h>
#include <sys/epoll.h>

#include <array>
#include <utility>

#include "services/smtp_client.h"

namespace waybill {
namespace {

constexpr std::chrono::seconds kGoodbye{2};
constexpr long kNoLimitOfCurls = 86'400;  // seconds, a day: deadlines are the client's
constexpr int kPiecesPerTurn = 16;
constexpr std::int32_t kLoggedIn = 235;
constexpr const char* kNoSmtp = "what the relay sent is not SMTP";
constexpr std::string_view kQuit = "QUIT\r\n";

}  // namespace

struct SmtpConnection::Callbacks {
  // What is said before the conversation, both ways. AUTH and what follows it are looked at and not kept.
  static int debug(CURL*, curl_infotype type, char* data, std::size_t size, void* self) {
    auto& connection = *static_cast<SmtpConnection*>(self);
    try {
      if (type == CURLINFO_HEADER_OUT) connection.command_left({data, size});
      if (type == CURLINFO_HEADER_IN) connection.line_came({data, size});
    } catch (...) {  // for want of memory: the reply counts as none
    }
    return 0;
  }
};

SmtpConnection::SmtpConnection(EventLoop& loop, const SmtpClientSettings& settings, Owner& owner, TlsSessions& sessions)
    : loop_(loop),
      settings_(settings),
      owner_(owner),
      easy_(*settings.egress, this, "smtp,smtps"),
      multi_(
          loop, 1, [this](void*, int code) { connected(code); }, sessions) {
  const auto set = [this](CURLoption option, auto value) { curl_easy_setopt(easy_.get(), option, value); };
  set(CURLOPT_CONNECT_ONLY, 1L);
  set(CURLOPT_VERBOSE, 1L);
  set(CURLOPT_DEBUGFUNCTION, &Callbacks::debug);
  set(CURLOPT_DEBUGDATA, this);
  set(CURLOPT_CONNECTTIMEOUT, kNoLimitOfCurls);
  set(CURLOPT_SERVER_RESPONSE_TIMEOUT, kNoLimitOfCurls);
  set(CURLOPT_LOGIN_OPTIONS, "AUTH=PLAIN;AUTH=LOGIN");
}

SmtpConnection::~SmtpConnection() {
  std::size_t sent = 0;
  if (state_ == State::idle) curl_easy_send(easy_.get(), kQuit.data(), kQuit.size(), &sent);
  close();
}

bool SmtpConnection::open(const SmtpLogin& login) {
  const auto set = [this](CURLoption option, auto value) { curl_easy_setopt(easy_.get(), option, value); };
  set(CURLOPT_URL, login.relay.c_str());
  const auto authority = std::string_view(login.relay).substr(login.relay.find("://") + 3);
  easy_.leave().reset(login.trust, authority);
  if (login.trust == Trust::tenant) {
    easy_.leave().allow_only(login.addresses);
    easy_.pin_addresses(authority);
  }
  const auto use = login.tls == Tls::required ? CURLUSESSL_ALL : login.tls == Tls::never ? CURLUSESSL_NONE : CURLUSESSL_TRY;
  set(CURLOPT_USE_SSL, static_cast<long>(use));
  easy_.secure(login.transport);
  easy_.check_certificates(login.tls == Tls::required || login.relay.starts_with("smtps"));
  wants_login_ = !login.user.empty();
  if (wants_login_) {
    set(CURLOPT_USERNAME, login.user.c_str());
    set(CURLOPT_PASSWORD, login.password->expose().c_str());
  }
  added_ = multi_.add(easy_.get());
  return added_;
}

void SmtpConnection::command_left(std::string_view line) {
  last_ = {};
  greeting_ = line.starts_with("EHLO") || line.starts_with("HELO");
  if (greeting_) offers_ = {};
  if (line.starts_with("AUTH")) stage_ = SmtpStage::auth;
}

void SmtpConnection::line_came(std::string_view line) {
  reader_.feed(line);
  if (!line.ends_with('\n')) reader_.feed("\n");
  while (auto reply = reader_.next()) {
    last_ = std::move(*reply);
    logged_in_ = logged_in_ || (stage_ == SmtpStage::auth && last_.code == kLoggedIn);
  }
  const auto text = line.substr(0, line.find_last_not_of("\r\n") + 1);
  if (greeting_ && text.size() > 4 && text.starts_with("250")) offers_.take_line(text.substr(4));
  // curl would wait for more.
  if (reader_.broken()) arm({}, [this] { abandon(); });
}

// What came is not SMTP.
void SmtpConnection::abandon() {
  if (state_ != State::connecting) return;
  auto why = why_not(CURLE_OK);
  close();
  owner_.not_opened(*this, std::move(why));
}

// The handle stays added: curl closes the connection when it is removed.
void SmtpConnection::connected(int code) {
  const bool good = code == CURLE_OK && logged_in_ == wants_login_ && !reader_.broken();
  curl_socket_t fd = CURL_SOCKET_BAD;
  if (good) curl_easy_getinfo(easy_.get(), CURLINFO_ACTIVESOCKET, &fd);
  if (fd == CURL_SOCKET_BAD) {
    auto why = why_not(code);
    close();
    return owner_.not_opened(*this, std::move(why));
  }
  fd_ = fd;
  rest();
  owner_.opened(*this);
}

SmtpReply SmtpConnection::why_not(int code) const {
  SmtpReply reply;
  reply.refusal = easy_.leave().refusal();
  reply.error = reply.refusal ? NetError::refused : error_of(code, NetError::tls, NetError::broken);
  reply.error_text = easy_.failure(code);
  const bool by_relay = code != CURLE_OK && last_.code >= 400;  // the last that was said is a refusal
  if (reader_.broken()) {
    reply.error_text = kNoSmtp;
  } else if (by_relay && (reply.error == NetError::broken || code == CURLE_USE_SSL_FAILED)) {
    reply = {.error = NetError::ok, .reach = Reach::answered, .stage = stage_, .answer = last_};
  } else if (code == CURLE_LOGIN_DENIED || code == CURLE_OK) {
    reply.stage = SmtpStage::auth;
    reply.error_text = "the relay offers no login by PLAIN or LOGIN";
  }
  return reply;
}

void SmtpConnection::rest() {
  state_ = State::idle;
  arm(settings_.idle, [this] { leave(); });
  watch(EPOLLIN);
}

bool SmtpConnection::is_usable() {
  if (state_ != State::idle) return false;
  char byte;
  std::size_t got = 0;
  return curl_easy_recv(easy_.get(), &byte, 1, &got) == CURLE_AGAIN;
}

void SmtpConnection::talk(SmtpConversation& conversation) {
  state_ = State::talking;
  conversation_ = &conversation;
  ++messages_;
  arm({}, [this] { act(); });
}

void SmtpConnection::leave() {
  std::size_t sent = 0;
  state_ = State::leaving;
  curl_easy_send(easy_.get(), kQuit.data(), kQuit.size(), &sent);  // refused: the connection is gone, and that is read next
  arm(kGoodbye, [this] { act(); });
  watch(EPOLLIN);
}

void SmtpConnection::act() {
  if (state_ == State::talking) return converse();
  // Idle or leaving: the relay has closed, or says something that ends it as well.
  if (state_ == State::idle && is_usable()) return;
  close();
  owner_.gone(*this);
}

void SmtpConnection::converse() {
  bool more = true;
  for (int i = 0; more && i < kPiecesPerTurn; ++i) {
    const bool wrote = write_some();
    more = read_some() || wrote;
  }
  if (!conversation_->over()) {
    if (more) return arm({}, [this] { act(); });  // the other sockets get their turn
    return watch(EPOLLIN | (conversation_->output().empty() ? 0u : std::uint32_t{EPOLLOUT}));
  }
  const bool clean = conversation_->connection_is_clean() && reader_.empty();
  const bool in_order = conversation_->result().error == NetError::ok;
  conversation_ = nullptr;
  if (clean)
    rest();
  else if (in_order)
    leave();
  else
    close();
  owner_.finished(*this);
}

bool SmtpConnection::write_some() {
  const auto piece = conversation_->output();
  if (piece.empty()) return false;
  if (!conversation_->may_go_on(messages_ == 1)) {
    conversation_->lost(NetError::cancelled, "its call was given up");
    return false;
  }
  std::size_t sent = 0;
  const auto code = curl_easy_send(easy_.get(), piece.data(), piece.size(), &sent);
  if (code == CURLE_AGAIN) return false;
  if (code == CURLE_OK) {
    conversation_->written(sent);
    return true;
  }
  while (read_some()) {  // its last words may explain it
  }
  conversation_->lost(NetError::broken, "the connection broke");
  return false;
}

bool SmtpConnection::read_some() {
  if (conversation_->over()) return false;
  std::array<char, 4096> buffer;
  std::size_t got = 0;
  const auto code = curl_easy_recv(easy_.get(), buffer.data(), buffer.size(), &got);
  if (code == CURLE_AGAIN) return false;
  if (code != CURLE_OK || got == 0) {
    conversation_->lost(NetError::broken, "the relay closed the connection");
    return false;
  }
  reader_.feed({buffer.data(), got});
  while (!conversation_->over()) {
    auto reply = reader_.next();
    if (!reply) break;
    conversation_->take(std::move(*reply));
  }
  if (reader_.broken()) conversation_->lost(NetError::broken, kNoSmtp);
  return true;
}

void SmtpConnection::arm(EventLoop::Duration delay, EventLoop::Task task) {
  loop_.cancel(timer_);
  timer_ = loop_.after(delay, [this, task = std::move(task)] {
    timer_ = 0;
    task();
  });
}

void SmtpConnection::watch(std::uint32_t events) {
  if (events == watched_) return;
  watched_ = events;
  loop_.watch(fd_, events, [this](std::uint32_t) { act(); });
}

void SmtpConnection::close() {
  state_ = State::over;
  loop_.cancel(std::exchange(timer_, 0));
  if (std::exchange(watched_, 0) != 0) loop_.unwatch(fd_);
  fd_ = -1;
  if (std::exchange(added_, false)) multi_.remove(easy_.get());
}

}  // namespace waybill

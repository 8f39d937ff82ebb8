// An SMTP relay that does everything right, except for what a test tells it to say instead.
#pragma once

#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <signal.h>

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "unit/services/scripted_server.h"
#include "unit/services/tls_identity.h"

namespace waybill::testing {

// One connection as lines, in clear or under TLS.
class SmtpPeer {
 public:
  explicit SmtpPeer(Connection& connection) : fd_(connection.fd()), tls_(nullptr, &SSL_free) {}
  bool start_tls(const TlsIdentity& identity) {
    ::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes without MSG_NOSIGNAL
    tls_.reset(SSL_new(identity.context()));
    return SSL_set_fd(tls_.get(), fd_) == 1 && SSL_accept(tls_.get()) == 1;
  }
  bool is_tls() const { return tls_ != nullptr; }
  // One line without its CRLF; false when the other side has closed.
  bool line(std::string& out) {
    std::size_t end;
    while ((end = received_.find("\r\n")) == std::string::npos) {
      char buffer[16384];
      const auto got = tls_ ? SSL_read(tls_.get(), buffer, sizeof buffer) : ::recv(fd_, buffer, sizeof buffer, 0);
      if (got <= 0) return false;
      received_.append(buffer, static_cast<std::size_t>(got));
    }
    out = received_.substr(0, end);
    received_.erase(0, end + 2);
    return true;
  }
  bool say(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent = tls_ ? SSL_write(tls_.get(), bytes.data(), static_cast<int>(bytes.size()))
                             : ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  void hang() {
    for (std::string ignored; line(ignored);) {
    }
  }

 private:
  int fd_;
  std::unique_ptr<SSL, decltype(&SSL_free)> tls_;
  std::string received_;
};

struct RelayScript {
  static constexpr const char* kSilence = "silence";  // nothing more is said
  static constexpr const char* kDrop = "drop";        // the connection closes

  // By the beginning of a command, "greeting", or "." for the message's end: what to say instead, or one of the above.
  std::map<std::string, std::string> says;
  std::vector<std::string> offers = {"SIZE 100000000", "8BITMIME"};
  std::vector<std::string> offers_in_clear;  // more of them, before TLS
  const TlsIdentity* tls = nullptr;          // offers STARTTLS
  bool tls_at_once = false;                  // smtps
  std::size_t piece = 0;                     // replies come in pieces of so many bytes; 0: whole
};

class ScriptedRelay {
 public:
  explicit ScriptedRelay(RelayScript script = {})
      : script_(std::move(script)), server_([this](Connection& connection) { serve(connection); }) {}

  std::string url(std::string_view scheme = "smtp") const {
    return std::string(scheme) + "://127.0.0.1:" + std::to_string(server_.port());
  }
  int connections() const { return server_.connections(); }
  // Every command line, in order, over all connections; what came after AUTH is decoded.
  std::vector<std::string> commands() const {
    const std::lock_guard lock(mutex_);
    return commands_;
  }
  // As they came, dots and all, without the lone dot.
  std::vector<std::string> messages() const {
    const std::lock_guard lock(mutex_);
    return messages_;
  }
  bool heard(std::string_view beginning) const { return count(beginning) != 0; }
  int count(std::string_view beginning) const {
    const std::lock_guard lock(mutex_);
    return counted(beginning);
  }
  // Until so many commands with this beginning have come.
  bool wait_for(std::string_view beginning, int times = 1) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(30), [&] { return counted(beginning) >= times; });
  }

 private:
  int counted(std::string_view beginning) const {
    int count = 0;
    for (const auto& command : commands_) count += command.starts_with(beginning);
    return count;
  }

  void note(std::string command) {
    const std::lock_guard lock(mutex_);
    commands_.push_back(std::move(command));
    changed_.notify_all();
  }

  // False when the connection is to be closed.
  bool reply(SmtpPeer& peer, const std::string& to, const std::string& usually) {
    std::string text = usually;
    for (const auto& [beginning, instead] : script_.says)
      if (to.starts_with(beginning)) text = instead;
    if (text == RelayScript::kDrop) return false;
    if (text == RelayScript::kSilence) {
      peer.hang();
      return false;
    }
    text += "\r\n";
    const auto piece = script_.piece == 0 ? text.size() : script_.piece;
    for (std::size_t at = 0; at < text.size(); at += piece)
      if (!peer.say(std::string_view(text).substr(at, piece))) return false;
    return true;
  }

  static std::string decoded(const std::string& text) {
    std::string out(text.size(), '\0');
    const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                     reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
    out.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    while (!out.empty() && out.back() == '\0') out.pop_back();
    for (auto& c : out)
      if (c == '\0') c = '|';
    return out;
  }

  bool log_in(SmtpPeer& peer, const std::string& command) {
    std::string line;
    std::string seen = command;
    for (int asked = command == "AUTH LOGIN" ? 2 : 1; asked > 0; --asked) {
      if (!peer.say("334 \r\n") || !peer.line(line)) return false;
      seen += " " + decoded(line);
    }
    note(seen);
    return reply(peer, command, "235 2.7.0 welcome");
  }

  bool receive_message(SmtpPeer& peer) {
    std::string message;
    for (std::string line; peer.line(line);) {
      if (line == ".") {
        {
          const std::lock_guard lock(mutex_);
          messages_.push_back(std::move(message));
        }
        note(".");
        return reply(peer, ".", "250 2.0.0 queued");
      }
      message += line + "\r\n";
    }
    return false;
  }

  std::string hello(bool tls) const {
    std::string text = "250-relay.example";
    for (const auto& offer : script_.offers) text += "\r\n250-" + offer;
    if (!tls)
      for (const auto& offer : script_.offers_in_clear) text += "\r\n250-" + offer;
    if (script_.tls != nullptr && !tls) text += "\r\n250-STARTTLS";
    return text + "\r\n250 HELP";
  }

  void serve(Connection& connection) {
    SmtpPeer peer(connection);
    if (script_.tls_at_once && !peer.start_tls(*script_.tls)) return;
    if (!reply(peer, "greeting", "220 relay.example ESMTP")) return;
    for (std::string command; peer.line(command);) {
      bool go_on = true;
      if (command.starts_with("AUTH")) {
        go_on = log_in(peer, command);
      } else {
        note(command);
        if (command.starts_with("EHLO")) {
          go_on = reply(peer, command, hello(peer.is_tls()));
        } else if (command == "STARTTLS") {
          go_on = reply(peer, command, "220 go ahead") && (script_.says.contains(command) || peer.start_tls(*script_.tls));
        } else if (command == "DATA") {
          go_on = reply(peer, command, "354 go ahead") && (script_.says.contains(command) || receive_message(peer));
        } else if (command == "QUIT") {
          go_on = reply(peer, command, "221 bye") && false;
        } else {
          go_on = reply(peer, command, "250 2.1.0 fine");
        }
      }
      if (!go_on) return;
    }
  }

  const RelayScript script_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> commands_;
  std::vector<std::string> messages_;
  ScriptedServer server_;  // last: its threads end before what they use
};

}  // namespace waybill::testing

// An HTTPS server that answers each request with whom it met: "<connection> <common name of the client's certificate>".
#pragma once

#include <signal.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "unit/services/scripted_server.h"
#include "unit/services/test_authority.h"

namespace waybill::testing {

struct TlsTerms {
  int least = TLS1_2_VERSION;
  int most = TLS1_3_VERSION;
  X509* clients_of = nullptr;  // demands a certificate of this authority
  bool one_request = false;    // closes after each answer
};

class TlsServer {
 public:
  explicit TlsServer(const TestCertificate& shown, TlsTerms terms = {})
      : one_request_(terms.one_request),
        context_(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free),
        server_([this](Connection& connection) { serve(connection); }) {
    ::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes without MSG_NOSIGNAL
    auto* const context = context_.get();
    SSL_CTX_set_security_level(context, 0);  // else it does not even offer what is older than 1.2
    SSL_CTX_set_cipher_list(context, "ALL:@SECLEVEL=0");
    SSL_CTX_set_min_proto_version(context, terms.least);
    SSL_CTX_set_max_proto_version(context, terms.most);
    SSL_CTX_use_certificate(context, shown.certificate.get());
    SSL_CTX_use_PrivateKey(context, shown.key.get());
    if (terms.clients_of == nullptr) return;
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), terms.clients_of);
    static constexpr unsigned char kOwn[] = "waybill test";  // a session is resumed within it, which checks nobody anew
    SSL_CTX_set_session_id_context(context, kOwn, sizeof kOwn);
  }

  std::string url(const std::string& host = "127.0.0.1") const {
    return "https://" + host + ":" + std::to_string(server_.port()) + "/";
  }
  std::uint16_t port() const { return server_.port(); }
  int connections() const { return server_.connections(); }
  int requests() const { return requests_; }      // that were read
  int handshakes() const { return handshakes_; }  // that were completed
  int resumed() const { return resumed_; }        // of these: with a session of before
  std::set<std::string> clients() const {         // by the common names of their certificates
    const std::lock_guard lock(mutex_);
    return clients_;
  }

 private:
  void serve(Connection& connection) {
    const std::unique_ptr<SSL, void (*)(SSL*)> tls(SSL_new(context_.get()), &SSL_free);
    SSL_set_fd(tls.get(), connection.fd());
    if (SSL_accept(tls.get()) != 1) {  // what it says of that must not be lost with a reset
      ::shutdown(connection.fd(), SHUT_WR);
      connection.hang();
      return;
    }
    ++handshakes_;
    resumed_ += SSL_session_reused(tls.get());
    char who[128] = "-";
    if (auto* const shown = SSL_get0_peer_certificate(tls.get()))
      X509_NAME_get_text_by_NID(X509_get_subject_name(shown), NID_commonName, who, sizeof who);
    {
      const std::lock_guard lock(mutex_);
      clients_.insert(who);
    }
    const auto said = std::to_string(connection.number()) + " " + who;
    std::string received;
    char buffer[4096];
    for (int got; (got = SSL_read(tls.get(), buffer, sizeof buffer)) > 0;) {
      received.append(buffer, static_cast<std::size_t>(got));
      for (std::size_t end; (end = received.find("\r\n\r\n")) != std::string::npos; received.erase(0, end + 4)) {
        ++requests_;
        const auto answer = "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(said.size()) +
                            (one_request_ ? "\r\nConnection: close" : "") + "\r\n\r\n" + said;
        SSL_write(tls.get(), answer.data(), static_cast<int>(answer.size()));
        if (one_request_) {
          SSL_shutdown(tls.get());  // a session without a goodbye is not resumed
          return;
        }
      }
    }
  }

  const bool one_request_;
  std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context_;
  std::atomic<int> requests_{0}, handshakes_{0}, resumed_{0};
  mutable std::mutex mutex_;
  std::set<std::string> clients_;  // guarded by mutex_
  ScriptedServer server_;          // last: its threads end before what they use
};

}  // namespace waybill::testing

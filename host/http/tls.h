// TLS of the listening side: the operator's certificate and key, and one session for each connection. OpenSSL stays in tls.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "config/config.h"
#include "domain/idempotency.h"

typedef struct ssl_ctx_st SSL_CTX;
typedef struct ssl_st SSL;

namespace waybill::http {

// Certificate, key and the authorities of clients, as they were when the files were read.
class TlsContext {
 public:
  // Error::invalid names the key of the configuration, the file and what is wrong with it: unreadable, no certificate, no key, a
  // key with a passphrase, a key of another certificate, a certificate that is not valid now.
  static Result<std::shared_ptr<const TlsContext>> load(const ListenTls& files);
  explicit TlsContext(SSL_CTX* context) : context_(context) {}
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;
  ~TlsContext();
  SSL_CTX* get() const { return context_; }
  std::time_t expires() const;  // its certificate does

 private:
  SSL_CTX* context_;
};

// The context for connections that begin now. Safe from any thread.
class TlsFiles {
 public:
  static Result<std::unique_ptr<TlsFiles>> open(const ListenTls& files);

  std::shared_ptr<const TlsContext> current() const;
  // Reads the files again if one of them has changed since. True if what is served changed; an error leaves it as it was, and is
  // returned once for each change.
  Result<bool> renew();

 private:
  TlsFiles(ListenTls files, std::string state, std::shared_ptr<const TlsContext> context)
      : files_(std::move(files)), state_(std::move(state)), context_(std::move(context)) {}
  const ListenTls files_;
  mutable std::mutex mutex_;
  std::string state_;  // of the files: names, times, sizes
  std::shared_ptr<const TlsContext> context_;
};

// What stands for a client's certificate where others have a token's hash: SHA-256 over a zero byte and the certificate (DER). No
// text of a header has this hash, since none holds a zero byte. Of the first certificate of a file in PEM; Error::invalid if
// there is none.
Result<Sha256> certificate_hash(const std::filesystem::path& file);

// The server's side of TLS on one non-blocking socket. Belongs to one thread.
class TlsSession {
 public:
  enum class Want : std::uint8_t { nothing, read, write };
  struct Progress {
    Want want = Want::nothing;  // wait for this of the socket and call again, with the same arguments
    std::size_t bytes = 0;
    bool over = false;  // closed, or failed: see error()
  };

  TlsSession(std::shared_ptr<const TlsContext> context, int socket);
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;
  ~TlsSession();

  Progress handshake();
  Progress read(void* into, std::size_t size);
  Progress write(std::string_view bytes);
  void say_goodbye();                           // nothing more will be written
  std::string error() const { return error_; }  // why it is over; "" if the other side closed
  // The bytes of the hash above, of the client's certificate, which was verified; "" without one.
  std::string client_certificate() const;
  // The client showed a certificate that has expired since, or that was verified with files other than those in use now.
  bool client_is_outdated(const TlsFiles& files) const;

 private:
  Progress progress(int result);
  void note_client();
  std::shared_ptr<const TlsContext> context_;
  SSL* ssl_;
  std::optional<std::time_t> client_until_;  // the end of its certificate; none: it showed none
  bool is_over_ = false;
  std::string error_;
};

}  // namespace waybill::http

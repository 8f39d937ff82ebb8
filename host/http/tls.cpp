// Contexts are made as Mozilla's intermediate set-up asks: TLS 1.2 and later, ciphers with forward secrecy, no renegotiation.
#include "http/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

namespace waybill::http {
namespace {

constexpr const char* kCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20";
constexpr long kMaxClientChain = 16 << 10;  // bytes of all certificates that a client shows
constexpr unsigned char kSessionContext[] = "waybill";

std::string last_reason() {
  const auto code = ERR_peek_last_error();
  ERR_clear_error();
  const char* reason = ERR_reason_error_string(code);
  return reason ? reason : "it cannot be read";
}

tl::unexpected<Error> bad(std::string_view key, const std::filesystem::path& file, const std::string& why) {
  ERR_clear_error();
  return fail(Error::Kind::invalid, std::string(key) + ": " + file.string() + ": " + why);
}

// Keys with a passphrase are refused instead of asked for.
int no_passphrase(char*, int, int, void*) { return -1; }

int no_http_but_this(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* in, unsigned in_size, void*) {
  static constexpr unsigned char kProtocols[] = "\x08http/1.1";
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, out_size, kProtocols, sizeof kProtocols - 1, in, in_size) != OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

// Only files are opened: a pipe would be waited for.
Result<void> expect_files(const ListenTls& files) {
  for (const auto& [key, file] :
       {std::pair("tls.certificate", &files.certificate), {"tls.key", &files.key}, {"tls.client_ca", &files.client_ca}}) {
    struct stat found {};
    if (file->empty()) continue;
    if (stat(file->c_str(), &found) != 0) return bad(key, *file, std::strerror(errno));
    if (!S_ISREG(found.st_mode)) return bad(key, *file, "is not a file");
  }
  return {};
}

Result<void> use_certificate(SSL_CTX* context, const ListenTls& files) {
  if (SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) != 1)
    return bad("tls.certificate", files.certificate, "no certificates in PEM: " + last_reason());
  const X509* certificate = SSL_CTX_get0_certificate(context);
  if (X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0)
    return bad("tls.certificate", files.certificate, "the certificate has expired");
  if (X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0)
    return bad("tls.certificate", files.certificate, "the certificate is not valid yet");
  if (SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    const auto reason = last_reason();
    const bool is_another = reason.find("mismatch") != std::string::npos;
    return bad("tls.key", files.key,
               is_another ? "this is not the key of " + files.certificate.string()
                          : "no private key in PEM without a passphrase: " + reason);
  }
  // OpenSSL keeps a certificate for each type of key, so a key of another type replaces none and is no mismatch.
  if (SSL_CTX_check_private_key(context) != 1)
    return bad("tls.key", files.key, "this is not the key of " + files.certificate.string());
  return {};
}

Result<void> ask_for_clients(SSL_CTX* context, const ListenTls& files) {
  if (files.client_ca.empty()) return {};
  if (SSL_CTX_load_verify_file(context, files.client_ca.c_str()) != 1)
    return bad("tls.client_ca", files.client_ca, "no certificates in PEM: " + last_reason());
  if (auto* names = SSL_load_client_CA_file(files.client_ca.c_str())) SSL_CTX_set_client_CA_list(context, names);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | (files.client_required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0), nullptr);
  SSL_CTX_set_max_cert_list(context, kMaxClientChain);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);  // each connection shows its certificate
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(context, 0);
  return {};
}

// What tells one state of the files from another, without reading them. Links are followed: renewing tools replace links.
std::string state_of(const ListenTls& files) {
  std::string state;
  for (const auto* file : {&files.certificate, &files.key, &files.client_ca}) {
    struct stat found {};
    if (file->empty() || stat(file->c_str(), &found) != 0) {
      state += "-;";
      continue;
    }
    for (const auto number : {static_cast<long long>(found.st_ino), static_cast<long long>(found.st_size),
                              static_cast<long long>(found.st_mtim.tv_sec), static_cast<long long>(found.st_mtim.tv_nsec)})
      state += std::to_string(number) + ",";
    state += ";";
  }
  return state;
}

std::optional<Sha256> hash_of(X509* certificate) {
  unsigned char* der = nullptr;
  const int size = i2d_X509(certificate, &der);
  if (size <= 0) return std::nullopt;
  const auto hash = sha256(std::string(1, '\0').append(reinterpret_cast<const char*>(der), static_cast<std::size_t>(size)));
  OPENSSL_free(der);
  return hash;
}

}  // namespace

Result<Sha256> certificate_hash(const std::filesystem::path& file) {
  const std::unique_ptr<BIO, decltype(&BIO_free_all)> in(BIO_new_file(file.c_str(), "r"), &BIO_free_all);
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(
      in ? PEM_read_bio_X509(in.get(), nullptr, no_passphrase, nullptr) : nullptr, &X509_free);
  if (!certificate) return fail(Error::Kind::invalid, file.string() + ": no certificate in PEM: " + last_reason());
  if (const auto hash = hash_of(certificate.get())) return *hash;
  return fail(Error::Kind::invalid, file.string() + ": the certificate cannot be read");
}

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

Result<std::shared_ptr<const TlsContext>> TlsContext::load(const ListenTls& files) {
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  if (!context) return fail(Error::Kind::bug, "OpenSSL made no context: " + last_reason());
  auto loaded = std::make_shared<const TlsContext>(context);
  SSL_CTX_set_min_proto_version(context, files.min_version == "1.3" ? TLS1_3_VERSION : TLS1_2_VERSION);
  SSL_CTX_set_cipher_list(context, kCiphers);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_id_context(context, kSessionContext, sizeof kSessionContext - 1);
  SSL_CTX_set_default_passwd_cb(context, no_passphrase);
  SSL_CTX_set_alpn_select_cb(context, no_http_but_this, nullptr);
  TRY(expect_files(files));
  TRY(use_certificate(context, files));
  TRY(ask_for_clients(context, files));
  return loaded;
}

Result<std::unique_ptr<TlsFiles>> TlsFiles::open(const ListenTls& files) {
  auto state = state_of(files);  // before the files are read: what changes meanwhile is a change
  auto context = TlsContext::load(files);
  TRY(context);
  return std::unique_ptr<TlsFiles>(new TlsFiles(files, std::move(state), std::move(*context)));
}

std::shared_ptr<const TlsContext> TlsFiles::current() const {
  std::lock_guard lock(mutex_);
  return context_;
}

Result<bool> TlsFiles::renew() {
  const auto state = state_of(files_);
  {
    std::lock_guard lock(mutex_);
    if (state == state_) return false;
    state_ = state;
  }
  auto context = TlsContext::load(files_);
  TRY(context);
  std::lock_guard lock(mutex_);
  context_ = std::move(*context);
  return true;
}

TlsSession::TlsSession(std::shared_ptr<const TlsContext> context, int socket)
    : context_(std::move(context)), ssl_(SSL_new(context_->get())) {
  if (!ssl_ || SSL_set_fd(ssl_, socket) != 1) {
    is_over_ = true;
    error_ = last_reason();
    return;
  }
  SSL_set_accept_state(ssl_);
}

TlsSession::~TlsSession() { SSL_free(ssl_); }

TlsSession::Progress TlsSession::progress(int result) {
  if (result > 0) return {.bytes = static_cast<std::size_t>(result)};
  switch (SSL_get_error(ssl_, result)) {
    case SSL_ERROR_WANT_READ:
      return {.want = Want::read};
    case SSL_ERROR_WANT_WRITE:
      return {.want = Want::write};
    case SSL_ERROR_SSL:
      error_ = last_reason();
      break;
    default:  // closed, with or without a word
      break;
  }
  is_over_ = true;
  return {.over = true};
}

TlsSession::Progress TlsSession::handshake() {
  if (is_over_) return {.over = true};
  ERR_clear_error();
  const auto done = progress(SSL_do_handshake(ssl_));
  if (!done.over && done.want == Want::nothing) note_client();
  return done;
}

namespace {
std::optional<std::time_t> end_of(const X509* certificate) {
  std::tm end{};
  if (certificate && ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end) == 1) return timegm(&end);
  return std::nullopt;
}
}  // namespace

std::time_t TlsContext::expires() const { return end_of(SSL_CTX_get0_certificate(context_)).value_or(0); }

void TlsSession::note_client() { client_until_ = end_of(SSL_get0_peer_certificate(ssl_)); }

bool TlsSession::client_is_outdated(const TlsFiles& files) const {
  return client_until_ && (std::time(nullptr) > *client_until_ || files.current() != context_);
}

TlsSession::Progress TlsSession::read(void* into, std::size_t size) {
  ERR_clear_error();
  return progress(SSL_read(ssl_, into, static_cast<int>(std::min<std::size_t>(size, INT32_MAX))));
}

TlsSession::Progress TlsSession::write(std::string_view bytes) {
  ERR_clear_error();
  return progress(SSL_write(ssl_, bytes.data(), static_cast<int>(std::min<std::size_t>(bytes.size(), INT32_MAX))));
}

void TlsSession::say_goodbye() {
  if (!is_over_ && SSL_is_init_finished(ssl_)) SSL_shutdown(ssl_);
  is_over_ = true;
  ERR_clear_error();
}

std::string TlsSession::client_certificate() const {
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(SSL_get1_peer_certificate(ssl_), &X509_free);
  if (!certificate || SSL_get_verify_result(ssl_) != X509_V_OK) return {};
  const auto hash = hash_of(certificate.get());
  return hash ? std::string(as_view(*hash)) : std::string();
}

}  // namespace waybill::http

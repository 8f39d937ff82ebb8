// The listener under TLS: versions, certificates of both sides, renewal, and clients that mean no good.  S9
#include "http/tls.h"

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <sys/stat.h>

#include "http/client_certificate.h"
#include "support/eventually.h"
#include "unit/http/certificates.h"
#include "unit/http/server_story.h"

namespace waybill::http {
namespace {

using stories::Answer;
using stories::Certificate;
using stories::certificate_pem;
using stories::CertificateSpec;
using stories::key_pem;
using stories::make_certificate;
using stories::PemFolder;
using stories::ServerStory;
using waybill::testing::eventually;

struct ClientSetup {
  const Certificate* trusted = nullptr;
  const Certificate* shown = nullptr;
  int min_version = 0;
  int max_version = 0;
  std::string_view protocol = {};  // offered in ALPN
  int chain = 0;                   // so many certificates are shown behind the first
  const char* from = "127.0.0.1";  // the client's address
};

// One connection, blocking, with a limit on each wait.
class TlsClient {
 public:
  TlsClient(std::uint16_t port, const ClientSetup& setup)
      : context_(SSL_CTX_new(TLS_client_method())), fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    SSL_CTX_set_security_level(context_, 0);  // the client would itself refuse TLS 1.1
    if (setup.min_version != 0) SSL_CTX_set_min_proto_version(context_, setup.min_version);
    if (setup.max_version != 0) SSL_CTX_set_max_proto_version(context_, setup.max_version);
    if (setup.trusted) X509_STORE_add_cert(SSL_CTX_get_cert_store(context_), setup.trusted->x509.get());
    SSL_CTX_set_verify(context_, setup.trusted ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
    if (setup.shown) {
      SSL_CTX_use_certificate(context_, setup.shown->x509.get());
      SSL_CTX_use_PrivateKey(context_, setup.shown->key.key.get());
      for (int i = 0; i < setup.chain; ++i) SSL_CTX_add1_chain_cert(context_, setup.shown->x509.get());
    }
    timeval patience{.tv_sec = stories::kPatienceMs / 1000, .tv_usec = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    ::inet_pton(AF_INET, setup.from, &address.sin_addr);
    ::bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    if (!setup.protocol.empty()) {
      const auto offer = std::string(1, static_cast<char>(setup.protocol.size())).append(setup.protocol);
      SSL_CTX_set_alpn_protos(context_, reinterpret_cast<const unsigned char*>(offer.data()),
                              static_cast<unsigned>(offer.size()));
    }
    ssl_ = SSL_new(context_);
    SSL_set_fd(ssl_, fd_);
    SSL_set1_host(ssl_, "localhost");
    is_open_ = SSL_connect(ssl_) == 1;
    ERR_clear_error();
  }
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;
  ~TlsClient() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
    ::close(fd_);
  }

  bool is_open() const { return is_open_; }
  SSL* ssl() { return ssl_; }
  std::string server_name() const {
    X509* certificate = SSL_get0_peer_certificate(ssl_);
    char name[256] = "";
    if (certificate) X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name, sizeof name);
    return name;
  }

  bool send(std::string_view bytes) {
    return SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size())) == static_cast<int>(bytes.size());
  }

  // Status and body; 0 if the connection ended before.
  Answer exchange(std::string_view request) {
    Answer answer;
    if (!send(request)) return answer;
    std::size_t end = 0;
    while ((end = got_.find("\r\n\r\n")) == std::string::npos)
      if (!more()) return answer;
    const auto at = got_.find("Content-Length: ");
    const std::size_t size = at < end ? std::stoul(got_.substr(at + 16)) : 0;
    while (got_.size() < end + 4 + size)
      if (!more()) return answer;
    answer.status = std::stoi(got_.substr(9, 3));
    answer.body = got_.substr(end + 4, size);
    got_.erase(0, end + 4 + size);
    return answer;
  }
  // The server said goodbye and did not just hang up.
  bool ends_politely() {
    while (more()) {
    }
    return SSL_get_shutdown(ssl_) == SSL_RECEIVED_SHUTDOWN;
  }

 private:
  bool more() {
    char bytes[16384];
    const int size = SSL_read(ssl_, bytes, sizeof bytes);
    if (size > 0) got_.append(bytes, static_cast<std::size_t>(size));
    ERR_clear_error();
    return size > 0;
  }

  SSL_CTX* context_;
  SSL* ssl_ = nullptr;
  int fd_;
  bool is_open_ = false;
  std::string got_;
};

std::string get(std::string_view target) { return "GET " + std::string(target) + " HTTP/1.1\r\nHost: localhost\r\n\r\n"; }

class Tls : public ServerStory {
 protected:
  Tls() {
    ::signal(SIGPIPE, SIG_IGN);  // as the program does: OpenSSL writes without asking
    config_.tls.certificate = folder_.write("server.pem", certificate_pem(server_certificate_));
    config_.tls.key = folder_.write("server.key", key_pem(server_certificate_));
  }

  // Each client that shows a certificate is named by its hash.
  void start_with_clients(bool is_required) {
    config_.tls.client_ca = folder_.write("clients.pem", certificate_pem(authority_));
    config_.tls.client_required = is_required;
    start([](const Request& request, std::function<void(Admission)> done) {
      if (request.certificate.empty()) return done(std::nullopt);
      done(Principal{.org = OrgId{7}, .role = Role::admin, .name = hex(request.certificate)});
    });
  }
  static std::string hex(std::string_view bytes) {
    std::string text;
    for (const unsigned char c : bytes) {
      text += "0123456789abcdef"[c >> 4];
      text += "0123456789abcdef"[c & 15];
    }
    return text;
  }

  int failures() const {
    constexpr std::string_view kName = "\nsubmission_http_tls_failures_total ";
    const auto text = metrics_.text();
    const auto at = text.find(kName);
    return at == std::string::npos ? 0 : std::stoi(text.substr(at + kName.size()));
  }

  PemFolder folder_;
  Certificate authority_ = make_certificate({.name = "Authority", .is_authority = true});
  Certificate server_certificate_ = make_certificate({}, &authority_);
  ClientSetup trusting_{.trusted = &authority_};
};

TEST_F(Tls, RequestsGoThroughAsTheyDoInPlain) {  // S9
  start();
  TlsClient client(server_->port(), trusting_);
  ASSERT_TRUE(client.is_open());
  EXPECT_EQ(client.exchange(get("/hello")).body, "{\"hello\":1}");
  const std::string body(900'000, 'b');
  EXPECT_EQ(client.exchange("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n" + body).body, body);
  EXPECT_EQ(client.exchange(get("/big")).body.size(), 64u << 20);
  EXPECT_EQ(client.exchange("GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").status, 200);
  EXPECT_TRUE(client.ends_politely());
}

TEST_F(Tls, OldVersionsAndPlainHttpGetNothing) {  // S9
  start();
  EXPECT_FALSE(
      TlsClient(server_->port(), {.trusted = &authority_, .min_version = TLS1_VERSION, .max_version = TLS1_1_VERSION}).is_open());
  EXPECT_TRUE(TlsClient(server_->port(), {.trusted = &authority_, .max_version = TLS1_2_VERSION}).is_open());
  auto plain = client();
  plain.send(get("/hello"));
  const auto told = plain.until_close();
  ASSERT_TRUE(told);
  EXPECT_EQ(told->find("HTTP/1.1"), std::string::npos);
  EXPECT_NE(metrics_.text().find("submission_http_tls_failures_total 2"), std::string::npos) << metrics_.text();
}

TEST_F(Tls, Version13CanBeDemanded) {  // S9
  config_.tls.min_version = "1.3";
  start();
  EXPECT_FALSE(TlsClient(server_->port(), {.trusted = &authority_, .max_version = TLS1_2_VERSION}).is_open());
  EXPECT_TRUE(TlsClient(server_->port(), trusting_).is_open());
}

TEST_F(Tls, OtherProtocolsThanHttp11AreRefused) {  // S9
  start();
  EXPECT_FALSE(TlsClient(server_->port(), {.trusted = &authority_, .protocol = "h2"}).is_open());
  EXPECT_EQ(TlsClient(server_->port(), {.trusted = &authority_, .protocol = "http/1.1"}).exchange(get("/hello")).status, 200);
}

TEST_F(Tls, AClientCannotMakeTheServerNegotiateAgain) {  // S9
  start();
  TlsClient client(server_->port(), {.trusted = &authority_, .max_version = TLS1_2_VERSION});
  ASSERT_EQ(client.exchange(get("/hello")).status, 200);
  SSL_renegotiate(client.ssl());
  EXPECT_NE(SSL_do_handshake(client.ssl()), 1);
  ERR_clear_error();
  EXPECT_EQ(TlsClient(server_->port(), trusting_).exchange(get("/hello")).status, 200);
}

TEST_F(Tls, HandshakesThatStopHalfWayAreLetGo) {  // S9
  config_.timeouts.request_read = Millis(3'000);
  start();
  std::vector<stories::Client> half;
  for (int i = 0; i < 500; ++i) {
    half.push_back(client());
    half.back().send(std::string_view("\x16\x03\x01\x00\xc8\x01\x00\x00", 8));
  }
  EXPECT_EQ(TlsClient(server_->port(), trusting_).exchange(get("/hello")).status, 200);
  for (auto& one : half) EXPECT_TRUE(one.until_close()) << "a half handshake was kept";
}

// Clients that announce a ClientHello of 126 KB and go no further: OpenSSL makes room for it.
class HalfHandshakes {
 public:
  HalfHandshakes(std::uint16_t port, int clients, const char* from) {
    for (int i = 0; i < clients; ++i)
      half_.emplace_back(port, 0, from).send(std::string_view("\x16\x03\x01\x40\x00\x01\x01\xec\x30", 9));
  }
  void close() { half_.clear(); }

 private:
  std::vector<stories::Client> half_;
};

TEST_F(Tls, HalfHandshakesOfOneAddressHaveAShareOfTheMemory) {  // T19
  config_.timeouts.request_read = Millis(600'000);
  config_.limits.http_bytes = 8 << 20;
  config_.limits.http_bytes_per_address = 1 << 20;
  start();
  HalfHandshakes half(server_->port(), 20, "127.0.0.1");
  EXPECT_TRUE(eventually([&] { return failures() == 14; })) << "six times 160 KiB fit into a MiB: " << metrics_.text();
  EXPECT_FALSE(TlsClient(server_->port(), trusting_).is_open());
  EXPECT_EQ(TlsClient(server_->port(), {.trusted = &authority_, .from = "127.0.0.2"}).exchange(get("/hello")).status, 200);
  EXPECT_TRUE(log_.wait_for("http.tls_handshake_failed"));
  half.close();
  EXPECT_TRUE(eventually([&] { return TlsClient(server_->port(), trusting_).is_open(); })) << "what was held is given back";
}

TEST_F(Tls, HalfHandshakesOfAllAddressesShareTheMemory) {  // T19
  config_.timeouts.request_read = Millis(600'000);
  config_.limits.http_bytes = 2 << 20;
  config_.limits.http_bytes_per_address = 1 << 20;
  config_.trusted_proxies = {*parse_range("127.0.0.4")};
  start();
  HalfHandshakes one(server_->port(), 5, "127.0.0.1"), another(server_->port(), 5, "127.0.0.2");
  HalfHandshakes proxied(server_->port(), 4, "127.0.0.4");
  EXPECT_TRUE(eventually([&] { return failures() == 2; })) << "twelve times 160 KiB fit into 2 MiB: " << metrics_.text();
  EXPECT_FALSE(TlsClient(server_->port(), {.trusted = &authority_, .from = "127.0.0.3"}).is_open());
}

TEST_F(Tls, AHandshakeThatIsDoneHoldsNoShare) {  // T19
  config_.limits.http_bytes = 2 << 20;
  config_.limits.http_bytes_per_address = 1 << 20;
  start();
  std::vector<std::unique_ptr<TlsClient>> open;
  for (int i = 0; i < 20; ++i) {
    open.push_back(std::make_unique<TlsClient>(server_->port(), trusting_));
    ASSERT_TRUE(open.back()->is_open()) << i;
  }
}

TEST_F(Tls, AClientsChainOfCertificatesIsBounded) {  // T19
  start_with_clients(false);
  const auto known = make_certificate({.name = "reporter"}, &authority_);
  EXPECT_EQ(TlsClient(server_->port(), {.trusted = &authority_, .shown = &known, .chain = 3}).exchange(get("/hello")).status,
            200);
  EXPECT_EQ(TlsClient(server_->port(), {.trusted = &authority_, .shown = &known, .chain = 60}).exchange(get("/hello")).status, 0);
}

TEST_F(Tls, AClientsCertificateIsHandedToTheAuthenticator) {  // S9
  start_with_clients(false);
  const auto known = make_certificate({.name = "reporter"}, &authority_);
  TlsClient with(server_->port(), {.trusted = &authority_, .shown = &known});
  ASSERT_TRUE(with.is_open());
  const auto answer = with.exchange(get("/for-admins"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body.size(), 64u + 2u) << answer.body;
  EXPECT_EQ(TlsClient(server_->port(), {.trusted = &authority_, .shown = &known}).exchange(get("/for-admins")).body, answer.body);
  const auto another = make_certificate({.name = "reporter"}, &authority_);
  EXPECT_NE(TlsClient(server_->port(), {.trusted = &authority_, .shown = &another}).exchange(get("/for-admins")).body,
            answer.body);
  EXPECT_EQ(TlsClient(server_->port(), trusting_).exchange(get("/for-admins")).status, 401);
}

TEST_F(Tls, CertificatesOfOtherAuthoritiesAndExpiredOnesOpenNothing) {  // S9
  start_with_clients(false);
  const auto stranger = make_certificate({.name = "reporter"});
  const auto expired = make_certificate({.name = "reporter", .from_days = -9, .to_days = -1}, &authority_);
  for (const auto* shown : {&stranger, &expired})
    EXPECT_EQ(TlsClient(server_->port(), {.trusted = &authority_, .shown = shown}).exchange(get("/hello")).status, 0);
}

TEST_F(Tls, ACertificateCanBeDemandedOfEveryClient) {  // S9
  start_with_clients(true);
  EXPECT_EQ(TlsClient(server_->port(), trusting_).exchange(get("/hello")).status, 0);
  const auto known = make_certificate({.name = "reporter"}, &authority_);
  EXPECT_EQ(TlsClient(server_->port(), {.trusted = &authority_, .shown = &known}).exchange(get("/hello")).status, 200);
}

TEST_F(Tls, RenewedFilesServeNewConnectionsAndTheOldOnesGoOn) {  // S9
  start();
  TlsClient before(server_->port(), trusting_);
  ASSERT_EQ(before.exchange(get("/hello")).status, 200);
  EXPECT_FALSE(server_->renew_tls().value_or(true)) << "nothing has changed";
  const auto fresh = make_certificate({.name = "localhost", .to_days = 30}, &authority_);
  folder_.write("server.key", key_pem(fresh));
  const auto half = server_->renew_tls();
  ASSERT_FALSE(half);
  EXPECT_EQ(half.error().what, "tls.key: " + folder_.path("server.key").string() + ": this is not the key of " +
                                   folder_.path("server.pem").string());
  EXPECT_FALSE(server_->renew_tls().value_or(true)) << "said once for each change";
  EXPECT_TRUE(TlsClient(server_->port(), trusting_).is_open()) << "the certificate of before is served";
  folder_.write("server.pem", certificate_pem(fresh));
  EXPECT_TRUE(server_->renew_tls().value_or(false));
  TlsClient after(server_->port(), trusting_);
  ASSERT_TRUE(after.is_open());
  EXPECT_EQ(X509_cmp(SSL_get0_peer_certificate(after.ssl()), fresh.x509.get()), 0);
  EXPECT_EQ(before.exchange(get("/hello")).status, 200);
}

TEST_F(Tls, AKeyOfAnotherTypeIsNoKeyOfTheCertificate) {  // T22
  start();
  folder_.write("server.key", key_pem(Certificate{stories::rsa_key(), nullptr}));
  const auto renewed = server_->renew_tls();
  ASSERT_FALSE(renewed) << "every handshake would fail";
  EXPECT_EQ(renewed.error().what, "tls.key: " + folder_.path("server.key").string() + ": this is not the key of " +
                                      folder_.path("server.pem").string());
  EXPECT_EQ(TlsClient(server_->port(), trusting_).exchange(get("/hello")).status, 200);
  EXPECT_FALSE(TlsContext::load(config_.tls)) << "nor does `waybill check` take it";
}

TEST_F(Tls, AConnectionDoesNotOutliveItsClientsCertificate) {  // T22
  start_with_clients(false);
  const auto brief = make_certificate({.name = "brief", .to_days = 0, .to_seconds = 8}, &authority_);
  const auto lasting = make_certificate({.name = "lasting"}, &authority_);
  TlsClient asks(server_->port(), {.trusted = &authority_, .shown = &brief});
  TlsClient idle(server_->port(), {.trusted = &authority_, .shown = &brief});
  TlsClient stays(server_->port(), {.trusted = &authority_, .shown = &lasting});
  for (auto* one : {&asks, &idle, &stays}) ASSERT_EQ(one->exchange(get("/for-admins")).status, 200);
  int status = 200;
  while (status == 200) status = asks.exchange(get("/for-admins")).status;
  EXPECT_EQ(status, 0) << "closed once the certificate has expired";
  EXPECT_TRUE(idle.ends_politely()) << "and so is one that sends nothing";
  EXPECT_EQ(stays.exchange(get("/for-admins")).status, 200);
}

TEST_F(Tls, AConnectionDoesNotOutliveTheAuthoritiesThatItsClientWasVerifiedWith) {  // T22
  start_with_clients(false);
  const auto known = make_certificate({.name = "reporter"}, &authority_);
  TlsClient shown(server_->port(), {.trusted = &authority_, .shown = &known}), plain(server_->port(), trusting_);
  ASSERT_EQ(shown.exchange(get("/for-admins")).status, 200);
  ASSERT_EQ(plain.exchange(get("/hello")).status, 200);
  folder_.write("clients.pem", certificate_pem(make_certificate({.name = "Other", .is_authority = true})));
  ASSERT_TRUE(server_->renew_tls().value_or(false));
  EXPECT_EQ(shown.exchange(get("/for-admins")).status, 0);
  EXPECT_EQ(TlsClient(server_->port(), {.trusted = &authority_, .shown = &known}).exchange(get("/for-admins")).status, 0);
  EXPECT_EQ(plain.exchange(get("/hello")).status, 200) << "who showed none goes on";
}

// T32: what a listener would refuse is no token, and the reason is named
TEST(ClientCertificate, IsTakenOrRefusedAsAListenerWould) {
  PemFolder folder;
  const auto authority = make_certificate({.name = "Authority", .is_authority = true});
  const auto other = make_certificate({.name = "Other", .is_authority = true});
  const auto between = make_certificate({.name = "Between", .is_authority = true}, &authority);
  const auto ca = folder.write("ca.pem", certificate_pem(authority));
  const auto why = [&](const std::string& pem) {
    const auto taken = expect_client_certificate(folder.write("client.pem", pem), ca);
    return taken ? std::string() : taken.error().what;
  };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  EXPECT_EQ(why(certificate_pem(make_certificate({.name = "ann"}, &authority))), "");
  EXPECT_EQ(why(certificate_pem(make_certificate({.name = "ann"}, &between)) + certificate_pem(between)), "");
  const auto expired = why(certificate_pem(make_certificate({.name = "ann", .from_days = -9, .to_days = -1}, &authority)));
  EXPECT_TRUE(has(expired, "has expired") && has(expired, "client.pem")) << expired;
  const auto early = why(certificate_pem(make_certificate({.name = "ann", .from_days = 2, .to_days = 9}, &authority)));
  EXPECT_TRUE(has(early, "not valid yet")) << early;
  for (const auto& stranger : {make_certificate({.name = "ann"}, &other), make_certificate({.name = "ann"})}) {
    const auto refusal = why(certificate_pem(stranger));
    EXPECT_TRUE(has(refusal, "not issued by tls.client_ca")) << refusal;
  }
  const auto unasked = expect_client_certificate(folder.path("client.pem"), {});
  ASSERT_FALSE(unasked);
  EXPECT_TRUE(has(unasked.error().what, "tls.client_ca is not set")) << unasked.error().what;
}

TEST_F(Tls, BadFilesAreNamed) {  // S9
  const auto file = [&](const char* name) { return folder_.path(name).string(); };
  const auto error_of = [&](const ListenTls& files) {
    const auto loaded = TlsContext::load(files);
    return loaded ? std::string() : loaded.error().what;
  };
  const auto expired = make_certificate({.from_days = -9, .to_days = -1});
  const auto coming = make_certificate({.from_days = 1, .to_days = 9});
  folder_.write("expired.pem", certificate_pem(expired));
  folder_.write("coming.pem", certificate_pem(coming));
  folder_.write("locked.key", key_pem(server_certificate_, "secret"));
  folder_.write("empty.pem", "");
  auto files = config_.tls;
  files.certificate = folder_.path("missing.pem");
  EXPECT_EQ(error_of(files), "tls.certificate: " + file("missing.pem") + ": No such file or directory");
  ASSERT_EQ(::mkfifo(file("pipe.pem").c_str(), 0600), 0);
  files.certificate = folder_.path("pipe.pem");
  EXPECT_EQ(error_of(files), "tls.certificate: " + file("pipe.pem") + ": is not a file") << "and is not waited for";
  files.certificate = folder_.path("empty.pem");
  EXPECT_TRUE(error_of(files).starts_with("tls.certificate: " + file("empty.pem") + ": no certificates in PEM: "))
      << error_of(files);
  files.certificate = folder_.path("expired.pem");
  EXPECT_EQ(error_of(files), "tls.certificate: " + file("expired.pem") + ": the certificate has expired");
  files.certificate = folder_.path("coming.pem");
  EXPECT_EQ(error_of(files), "tls.certificate: " + file("coming.pem") + ": the certificate is not valid yet");
  files = config_.tls;
  files.key = folder_.path("locked.key");
  EXPECT_TRUE(error_of(files).starts_with("tls.key: " + file("locked.key") + ": no private key in PEM without a passphrase: "))
      << error_of(files);
  files = config_.tls;
  files.client_ca = folder_.path("empty.pem");
  EXPECT_TRUE(error_of(files).starts_with("tls.client_ca: " + file("empty.pem") + ": no certificates in PEM: "))
      << error_of(files);
  config_.tls.key = folder_.path("missing.key");
  const auto server = Server::listen(config_, routes(), nullptr, log_, metrics_);
  ASSERT_FALSE(server);
  EXPECT_TRUE(server.error().what.starts_with("tls.key: " + file("missing.key"))) << server.error().what;
}

}  // namespace
}  // namespace waybill::http

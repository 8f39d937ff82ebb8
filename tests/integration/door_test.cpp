// The door from outside: TLS with a client's certificate, metrics behind a token or elsewhere, and nginx in front.  S8 S9 S14
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "support/eventually.h"
#include "support/world.h"
#include "unit/http/certificates.h"

namespace waybill::testing {
namespace {

using http::stories::Certificate;
using http::stories::certificate_pem;
using http::stories::key_pem;
using http::stories::make_certificate;
using http::stories::PemFolder;

class TheDoor : public World {
 protected:
  std::string path(const std::string& name) { return folder_.path(name).string(); }
  void write(const std::string& name, const Certificate& certificate) {
    folder_.write(name + ".pem", certificate_pem(certificate));
    folder_.write(name + ".key", key_pem(certificate));
  }
  // The status that curl gets, or "000".
  std::string status_of(std::vector<std::string> more, const std::string& url) {
    std::vector<std::string> arguments{"/usr/bin/env",       "curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "--cacert",
                                       path("authority.pem")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    arguments.push_back(url);
    return run({.arguments = arguments}).out;
  }
  std::string token(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"token", "create"});
    const auto made = installation().command(arguments);
    EXPECT_EQ(made.exit_code, 0) << made.err;
    return made.out.substr(0, made.out.find('\n'));
  }

  PemFolder folder_;
  Certificate authority_ = make_certificate({.name = "Authority", .is_authority = true});
};

// S9: the certificate that a client shows is its token, until that is revoked.
TEST_F(TheDoor, AClientsCertificateIsItsToken) {
  write("authority", authority_);
  write("server", make_certificate({.name = "localhost"}, &authority_));
  write("reporter", make_certificate({.name = "reporter"}, &authority_));
  write("unknown", make_certificate({.name = "reporter"}, &authority_));
  setup.auth = "tokens";
  setup.more = "tls: { certificate: " + path("server.pem") + ", key: " + path("server.key") +
               ", client_ca: " + path("authority.pem") + " }\n";
  EXPECT_NE(
      token({"reporter", "--certificate", path("reporter.pem"), "--path", "/v1/intents"}).find("whoever shows this certificate"),
      std::string::npos);
  Daemon host(installation(), Daemon::Until::accepting);
  const auto base = "https://localhost:" + std::to_string(host.port());
  const std::vector<std::string> reporter{"--cert", path("reporter.pem"), "--key", path("reporter.key")};
  ASSERT_TRUE(eventually([&] { return status_of({}, base + "/readyz") == "200"; }));
  EXPECT_EQ(status_of(reporter, base + "/v1/intents/none"), "404");
  EXPECT_EQ(status_of(reporter, base + "/v1/dead"), "403") << "its scope";
  EXPECT_EQ(status_of({}, base + "/v1/intents/none"), "401");
  EXPECT_EQ(status_of({"--cert", path("unknown.pem"), "--key", path("unknown.key")}, base + "/v1/intents/none"), "401");
  const auto twice = installation().command({"token", "create", "again", "--certificate", path("reporter.pem")});
  EXPECT_EQ(twice.exit_code, 1);
  EXPECT_NE(twice.err.find("this certificate is the token \"reporter\""), std::string::npos) << twice.err;
  EXPECT_NE(installation().command({"token", "list"}).out.find("by certificate, path /v1/intents"), std::string::npos);
  EXPECT_EQ(installation().command({"token", "revoke", "reporter"}).exit_code, 0);
  EXPECT_TRUE(eventually([&] { return status_of(reporter, base + "/v1/intents/none") == "401"; }));
  token({"wider", "--role", "admin", "--certificate", path("reporter.pem")});
  EXPECT_TRUE(eventually([&] { return status_of(reporter, base + "/v1/dead") == "200"; })) << "the certificate is free again";
}

// T32: a certificate that no connection would be taken with is no token
TEST_F(TheDoor, ACertificateThatCannotBeShownIsNoToken) {
  write("authority", authority_);
  write("server", make_certificate({.name = "localhost"}, &authority_));
  write("stranger", make_certificate({.name = "ann"}));
  write("expired", make_certificate({.name = "ann", .from_days = -9, .to_days = -1}, &authority_));
  const auto refusal = [&](const char* name) {
    const auto refused = installation().command({"token", "create", "ann", "--certificate", path(name)});
    EXPECT_EQ(refused.exit_code, 1) << refused.out;
    return refused.err;
  };
  setup.more = "tls: { certificate: " + path("server.pem") + ", key: " + path("server.key") +
               ", client_ca: " + path("authority.pem") + " }\n";
  EXPECT_NE(refusal("stranger.pem").find("not issued by tls.client_ca"), std::string::npos);
  EXPECT_NE(refusal("expired.pem").find("has expired"), std::string::npos);
}

// S9: `check` and `serve` name the file that is wrong.
TEST_F(TheDoor, BadCertificatesAreNamedBeforeAnythingStarts) {
  write("server", make_certificate({.name = "localhost", .from_days = -9, .to_days = -1}, &authority_));
  setup.more = "tls: { certificate: " + path("server.pem") + ", key: " + path("server.key") + " }\n";
  for (const auto* command : {"check", "serve"}) {
    const auto refused = installation().command({command});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_NE(refused.err.find("tls.certificate: " + path("server.pem") + ": the certificate has expired"), std::string::npos)
        << refused.err;
  }
}

// S8
TEST_F(TheDoor, MetricsAreForOperatorsAndTheirScrapers) {
  setup.auth = "tokens";
  setup.more = "metrics: { access: token }\n";
  const auto member = token({"shop"});
  const auto scraper = token({"prometheus", "--role", "operator", "--path", "/metrics"});
  const auto url = "http://127.0.0.1:" + std::to_string(host().port());
  const auto as = [&](const std::string& who, const std::string& what) {
    return status_of({"-H", "Authorization: Bearer " + who}, url + what);
  };
  EXPECT_EQ(status_of({}, url + "/metrics"), "401");
  EXPECT_EQ(as(member, "/metrics"), "403");
  EXPECT_EQ(as(scraper, "/metrics"), "200");
  EXPECT_EQ(as(scraper, "/v1/dead"), "403");
  EXPECT_EQ(status_of({}, url + "/healthz"), "200");
}

// S8
TEST_F(TheDoor, MetricsCanHaveAListenerOfTheirOwn) {
  setup.auth = "tokens";
  setup.more = "metrics: { listen: \"127.0.0.1:0\" }\n";
  const auto operator_token = token({"ops", "--role", "operator"});
  const auto api = "http://127.0.0.1:" + std::to_string(host().port());
  std::ifstream ports(installation().folder() / "port");
  int first = 0, second = 0;
  ports >> first >> second;
  ASSERT_GT(second, 0);
  const auto watching = "http://127.0.0.1:" + std::to_string(second);
  for (const auto* what : {"/metrics", "/healthz", "/readyz"}) EXPECT_EQ(status_of({}, watching + what), "200") << what;
  EXPECT_EQ(status_of({}, watching + "/v1/intents/a"), "404");
  // T32: a page whose own name leads here
  EXPECT_EQ(status_of({"-H", "Host: rebound.example:9090"}, watching + "/metrics"), "403");
  for (const auto* host : {"Host: localhost:1", "Host: 192.0.2.7:9090", "Host: [2001:db8::1]"})
    EXPECT_EQ(status_of({"-H", host}, watching + "/metrics"), "200") << host;
  EXPECT_EQ(status_of({"-H", "Authorization: Bearer " + operator_token}, api + "/metrics"), "404");
}

// The configuration of nginx in docs/security.md, with this test's ports and files.
std::string documented_nginx(int nginx_port, std::uint16_t host_port, const PemFolder& folder) {
  std::ostringstream page;
  page << std::ifstream(WAYBILL_SOURCE_FOLDER "/docs/security.md").rdbuf();
  const auto text = page.str();
  const auto begin = text.find("```nginx\n") + 9;
  auto block = text.substr(begin, text.find("```", begin) - begin);
  const auto replace = [&](const std::string& what, const std::string& by) {
    const auto at = block.find(what);
    ASSERT_NE(at, std::string::npos) << what << " is not in docs/security.md";
    block.replace(at, what.size(), by);
  };
  replace("127.0.0.1:8080", "127.0.0.1:" + std::to_string(host_port));
  replace("listen 8443", "listen 127.0.0.1:" + std::to_string(nginx_port));
  replace("/etc/nginx/tls/fullchain.pem", folder.path("server.pem").string());
  replace("/etc/nginx/tls/privkey.pem", folder.path("server.key").string());
  std::string temporary;
  for (const auto* kind : {"client_body", "proxy", "fastcgi", "uwsgi", "scgi"})
    temporary += std::string(kind) + "_temp_path " + folder.path(kind).string() + ";\n";
  return "daemon off;\nmaster_process off;\npid " + folder.path("pid").string() +
         ";\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n" + temporary + block + "}\n";
}

int free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(fd, reinterpret_cast<sockaddr*>(&address), size);
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(fd);
  return ntohs(address.sin_port);
}

// S14: as documented, and limits count for the clients behind it.
TEST_F(TheDoor, NginxInFrontAsDocumented) {
  write("authority", authority_);
  write("server", make_certificate({.name = "localhost"}, &authority_));
  setup.auth = "tokens";
  setup.more = "trusted_proxies: [127.0.0.1]\nlimits: { http_connections_per_address: 1, failed_sign_ins: 5 }\n";
  const auto good = token({"shop"});
  const int port = free_port();
  const auto config = folder_.write("nginx.conf", documented_nginx(port, host().port(), folder_));
  Process nginx({.arguments = {"/usr/sbin/nginx", "-e", "stderr", "-p", path(""), "-c", config.string()},
                 .out = path("nginx.log"),
                 .err = path("nginx.log")});
  const auto base = "https://localhost:" + std::to_string(port);
  ASSERT_TRUE(eventually([&] { return status_of({}, base + "/readyz") == "200"; })) << read_file(path("nginx.log"));
  const std::vector<std::string> as_shop{"-H", "Authorization: Bearer " + good};
  std::vector<std::string> post{"-H", "Content-Type: application/json", "-d", sms_intent("via-proxy", "sms.deadline").dump()};
  post.insert(post.end(), as_shop.begin(), as_shop.end());
  EXPECT_EQ(status_of(post, base + "/v1/intents"), "200");
  EXPECT_EQ(status_of(as_shop, base + "/v1/intents/via-proxy/history"), "200");
  auto page = as_shop;
  page.insert(page.end(), {"-H", "Origin: https://localhost", "-d", "intentId=via-proxy"});
  EXPECT_EQ(status_of(page, base + "/ui/history"), "200");
  std::string last;
  for (int i = 0; i < 7; ++i)
    last = status_of({"--interface", "127.0.0.2", "-H", "Authorization: Bearer wrong"}, base + "/v1/intents/a");
  EXPECT_EQ(last, "429") << "one client behind the proxy has guessed too often";
  EXPECT_EQ(status_of({"-H", "Authorization: Bearer wrong"}, base + "/v1/intents/a"), "401") << "another has not";
  EXPECT_EQ(status_of(as_shop, base + "/v1/intents/via-proxy"), "200");
}

}  // namespace
}  // namespace waybill::testing

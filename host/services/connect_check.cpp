// Connections for their own sake, on curl.
#include "services/connect_check.h"

#include <curl/curl.h>

#include <optional>

#include "services/endpoint.h"
#include "services/event_loop.h"
#include "services/smtp_client.h"

namespace waybill {
namespace {

const char* step_of(SmtpStage stage) {
  switch (stage) {
    case SmtpStage::auth:
      return "to the login (AUTH)";
    case SmtpStage::connect:
      return "to the greeting (EHLO) or to STARTTLS";
    default:
      return "to a command";
  }
}

std::string words_of(const SmtpReply& reply) {
  if (reply.answer.code == 0) return reply.error_text;
  return "the relay answered " + std::to_string(reply.answer.code) + " " + reply.answer.text + " " + step_of(reply.stage);
}

class RelayVisit final : public SmtpConnection::Owner {
 public:
  explicit RelayVisit(EventLoop& loop) : loop_(loop) {}

  void opened(SmtpConnection& connection) override {
    outcome_ = Result<void>{};
    connection.leave();
  }
  void not_opened(SmtpConnection&, SmtpReply why) override { end(fail(Error::Kind::unavailable, words_of(why))); }
  void finished(SmtpConnection&) override {}
  void gone(SmtpConnection&) override { loop_.stop(); }

  void end(tl::unexpected<Error> why) {
    if (!outcome_) outcome_ = std::move(why);
    loop_.stop();
  }
  Result<void> outcome() const { return outcome_.value_or(fail(Error::Kind::unavailable, "nothing came of it")); }

 private:
  EventLoop& loop_;
  std::optional<Result<void>> outcome_;
};

}  // namespace

Result<void> try_connect(const std::string& url, std::shared_ptr<const Transport> transport, const EgressPolicy& policy,
                         Millis at_most) {
  const auto endpoint = parse_endpoint(url, {"http", "https"});
  TRY(endpoint);
  CurlEasy easy(policy, nullptr, "http,https");
  const auto place = endpoint->scheme + "://" + endpoint->authority + "/";
  easy.leave().reset(Trust::registry, endpoint->authority);
  easy.secure(std::move(transport));
  curl_easy_setopt(easy.get(), CURLOPT_URL, place.c_str());
  curl_easy_setopt(easy.get(), CURLOPT_CONNECT_ONLY, 1L);
  curl_easy_setopt(easy.get(), CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(at_most.count()));
  curl_easy_setopt(easy.get(), CURLOPT_TIMEOUT_MS, static_cast<long>(at_most.count()));
  const int code = curl_easy_perform(easy.get());
  if (code != CURLE_OK) return fail(Error::Kind::unavailable, easy.failure(code));
  return {};
}

Result<void> try_relay(const SmtpLogin& login, std::shared_ptr<const EgressPolicy> policy, Millis at_most) {
  EventLoop loop;
  SmtpClientSettings settings;
  settings.egress = std::move(policy);
  RelayVisit visit(loop);
  TlsSessions sessions;
  SmtpConnection connection(loop, settings, visit, sessions);
  loop.after(at_most,
             [&] { visit.end(fail(Error::Kind::unavailable, "no answer within " + std::to_string(at_most.count()) + " ms")); });
  if (!connection.open(login)) return fail(Error::Kind::unavailable, "the connection could not be begun");
  loop.run();
  return visit.outcome();
}

}  // namespace waybill

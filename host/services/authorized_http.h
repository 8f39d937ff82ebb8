// HTTP whose headers may name OAuth2 clients, "{oauth2:NAME}": their tokens are got, kept and filled in.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "services/http_client.h"
#include "services/oauth2_tokens.h"

namespace waybill {

// Belongs to the thread of its loop, as its client does. Requests that name no client go straight through.
class AuthorizedHttp {
 public:
  using Done = HttpClient::Done;
  // Hears why a client got no token.
  using OnRefusal = std::function<void(const std::string& client, const std::string& why)>;

  AuthorizedHttp(EventLoop& loop, const Clock& clock, HttpClient& client, std::shared_ptr<const LiveSecrets> secrets,
                 std::shared_ptr<OAuth2Tokens> tokens, OnRefusal on_refusal);
  ~AuthorizedHttp();

  // As HttpClient's. The request waits for its token until its own deadline. Without one it is not sent: `done` gets the error
  // of the connection to the token endpoint, or the status 401 if the endpoint refused the client and 503 if it answered
  // otherwise, all with Reach::not_sent. After a 401 of the destination the token is not used again.
  std::uint64_t fetch(HttpRequest request, Done done);
  void cancel(std::uint64_t id);
  bool is_idle() const { return waiting_.empty(); }

 private:
  struct Waiting {
    HttpRequest request;
    Done done;
    std::string client;  // whose token it waits for
    EventLoop::TimerId timer = 0;
    std::uint64_t sent = 0;  // the client's id, once it is on its way
  };

  void proceed(std::uint64_t id);
  void ask_for_token(const std::string& client);
  void take_token(const std::string& client, const HttpResponse& answer);
  void give_up(const std::string& client, const HttpResponse& response);  // all that waits for its token
  std::vector<std::uint64_t> waiting_for(std::string_view client) const;  // in the order in which they came
  void end_later(std::uint64_t id, Clock::Monotonic::duration delay, HttpResponse response);
  void end(std::uint64_t id, HttpResponse response);

  EventLoop& loop_;
  const Clock& clock_;
  HttpClient& client_;
  const std::shared_ptr<const LiveSecrets> secrets_;
  const std::shared_ptr<OAuth2Tokens> tokens_;
  const OnRefusal on_refusal_;
  std::unordered_map<std::uint64_t, Waiting> waiting_;
  std::map<std::string, std::uint64_t> asked_;  // by client: the request for its token
  std::uint64_t last_id_;
};

}  // namespace waybill

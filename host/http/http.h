// What a route sees of HTTP: plain values in, one reply out. Beast is behind server.h.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/id.h"
#include "base/time.h"
#include "base/trace_context.h"

namespace waybill::http {

// Ordered: each may do what those before it may. `none` as a requirement: open to everybody. `operator_`: looks after the
// installation; only the organisation `default` has them.
enum class Role : std::uint8_t { none, member, admin, owner, operator_ };

// What a token is for, besides its role. An empty list: everything. See access.h.
struct Scope {
  std::vector<std::string> targets;  // names
  std::vector<std::string> paths;    // "/v1/intents", without a slash at the end
};

struct Principal {
  OrgId org = kDefaultOrg;
  Role role = Role::none;
  std::string name;  // of the token; without tokens nobody has one
  std::string org_name{kDefaultOrgName};
  std::shared_ptr<const Scope> scope{};  // null: everything
  std::string actor() const { return name.empty() ? "nobody" : name; }
};

// The connection that a request came on. Safe from any thread.
class Connection {
 public:
  virtual ~Connection() = default;
  virtual bool is_gone() const = 0;  // its client has closed it
};

struct Request {
  std::string method;                                          // "POST"
  std::string path;                                            // decoded, without the query
  std::string query;                                           // as sent, without the '?'
  std::map<std::string, std::string, std::less<>> parameters;  // from the route's {names}, percent-decoded
  std::string content_type;
  std::string content_encoding;  // of all such headers, separated by commas
  std::string accept{};          // of a GET
  std::string authorization;     // the header's value
  std::string peer{};            // the client's address, of IPv6 its first 64 bits; behind a trusted proxy what that says
  std::string certificate{};     // the hash of the client's verified certificate (tls.h), "" without one
  std::string body;
  Principal principal;
  Trace trace{};                                   // of its traceparent and tracestate
  std::shared_ptr<const Connection> connection{};  // null: one that cannot go away

  // A parameter that the query has twice; none if each stands once.
  std::optional<std::string> doubled_parameter() const;
  // What is wrong with the query: a parameter that is none of these, one that stands twice, or a text that is not percent-encoded
  // UTF-8 without NUL. "" if nothing is. `kind`: what messages call a parameter.
  std::string query_fault(std::span<const std::string> known, std::string_view kind = "query parameter") const;
  // The decoded value of a query parameter; none if absent.
  std::optional<std::string> query_value(std::string_view name) const;
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;  // further ones
};

// {"error":{"code":code,"message":message}}
Response error_response(int status, std::string_view code, std::string_view message);
Response invalid_request(std::string_view message);  // 400
Response json_response(int status, std::string body);

// Answers one request, once, from any thread, now or later.
using Reply = std::function<void(Response)>;
using RouteFunction = std::function<void(Request, Reply)>;

// What a route reads in the body of a request; see content_check.h.
enum class Content : std::uint8_t { json, json_or_lines, form };

inline constexpr std::size_t kLargeBody = 32 << 10;  // bytes

struct Route {
  std::string method;
  std::string path;  // "/v1/intents/{id}"; a {name} takes one path segment. {org}: the caller's own organisation, see access.h
  Role least_role = Role::member;
  RouteFunction handle;
  // How much longer than timeouts.answer the answer to this request may take; null: no longer.
  std::function<Millis(const Request&)> extra_time = {};
  Content content = Content::json;
  bool checks_targets = false;          // asks target_refusal() (access.h) about each target; others refuse tokens with targets
  std::vector<std::string> query = {};  // the parameters that the query may have; any other is 400
  // From so many bytes on, a body takes longer to read and to answer than to hand over to another thread; see large_bodies.h.
  std::size_t large_body = kLargeBody;
};
// The same with these parameters.
inline Route with_query(Route route, std::vector<std::string> parameters) {
  route.query = std::move(parameters);
  return route;
}

// Who sends a request: somebody, nobody that we know (401), or a Response when that cannot be told now. Answers once, from any
// thread, now or later.
using Admission = std::variant<Response, std::optional<Principal>>;
using Authenticate = std::function<void(const Request&, std::function<void(Admission)>)>;

}  // namespace waybill::http

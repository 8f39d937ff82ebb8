// GOV.UK Notify's answers.
#include "support/fake_notify.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <ctime>
#include <regex>
#include <set>

namespace waybill::testing {
namespace {

using nlohmann::json;

constexpr std::size_t kNotifyPage = 250;

Reply notify_answer(int status, const json& body) { return {.status = status, .body = body.dump()}; }

Reply notify_refusal(int status, const std::string& error, const std::string& message) {
  return notify_answer(status, {{"status_code", status}, {"errors", {{{"error", error}, {"message", message}}}}});
}

std::string from_base64url(std::string text) {
  for (auto& c : text) c = c == '-' ? '+' : c == '_' ? '/' : c;
  const auto padding = (4 - text.size() % 4) % 4;
  text.append(padding, '=');
  std::string out(text.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (size < 0) return {};
  out.resize(static_cast<std::size_t>(size) - padding);
  return out;
}

// What the API says of a token; none if it is good.
std::optional<Reply> fault_in_token(const std::string& authorization) {
  if (authorization.empty()) return notify_refusal(401, "AuthError", "Unauthorized: authentication token must be provided");
  static const std::regex kBearer("Bearer ([A-Za-z0-9_-]+)\\.([A-Za-z0-9_-]+)\\.([A-Za-z0-9_-]+)");
  std::smatch parts;
  if (!std::regex_match(authorization, parts, kBearer))
    return notify_refusal(401, "AuthError", "Unauthorized: authentication bearer scheme must be used");
  const auto header = json::parse(from_base64url(parts[1]), nullptr, false);
  const auto claims = json::parse(from_base64url(parts[2]), nullptr, false);
  if (!header.is_object() || !claims.is_object()) return notify_refusal(403, "AuthError", "Invalid token: not a JWT");
  if (header.value("alg", "") != "HS256" || header.value("typ", "") != "JWT")
    return notify_refusal(403, "AuthError", "Invalid token: algorithm used is not HS256");
  if (!claims.contains("iss")) return notify_refusal(403, "AuthError", "Invalid token: iss field not provided");
  if (claims["iss"] != FakeNotify::kService) return notify_refusal(403, "AuthError", "Invalid token: service not found");
  const auto signed_part = parts[1].str() + '.' + parts[2].str();
  unsigned char mac[32];
  unsigned int size = 0;
  const std::string key = FakeNotify::kKey;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(signed_part.data()),
       signed_part.size(), mac, &size);
  if (from_base64url(parts[3]) != std::string(reinterpret_cast<const char*>(mac), size))
    return notify_refusal(403, "AuthError", "Invalid token: API key not found");
  if (!claims.contains("iat") || !claims["iat"].is_number_integer())
    return notify_refusal(403, "AuthError", "Invalid token: iat field not provided");
  if (std::abs(claims["iat"].get<std::int64_t>() - static_cast<std::int64_t>(std::time(nullptr))) > 30)
    return notify_refusal(403, "AuthError", "Error: Your system clock must be accurate to within 30 seconds");
  return std::nullopt;
}

bool is_uuid(const json& value) {
  static const std::regex kUuid("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}");
  return value.is_string() && std::regex_match(value.get_ref<const std::string&>(), kUuid);
}

// The schema of POST /v2/notifications/email: the first thing that it says.
std::string fault_in_body(const json& body) {
  if (!body.is_object()) return "Invalid JSON supplied in POST data";
  static const std::set<std::string> kKnown{"email_address", "template_id",       "personalisation",
                                            "reference",     "email_reply_to_id", "one_click_unsubscribe_url"};
  for (const auto* needed : {"email_address", "template_id"})
    if (!body.contains(needed)) return std::string(needed) + " is a required property";
  for (const auto& [name, value] : body.items())
    if (!kKnown.contains(name)) return "Additional properties are not allowed (" + name + " was unexpected)";
  if (!is_uuid(body["template_id"])) return "template_id is not a valid UUID";
  static const std::regex kAddress("[^@\\s]+@[^@\\s]+\\.[^@\\s]+");
  if (!body["email_address"].is_string() || !std::regex_match(body["email_address"].get<std::string>(), kAddress))
    return "email_address Not a valid email address";
  if (body.contains("personalisation") && !body["personalisation"].is_object())
    return "personalisation should contain key value pairs";
  if (body.contains("reference") && !body["reference"].is_string()) return "reference is not of type string";
  return {};
}

std::string query_parameter(const std::string& query, const std::string& name) {
  std::smatch found;
  return std::regex_search(query, found, std::regex("[?&]" + name + "=([^&]*)")) ? found[1].str() : "";
}

std::string now_text() {
  char out[40];
  const auto now = std::time(nullptr);
  std::tm t{};
  std::strftime(out, sizeof out, "%Y-%m-%dT%H:%M:%S.000000Z", gmtime_r(&now, &t));
  return out;
}

}  // namespace

FakeNotify::FakeNotify() {
  gateway_.answer_by([this](const Received& request) { return reply_to(request); });
}

std::vector<json> FakeNotify::notifications() const {
  const std::lock_guard lock(mutex_);
  return {notifications_.rbegin(), notifications_.rend()};
}

void FakeNotify::add(const std::string& reference, const std::string& status) {
  const std::lock_guard lock(mutex_);
  notifications_.push_back(notification(reference, "ann@example.org", status));
}

void FakeNotify::fail_next(int status, const std::string& error, const std::string& message, int times) {
  const std::lock_guard lock(mutex_);
  faults_.insert(faults_.end(), static_cast<std::size_t>(times), notify_refusal(status, error, message));
}

json FakeNotify::notification(const std::string& reference, const std::string& address, const std::string& status) {
  auto digits = std::to_string(notifications_.size() + 1);
  const auto id = "740e5834-3a29-46b4-9a6f-" + std::string(12 - digits.size(), '0') + digits;
  const bool ended = status != "created" && status != "sending";
  return {{"id", id},
          {"reference", reference.empty() ? json(nullptr) : json(reference)},
          {"email_address", address},
          {"type", "email"},
          {"status", status},
          {"template", {{"id", kTemplate}, {"version", 1}, {"uri", url() + "/v2/template/" + kTemplate}}},
          {"body", "Hello"},
          {"subject", "A form"},
          {"created_at", now_text()},
          {"sent_at", now_text()},
          {"completed_at", ended ? json(now_text()) : json(nullptr)}};
}

Reply FakeNotify::reply_to(const Received& request) {
  const std::lock_guard lock(mutex_);
  if (!faults_.empty()) {
    auto fault = faults_.front();
    faults_.erase(faults_.begin());
    return fault;
  }
  if (auto fault = fault_in_token(header_value(request.head, "Authorization").value_or(""))) return *fault;
  const auto path = request.path.substr(0, request.path.find('?'));
  if (request.method == "POST" && path == "/v2/notifications/email") return send(request);
  if (request.method != "GET") return notify_refusal(405, "NotAllowed", "The method is not allowed for the requested URL.");
  if (path == "/v2/notifications") return list(request.path);
  for (const auto& one : notifications_)
    if (path == "/v2/notifications/" + one.at("id").get<std::string>()) return notify_answer(200, one);
  return notify_refusal(404, "NoResultFound", "No result found");
}

Reply FakeNotify::send(const Received& request) {
  if (header_value(request.head, "Content-Type").value_or("").rfind("application/json", 0) != 0)
    return notify_refusal(400, "BadRequestError", "Content type is not application/json");
  const auto body = json::parse(request.body, nullptr, false);
  if (const auto fault = fault_in_body(body); !fault.empty()) return notify_refusal(400, "ValidationError", fault);
  if (body["template_id"] != kTemplate) return notify_refusal(400, "BadRequestError", "Template not found");
  if (!body.contains("personalisation") || !body["personalisation"].contains("firstName"))
    return notify_refusal(400, "BadRequestError", "Missing personalisation: firstName");
  auto made = notification(body.value("reference", ""), body["email_address"], "sending");
  notifications_.push_back(made);
  return notify_answer(
      201, {{"id", made["id"]},
            {"reference", made["reference"]},
            {"content", {{"body", "Hello"}, {"subject", "A form"}, {"from_email", "forms@notifications.service.gov.uk"}}},
            {"uri", url() + "/v2/notifications/" + made["id"].get<std::string>()},
            {"template", made["template"]},
            {"scheduled_for", nullptr}});
}

// Newest first, 250 at a time. As the real one does, it names a next page behind every page that is not empty.
Reply FakeNotify::list(const std::string& query) const {
  const auto status = query_parameter(query, "status"), older_than = query_parameter(query, "older_than"),
             reference = query_parameter(query, "reference");
  static const std::set<std::string> kStatuses{
      "", "created", "sending", "delivered", "failed", "technical-failure", "temporary-failure", "permanent-failure", "pending"};
  if (!kStatuses.contains(status))
    return notify_refusal(400, "ValidationError", "status " + status + " is not one of the known ones");
  if (!older_than.empty() && !is_uuid(older_than))
    return notify_refusal(400, "ValidationError", "older_than is not a valid UUID");
  json page = json::array();
  bool begun = older_than.empty();
  for (auto one = notifications_.rbegin(); one != notifications_.rend() && page.size() < kNotifyPage; ++one) {
    const bool wanted =
        (status.empty() || one->at("status") == status) && (reference.empty() || one->at("reference") == reference);
    if (begun && wanted) page.push_back(*one);
    begun = begun || one->at("id") == older_than;
  }
  json links{{"current", url() + query}};
  if (!page.empty())
    links["next"] = url() + "/v2/notifications?status=" + status + "&older_than=" + page.back().at("id").get<std::string>();
  return notify_answer(200, {{"notifications", page}, {"links", links}});
}

}  // namespace waybill::testing

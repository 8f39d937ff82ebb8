// Example `parcel`: a sender that can be asked later (waybill.status/1, waybill.probe/1, waybill.failures/1).
//
//   destination   {"url": "http://HOST/base"}
//   payload       sent as it is
//
//   send          POST {url}/parcels, headers Content-Type: application/json and Idempotency-Key.
//                 2xx with {"id": "R"}: accepted with provider_ref R; 2xx without: accepted. The rest by judge(): 4xx refused,
//                 ...
//   status        GET {url}/parcels/R (R percent-encoded). 200 with {"state": ...}: "delivered" accepted; "failed" rejected as
//                 undeliverable, its "reason" the detail; "under_way" deferred. Anything else: transient.
//   probe         GET {url}/health: 2xx accepted; the rest by judge()
//   failures      GET {url}/parcels?state=failed&since=SECONDS, later pages with &page=P. 200 with
//                 {"failures": [{"id": "R", "key": "our key", "reason": "word", "detail": "...", "failed_at": SECONDS}, ...],
//                  "next": "P"}: all fields but "failures" and "id" may be missing; without "next" it was the last page.
#include <functional>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "waybill/plugin.hpp"

namespace {
using namespace waybill::plugin;
using Json = nlohmann::json;

constexpr std::uint32_t kPageBytes = 1 << 20;

std::string url_for(Job job, std::string_view path) {
  auto url = Json::parse(job.destination()).at("url").get<std::string>();
  url.erase(url.find_last_not_of('/') + 1);
  return url.append(path);
}

// Whatever the receiver calls its parcels and pages, it becomes one part of a path or a query.
std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (kPlain.find(c) != std::string_view::npos)
      out += c;
    else
      out.append({'%', kHex[byte >> 4], kHex[byte & 15]});
  }
  return out;
}

// Nothing that a stranger sends makes this throw; what is no object simply has no fields.
Json json_in(std::string_view body) { return Json::parse(body, nullptr, false); }

// What is to be shown or stored as one line, "" if it is no text.
std::string line_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string()) return {};
  auto text = found->get<std::string>();
  for (auto& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  return text;
}

Outcome unusable(const Response& response, std::string_view what) {
  return Outcome::transient("invalid_answer").reach(response.reach).code(response.status).detail(std::string(what));
}

class Parcel final : public Sender, public TellsStatus, public Probes, public ListsFailures {
 public:
  Parcel(Host host, std::string_view) : http_(host.http()) {}

  void send(Call call, Job job) override {
    Request request;
    request.url = url_for(job, "/parcels");
    request.headers = {{"Content-Type", "application/json"}, {"Idempotency-Key", std::string(job.idempotency_key())}};
    request.body = job.payload();
    ask(call, request, [](const Response& response) {
      auto outcome = judge(response, "refused");
      if (response.status / 100 == 2) outcome.provider_ref(line_of(json_in(response.body), "id"));
      return outcome;
    });
  }

  void status(Call call, Job job) override {
    if (job.provider_ref().empty()) {
      call.complete(Outcome::transient("no_reference").reach(Reach::not_sent).detail("the receiver never gave the parcel an id"));
      return;
    }
    ask(call, get(url_for(job, "/parcels/" + percent_encoded(job.provider_ref()))), [](const Response& response) {
      if (response.status != 200) return not_told(response);
      const auto answer = json_in(response.body);
      const auto state = line_of(answer, "state");
      if (state == "delivered") return Outcome::accepted().code(200);
      if (state == "failed") return Outcome::rejected("undeliverable").code(200).detail(line_of(answer, "reason"));
      if (state == "under_way") return Outcome::deferred("under_way").reach(response.reach).code(200);
      return unusable(response, "the answer has no known state");
    });
  }

  void probe(Call call, Job job) override {
    ask(call, get(url_for(job, "/health")), [](const Response& response) { return judge(response, "refused"); });
  }

  void list_failures(Call call, Job job, FailureQuery query) override {
    auto path = "/parcels?state=failed&since=" + std::to_string(query.since());
    if (!query.page().empty()) path += "&page=" + percent_encoded(query.page());
    auto request = get(url_for(job, path));
    request.max_response_bytes = kPageBytes;
    ask(call, request, [query](const Response& response) {
      if (response.status != 200) return not_told(response);
      if (response.truncated) return unusable(response, "the page is too long");
      const auto answer = json_in(response.body);
      const auto list = answer.find("failures");
      if (list == answer.end() || !list->is_array()) return unusable(response, "the answer has no list of failures");
      for (const auto& one : *list) report(query, one);
      if (const auto next = line_of(answer, "next"); !next.empty()) query.next_page(next);
      return Outcome::accepted().code(200);
    });
  }

  void cancel(Call call) override {  // the fetch's callback still comes and completes the call
    if (const auto found = open_.find(call.id()); found != open_.end()) http_.abort(found->second);
  }

 private:
  using Judge = std::function<Outcome(const Response&)>;

  // Every call here is one request: `verdict` turns its answer into the outcome.
  void ask(Call call, const Request& request, Judge verdict) {
    open_[call.id()] = http_.fetch(call, request, [this, call, verdict = std::move(verdict)](const Response& response) {
      open_.erase(call.id());
      call.complete(verdict(response));
    });
  }
  static Request get(std::string url) {
    Request request;
    request.method = "GET";
    request.url = std::move(url);
    return request;
  }
  // A question that was not answered says nothing about the parcel: never rejected, whatever the status.
  static Outcome not_told(const Response& response) {
    auto outcome = judge(response, "refused");
    if (outcome.raw().verdict == WB_TRANSIENT) return outcome;
    return unusable(response, "status " + std::to_string(response.status));
  }
  static void report(const FailureQuery& query, const Json& one) {
    if (!one.is_object()) return;
    const auto id = line_of(one, "id"), key = line_of(one, "key"), detail = line_of(one, "detail");
    if (id.empty()) return;  // nobody could say whose failure that is
    const auto reason = line_of(one, "reason");
    const auto at = one.find("failed_at");
    Failure failure{id, key, reason.empty() ? std::string_view("undeliverable") : reason, detail};
    if (at != one.end() && at->is_number_integer()) failure.failed_at = at->get<std::int64_t>();
    query.report(failure);
  }

  Http http_;
  std::unordered_map<std::uint64_t, FetchId> open_;
};

constexpr wb_reason kReasons[] = {permanent("refused"), permanent("undeliverable")};
constexpr auto kParcel = action<Parcel>("parcel").reasons(kReasons).destination_schema(
    R"({"type":"object","required":["url"],"additionalProperties":false,)"
    R"("properties":{"url":{"type":"string","minLength":1,"description":"base URL of the carrier"}}})");
}  // namespace

WAYBILL_PLUGIN("org.example.parcel", "1.0.0", kParcel);

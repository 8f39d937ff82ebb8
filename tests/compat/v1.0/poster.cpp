// A plugin on the C++ wrapper of the first days of ABI 1: does what poster.c does. Built with the headers beside it and nothing
// else, and loaded by every later host.
#include <cstdio>
#include <unordered_map>
#include <waybill/plugin.hpp>

namespace {
using namespace waybill::plugin;

class Poster final : public Sender {
 public:
  Poster(Host host, std::string_view) : host_(host), http_(host.http()), timers_(host.timer()), sign_(host.sign()) {}

  void send(Call call, Job job) override {
    std::string signature = "unsigned";
    if (const auto macs = sign_.hmac_sha256("compat", {job.payload()})) signature = hex(macs->back());
    Request request;
    const auto text = job.destination();  // {"url":"http://..."} is all there is
    const auto begin = text.find('h');
    request.url = text.substr(begin, text.find('"', begin) - begin);
    request.headers = {{"X-Key", std::string(job.idempotency_key())},
                       {"X-Signature", signature},
                       {"X-Time", std::to_string(timers_.unix_seconds())},
                       {"X-Secret", "{secret:compat}"}};
    request.body = job.payload();
    host_.log(call, Level::info, "compat", {{"step", "posting"}});
    open_[call.id()].fetch = http_.fetch(call, request, [this, call](const Response& response) { answered(call, response); });
  }

  void cancel(Call call) override {
    const auto found = open_.find(call.id());
    if (found == open_.end()) return;
    if (!found->second.waits) return http_.abort(found->second.fetch);
    open_.erase(found);
    call.complete(Outcome::transient("cancelled").reach(Reach::answered));
  }

 private:
  struct Open {
    FetchId fetch{};
    Timer timer;
    bool waits = false;
  };
  static std::string hex(const Mac& mac) {
    std::string out;
    char digits[3];
    for (const auto byte : mac) std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(byte)), out += digits;
    return out;
  }
  void answered(Call call, const Response& response) {
    const int status = response.status;
    if (response.error == NetError::none && status / 100 != 2 && status / 100 != 4) {
      auto& open = open_[call.id()];
      open.waits = true;
      auto busy = Outcome::transient("busy").reach(response.reach).code(status).retry_after(response.retry_after);
      open.timer = timers_.after(call, std::chrono::milliseconds(5), [this, call, busy] {
        open_.erase(call.id());
        call.complete(busy);
      });
      return;
    }
    open_.erase(call.id());
    if (response.error != NetError::none)
      call.complete(Outcome::transient("network").reach(response.reach).detail(std::string(response.error_text)));
    else if (status / 100 == 2)
      call.complete(Outcome::accepted().code(status).result(std::string(response.body)));
    else
      call.complete(Outcome::rejected(status == 409 ? "already_seen" : "invalid_request").code(status));
  }

  Host host_;
  Http http_;
  Timers timers_;
  Signer sign_;
  std::unordered_map<std::uint64_t, Open> open_;
};

void check_destination(std::string_view destination, Report& report) {
  if (destination.size() >= 4096) report("/url", "is too long");
}

constexpr wb_reason kReasons[] = {permanent("invalid_request"), duplicate("already_seen")};
constexpr auto kPoster = action<Poster>("compat_cpp")
                             .destination_schema(R"({"type":"object"})")
                             .reasons(kReasons)
                             .validate_destination<check_destination>();
}  // namespace

WAYBILL_PLUGIN("org.example.compat.cpp", "1.0", kPoster);

// A plugin on the headers of minor 3, whose descriptor of an action ends with create: posts the payload, signed with AWS
// Signature Version 4. Built with the headers beside it and nothing else, and loaded by every later host.
#include <waybill/plugin.hpp>

namespace {
using namespace waybill::plugin;

constexpr wb_reason kReasons[] = {permanent("refused")};

class Poster final : public Sender {
 public:
  Poster(Host host, std::string_view) : http_(host.http()) {}

  void send(Call call, Job job) override {
    Request request;
    const auto text = job.destination();  // {"url":"http://..."} is all there is
    const auto begin = text.find('h');
    request.url = text.substr(begin, text.find('"', begin) - begin);
    request.body = job.payload();
    request.sigv4 = SigV4{"eu-west-2", "ses", "compat", "compat"};
    last_ = http_.fetch(call, request, [call](const Response& response) { call.complete(judge(response, "refused")); });
  }
  void cancel(Call) override { http_.abort(last_); }

 private:
  Http http_;
  FetchId last_{};
};

constexpr auto kPoster = action<Poster>("compat_minor_3").reasons(kReasons);
}  // namespace

WAYBILL_PLUGIN_NEEDING(3, "compat.minor_3", "1.3", kPoster);

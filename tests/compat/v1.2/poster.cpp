// A plugin on the headers of minor 2, whose requests end with Basic authentication: posts the payload. Built with the headers
// beside it and nothing else, and loaded by every later host.
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
    request.basic_user = "compat";
    request.basic_password = "compat";
    last_ = http_.fetch(call, request, [call](const Response& response) { call.complete(judge(response, "refused")); });
  }
  void cancel(Call) override { http_.abort(last_); }

 private:
  Http http_;
  FetchId last_{};
};

constexpr auto kPoster = action<Poster>("compat_minor_2").reasons(kReasons);
}  // namespace

WAYBILL_PLUGIN_NEEDING(2, "compat.minor_2", "1.2", kPoster);

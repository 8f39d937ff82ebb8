// Action type noop: accepts everything at once and sends nothing. For measurements of what is around a plugin.
#include "waybill/plugin.hpp"

namespace {
using namespace waybill::plugin;

constexpr std::string_view kDestination = R"({
  "type": "object",
  "required": ["url"],
  "properties": {"url": {"type": "string"}},
  "examples": [{"url": "http://127.0.0.1:9/"}]
})";
constexpr wb_reason kReasons[] = {permanent("gone")};

class Noop final : public Sender {
 public:
  Noop(Host, std::string_view) {}
  void send(Call call, Job) override { call.complete(Outcome::accepted()); }
  void cancel(Call) override {}  // no call is ever open
};

constexpr auto kNoop = action<Noop>("noop").destination_schema(kDestination).reasons(kReasons);
}  // namespace

WAYBILL_PLUGIN("waybill.bench.noop", "1.0.0", kNoop);

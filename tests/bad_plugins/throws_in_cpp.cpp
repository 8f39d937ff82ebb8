// Throws from send, written with the C++ layer, which lets no exception out.
#include <stdexcept>

#include "waybill/plugin.hpp"

namespace {
using namespace waybill::plugin;

class Thrower final : public Sender {
 public:
  Thrower(Host, std::string_view) {}
  void send(Call, Job) override { throw std::runtime_error("from C++"); }
  void cancel(Call) override {}
};

constexpr wb_reason kReasons[] = {permanent("invalid_request")};
constexpr auto kAction = action<Thrower>("throws_in_cpp").reasons(kReasons);
}  // namespace

WAYBILL_PLUGIN("test.throws_in_cpp", "1.0.0", kAction);

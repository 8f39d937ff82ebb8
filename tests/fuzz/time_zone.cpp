// TZif files and rules: what is taken has an offset of less than a week at every time, there and back.
#include "base/time_zone.h"

#include <cstdlib>

#include "fuzz/fuzz.h"

namespace waybill::fuzz {
namespace {

void look(const Result<TimeZone>& zone) {
  if (!zone)
    return promise(zone.error().kind == Error::Kind::invalid && !zone.error().what.empty(), "a zone is taken or refused");
  for (std::int64_t at = -10'000'000'000; at <= 250'000'000'000; at += 7'777'777'777) {
    const auto offset = zone->offset_at(at).count();
    promise(std::abs(offset) < 7 * 86'400, "an offset is less than a week");
    promise(std::abs(zone->utc_of(at) - at) < 15 * 86'400, "a local time is within two weeks of UTC");
  }
}

}  // namespace
}  // namespace waybill::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace waybill;
  fuzz::look(TimeZone::parse(fuzz::text_of(data, size)));
  fuzz::look(TimeZone::of_rule(fuzz::text_of(data, size)));
  return 0;
}

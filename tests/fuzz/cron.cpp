// Schedules: what is taken has a next time, later than any other, and at a whole minute that fits.
#include "domain/cron.h"

#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace waybill;
  static const auto kZone = TimeZone::of_rule("CET-1CEST,M3.5.0,M10.5.0/3");
  const auto schedule = parse_cron(fuzz::text_of(data, size));
  if (!schedule) {
    fuzz::promise(schedule.error().kind == Error::Kind::invalid && !schedule.error().what.empty(),
                  "a schedule is taken or refused");
    return 0;
  }
  Timestamp at{1'767'225'600'000'000};  // 2026-01-01
  for (int i = 0; i < 3; ++i) {
    const auto next = next_after(*schedule, at, *kZone);
    fuzz::promise(next.micros > at.micros && next.micros % 60'000'000 == 0, "the next time is a whole minute, and later");
    at = next;
  }
  return 0;
}

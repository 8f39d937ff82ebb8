// RFC 3339: what is read is written, and what is written is read as the same time.
#include "base/time.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace waybill;
  const auto time = parse_rfc3339(fuzz::text_of(data, size));
  if (!time) return 0;
  const auto text = format_rfc3339(*time);
  const auto again = parse_rfc3339(text);
  fuzz::promise(again == time, "a time that was read is written as the same time");
  fuzz::promise(format_rfc3339(*again) == text, "a time is written in one way");
  return 0;
}

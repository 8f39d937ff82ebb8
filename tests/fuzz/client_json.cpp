// The C++ client's reader of JSON: it takes what nlohmann_json takes, reads it as the same, and takes little else.  Q8
#include "fuzz/fuzz.h"
#include "tests/json_promises.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace waybill::client;
  const std::string text(waybill::fuzz::text_of(data, size));
  const auto broken = testing::broken_promise(text);
  waybill::fuzz::promise(broken.empty(), broken.c_str());
  if (const auto value = detail::Value::of(text)) {  // answers of any shape are taken or refused
    AnySubmission submission;
    History history;
    Batch batch;
    detail::read(*value, submission);
    detail::read(*value, history);
    detail::read(*value, batch);
  }
  return 0;
}

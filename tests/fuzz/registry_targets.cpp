// targets.json: JSON with comments as a tree that is written as the same JSON, and its contracts.
#include <nlohmann/json.hpp>

#include "base/json_document.h"
#include "fuzz/fuzz.h"
#include "registry/targets_file.h"
#include "unit/registry/fake_action_types.h"

namespace waybill::fuzz {
namespace {

void tree(std::string_view text) {
  const auto value = parse_json(text, "file.json");
  if (!value) return promise(!value.error().empty(), "a refused text has a problem");
  promise(nlohmann::json::accept(without_comments(text)), "nothing but JSON and comments is read");
  const auto json = to_json(*value);
  const auto again = parse_json(json, "file.json");
  promise(again && to_json(*again) == json, "a text that was read is written and read as the same");
}

void targets(std::string_view text) {
  static const testing::FakeActionTypes types;
  Problems absent;
  const auto contracts = read_targets(text, "targets.json", types, &absent);
  if (!contracts) return promise(!contracts.error().empty(), "a refused file has a problem");
  promise(!contracts->empty(), "a file holds targets");
  for (const auto& contract : *contracts)
    promise(!contract.target.empty() && contract.target.size() <= kMaxTargetNameLength && !contract.url.empty() &&
                nlohmann::json::accept(contract.destination),
            "a contract has a name, an address and a destination");
}

}  // namespace
}  // namespace waybill::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = waybill::fuzz::text_of(data, size);
  waybill::fuzz::tree(text);
  waybill::fuzz::targets(text);
  return 0;
}

// Cutting a batch into its items, and putting their answers together.
#include "api/intent_batch.h"

#include <algorithm>

#include "api/json_text.h"
#include "base/json_reader.h"

namespace waybill {
namespace {

tl::unexpected<Error> malformed(std::size_t at, const std::string& why) {
  return fail(Error::Kind::invalid, "malformed JSON at byte " + std::to_string(at + 1) + ": " + why);
}

Result<std::vector<std::string_view>> items_of_array(std::string_view body) {
  std::vector<std::string_view> items;
  std::size_t at = skip_space(body, 1);
  if (at < body.size() && body[at] == ']') return items;
  for (;;) {
    const std::size_t end = end_of_value(body, at);
    if (end == at || end >= body.size()) return malformed(at, "a value or the array's end is missing");
    items.push_back(body.substr(at, end - at));
    at = skip_space(body, end);
    if (at >= body.size() || (body[at] != ',' && body[at] != ']')) return malformed(at, "expected , or ]");
    if (body[at] == ']') break;
    at = skip_space(body, at + 1);
  }
  if (const auto rest = skip_space(body, at + 1); rest < body.size()) return malformed(rest, "text behind the array");
  return items;
}

// Blank lines count as nothing.
std::vector<std::string_view> items_of_lines(std::string_view body) {
  std::vector<std::string_view> items;
  while (!body.empty()) {
    const auto line = body.substr(0, body.find('\n'));
    if (skip_space(line, 0) < line.size()) items.push_back(line);
    body.remove_prefix(std::min(body.size(), line.size() + 1));
  }
  return items;
}

}  // namespace

Result<std::vector<Result<IntentRequest>>> read_batch(std::string_view body) {
  if (const auto nul = nul_in(body)) return malformed(*nul, "a NUL byte");
  body.remove_prefix(skip_space(body, 0));
  auto items = body.starts_with('[') ? items_of_array(body) : Result<std::vector<std::string_view>>(items_of_lines(body));
  TRY(items);
  if (items->empty()) return fail(Error::Kind::invalid, "the batch is empty: give an array of intents, or one in each line");
  if (items->size() > kMaxIntentsInBatch)
    return fail(Error::Kind::invalid,
                "a batch holds at most " + std::to_string(kMaxIntentsInBatch) + " intents, not " + std::to_string(items->size()));
  std::vector<Result<IntentRequest>> intents;
  intents.reserve(items->size());
  for (std::size_t i = 0; i < items->size(); ++i) {
    intents.push_back(read_intent((*items)[i]));
    if (intents.back()) continue;
    if (const auto fault = malformed_json((*items)[i]); !fault.empty())
      return fail(Error::Kind::invalid, "item " + std::to_string(i) + ": " + fault);
  }
  return intents;
}

std::string batch_json(const std::vector<http::Response>& answers) {
  std::string json = "{\"results\":[";
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const http::Response& answer = answers[i];
    json += (i == 0 ? "{\"status\":" : ",{\"status\":") + std::to_string(answer.status) + ",";
    // An error's body is {"error":{...}} already.
    json += answer.status == 200 ? "\"intent\":" + answer.body + "}" : answer.body.substr(1);
  }
  return json + "]}";
}

}  // namespace waybill

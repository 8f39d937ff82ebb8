// Finds the schema of a command by its words, closes it, and checks the output.
#include "support/command_schema.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_check.h"
#include "support/temp_folder.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

std::string text_of_schema(const std::string& name) {
  return read_file(std::filesystem::path(WAYBILL_TEST_SCHEMAS) / (name + ".schema.json"));
}

json closed(json schema) {
  if (schema.is_object() && schema.contains("properties") && !schema.contains("additionalProperties"))
    schema["additionalProperties"] = false;
  if (schema.is_structured())
    for (auto& part : schema) part = closed(std::move(part));
  return schema;
}

std::string schema_name(const std::vector<std::string>& arguments) {
  std::vector<std::string> words;
  for (const auto& word : arguments)
    if (!word.starts_with('-')) words.push_back(word);
  if (words.size() > 1 && !text_of_schema(words[0] + "-" + words[1]).empty()) return words[0] + "-" + words[1];
  return words.empty() ? "" : words[0];
}

}  // namespace

std::string schema_fault(const std::vector<std::string>& arguments, const CommandResult& result) {
  if (std::find(arguments.begin(), arguments.end(), "--json") == arguments.end()) return {};
  const auto printed = json::parse(result.out, nullptr, false);
  if (printed.is_discarded()) return "it printed no JSON: " + result.out + result.err;
  const bool is_error = printed.is_object() && printed.contains("error") && printed.size() == 1;
  if (is_error && result.exit_code == 0) return "an error, and exit code 0: " + result.out;
  const auto name = is_error ? "error" : schema_name(arguments);
  const auto schema = text_of_schema(name);
  if (schema.empty()) return "there is no docs/commands/" + name + ".schema.json";
  // JsonCheck takes objects, and some commands print a list.
  const auto check = JsonCheck::compile(json{{"properties", {{"printed", closed(json::parse(schema))}}}}.dump());
  if (!check) return name + ".schema.json: " + check.error().what;
  std::string faults;
  for (const auto& problem : check->check(json{{"printed", printed}}.dump()))
    faults += name + ".schema.json: " + to_string(problem) + "\n";
  return faults.empty() ? "" : faults + result.out;
}

}  // namespace waybill::testing

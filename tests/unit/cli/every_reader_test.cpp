// Every reader of a text that comes from outside: a NUL, wherever it stands, refuses the whole.  S4
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "api/dead_json.h"
#include "api/form_json.h"
#include "api/intent_batch.h"
#include "api/notify_json.h"
#include "api/org_json.h"
#include "api/pipeline_json.h"
#include "base/json_check.h"
#include "base/json_document.h"
#include "config/document.h"
#include "domain/contract.h"

namespace waybill {
namespace {

struct Reader {
  std::string good;  // what it takes
  bool (*takes)(const std::string& text);
};

const std::vector<Reader> kReaders{
    {R"({"intentId":"a","submissionTarget":"t","payload":{"x":[1,"y"]}})",
     [](const auto& t) { return read_intent(t).has_value(); }},
    {R"([{"intentId":"a","submissionTarget":"t"},{"intentId":"b","submissionTarget":"t"}])",
     [](const auto& t) { return read_batch(t).has_value(); }},
    {"{\"intentId\":\"a\",\"submissionTarget\":\"t\"}\n{\"intentId\":\"b\",\"submissionTarget\":\"t\"}\n",
     [](const auto& t) { return read_batch(t).has_value(); }},
    {R"({"submissionId":"a","formId":"f","fields":{"x":[1]},"attachments":[]})",
     [](const auto& t) { return read_form_request(t).has_value(); }},
    {R"({"clamavStatus":"clean"})", [](const auto& t) { return read_scan_result(t).has_value(); }},
    {R"({"submissionId":"a","payload":{"x":1},"metadata":{"y":2}})",
     [](const auto& t) { return read_pipeline_request(t).has_value(); }},
    {R"({"submissionId":"a","answers":[1]})", [](const auto& t) { return read_forms_request(t).has_value(); }},
    {R"({"to":"a","trigger":"b","comment":"c"})", [](const auto& t) { return read_transition(t).has_value(); }},
    {R"({"fields":{"x":1},"destination":"d"})", [](const auto& t) { return read_edit(t).has_value(); }},
    {R"({"dryRun":true})", [](const auto& t) { return read_dry_run(t).has_value(); }},
    {R"({"reference":"a","dryRun":true})", [](const auto& t) { return read_bulk_replay(t).has_value(); }},
    {R"({"submissionId":"a"})", [](const auto& t) { return read_new_reference(t).has_value(); }},
    {R"({"name":"a"})", [](const auto& t) { return read_new_org(t).has_value(); }},
    {R"({"weight":3})", [](const auto& t) { return read_org_change(t).has_value(); }},
    {R"({"name":"a","status":"draft"})", [](const auto& t) { return read_new_rule(t).has_value(); }},
    {R"({"name":"a"})", [](const auto& t) { return read_rule_change(t).has_value(); }},
    {R"({"eventId":"a","snapshot":{"x":1}})", [](const auto& t) { return read_event(t, "rule").has_value(); }},
    {R"({"since":"2026-01-01T00:00:00Z","until":"2026-01-02T00:00:00Z"})",
     [](const auto& t) { return read_recovery(t).has_value(); }},
    {"# a comment\n{\"a\": [1, {\"b\": \"c\"}]}\n", [](const auto& t) { return parse_json(t, "f").has_value(); }},
    {"# a comment\na: [1, {b: \"c\"}]\n", [](const auto& t) { return config::parse_document(t, "f").has_value(); }},
    {R"({"type":"object"})", [](const auto& t) { return JsonCheck::compile(t).has_value(); }},
    {R"({"a":1})", [](const auto& t) { return JsonCheck::compile("{}")->check(t).empty(); }},
    {to_json(Contract{.target = "t", .action_type = "a", .url = "u", .destination = "{}"}),
     [](const auto& t) { return contract_from_json(t).has_value(); }}};

RC_GTEST_PROP(EveryReader, RefusesANulWhereverItStands, ()) {
  const auto& reader = kReaders[*rc::gen::inRange<std::size_t>(0, kReaders.size())];
  RC_ASSERT(reader.takes(reader.good));
  auto text = reader.good;
  text.insert(*rc::gen::inRange<std::size_t>(0, text.size() + 1), 1, '\0');
  if (*rc::gen::arbitrary<bool>()) text += reader.good;  // what nobody would have read
  RC_ASSERT(!reader.takes(text));
}

TEST(EveryReader, RefusesANulAtTheEndAndBehindIt) {
  for (const auto& reader : kReaders) {
    EXPECT_TRUE(reader.takes(reader.good)) << reader.good;
    EXPECT_FALSE(reader.takes(reader.good + '\0')) << reader.good;
    EXPECT_FALSE(reader.takes(reader.good + '\0' + "}x")) << reader.good;
    EXPECT_FALSE(reader.takes('\0' + reader.good)) << reader.good;
  }
}

}  // namespace
}  // namespace waybill

// Batches of intents: cut into items, each judged by itself; what is no JSON refuses the whole.  M1 M4
#include "api/intent_batch.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace waybill {
namespace {

std::vector<std::string> ids_of(std::string_view body) {
  const auto batch = read_batch(body);
  EXPECT_TRUE(batch) << batch.error().what;
  std::vector<std::string> ids;
  if (batch)
    for (const auto& item : *batch) ids.push_back(item ? item->intent_id : "<" + item.error().what + ">");
  return ids;
}
std::string fault_of(std::string_view body) {
  const auto batch = read_batch(body);
  return batch ? "none" : batch.error().what;
}
std::string item(const std::string& id, const std::string& more = {}) {
  return R"({"intentId":")" + id + R"(","submissionTarget":"t")" + more + "}";
}
using Words = std::vector<std::string>;

TEST(IntentBatch, IsAnArrayOrOneInEachLine) {
  EXPECT_EQ(ids_of("[" + item("a") + "," + item("b") + "]"), (Words{"a", "b"}));
  EXPECT_EQ(ids_of(" \n[ " + item("a") + " ,\n" + item("b") + " ] \n"), (Words{"a", "b"}));
  EXPECT_EQ(ids_of(item("a") + "\n" + item("b")), (Words{"a", "b"}));
  EXPECT_EQ(ids_of(item("a") + "\r\n\n  \n" + item("b") + "\n"), (Words{"a", "b"}));
  EXPECT_EQ(ids_of(item("a")), Words{"a"});
}

TEST(IntentBatch, CutsNoPayloadShort) {
  const std::string payload = R"({"x":"],[{\"}\\","y":[[1],{"z":", ]"}]})";
  const auto batch = read_batch("[" + item("a", ",\"payload\":" + payload) + "," + item("b") + "]");
  ASSERT_TRUE(batch) << batch.error().what;
  ASSERT_EQ(batch->size(), 2u);
  EXPECT_EQ((*batch)[0]->payload, payload);
  EXPECT_EQ((*batch)[1]->intent_id, "b");
}

TEST(IntentBatch, AnItemThatIsNoGoodIntentLeavesTheOthersAlone) {
  EXPECT_EQ(ids_of("[" + item("a") + R"(,{"intentId":"b"},7,)" + item("c", R"(,"colour":1)") + "]"),
            (Words{"a", "<submissionTarget is missing>", "<the body must be a JSON object, not a number>",
                   "<unknown field \"colour\">"}));
}

TEST(IntentBatch, WhatIsNoJsonRefusesTheWhole) {
  for (const auto& bad :
       std::vector<std::string>{"[" + item("a"), "[" + item("a") + ",]", "[" + item("a") + " " + item("b") + "]",
                                "[" + item("a") + "] x", "[,]", "[" + item("a") + R"(,{"intentId":"b"])", "[\"", "[\"\\"})
    EXPECT_NE(fault_of(bad).find("malformed JSON at byte"), std::string::npos) << bad << ": " << fault_of(bad);
  EXPECT_TRUE(fault_of(item("a") + "\n{\"intentId\"").starts_with("item 1: malformed JSON at byte"))
      << fault_of(item("a") + "\n{");
}

TEST(IntentBatch, HasBounds) {
  for (const char* empty : {"", " \n ", "[]", "[ ]"}) EXPECT_TRUE(fault_of(empty).starts_with("the batch is empty")) << empty;
  std::string many = "[" + item("a");
  for (std::size_t i = 0; i < kMaxIntentsInBatch; ++i) many += ",0";
  EXPECT_EQ(fault_of(many + "]"), "a batch holds at most 10000 intents, not 10001");
}

TEST(IntentBatch, AnswersInTheOrderOfItsItems) {
  const auto json =
      nlohmann::json::parse(batch_json({http::json_response(200, R"({"intentId":"a"})"), http::invalid_request("so \"bad\""),
                                        http::error_response(409, "idempotency_conflict", "other")}));
  ASSERT_EQ(json["results"].size(), 3u);
  EXPECT_EQ(json["results"][0], (nlohmann::json{{"status", 200}, {"intent", {{"intentId", "a"}}}}));
  EXPECT_EQ(json["results"][1]["status"], 400);
  EXPECT_EQ(json["results"][1]["error"]["message"], "so \"bad\"");
  EXPECT_EQ(json["results"][2]["error"]["code"], "idempotency_conflict");
}

}  // namespace
}  // namespace waybill

// POST /v1/intents:batch: many intents in one request, each durable and idempotent by itself.
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <thread>
#include <utility>

#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

class Batch : public World {
 protected:
  HttpResponse post(const std::string& body) { return client().request("POST", "/v1/intents:batch", body); }
  // How far the host's threads stand back: the scheduling policy and "nice" of each, from the lowest to the highest.
  std::vector<std::pair<int, int>> standing_of_threads() {
    std::vector<std::pair<int, int>> all;
    const auto pid = host().pid();
    for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
      const auto told = told_of(pid, "task/" + thread.path().filename().string() + "/stat");
      if (told.empty()) continue;
      std::istringstream fields(told.substr(told.find(')') + 2));
      const std::vector<std::string> words{std::istream_iterator<std::string>(fields), {}};
      if (words.size() > 38) all.emplace_back(std::stoi(words[38]), std::stoi(words[16]));  // fields 41 and 19; two stand before
    }
    std::sort(all.begin(), all.end());
    return all;
  }
  static json many(const std::string& prefix, int count) {
    json all = json::array();
    for (int i = 0; i < count; ++i) all.push_back(sms_intent(prefix + std::to_string(i), "sms.attempts"));
    return all;
  }
};

// M1 M2
TEST_F(Batch, EveryIntentOfItIsTakenAndEnds) {
  const auto answer = post(many("b-", 1000).dump());
  ASSERT_EQ(answer.status, 200) << answer.body;
  const auto results = answer.json().at("results");
  ASSERT_EQ(results.size(), 1000u);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(results[i].at("status"), 200);
    EXPECT_EQ(results[i].at("intent").at("intentId"), "b-" + std::to_string(i));
  }
  EXPECT_TRUE(eventually(
      [&] { return sql().number("SELECT count(*) FROM waybill.submission_states WHERE state = 'accepted'") == 1000; }));
  EXPECT_EQ(gateway.count(), 1000u);
}

// M2
TEST_F(Batch, AgainAndInPartsAndTwiceInOneItIsTheSame) {
  const auto all = many("b-", 50);
  ASSERT_EQ(post(all.dump()).status, 200);
  auto overlapping = many("b-", 60);
  overlapping.push_back(overlapping[59]);
  overlapping.push_back(sms_intent("b-0", "sms.once"));  // another target: a contradiction
  const auto results = post(overlapping.dump()).json().at("results");
  ASSERT_EQ(results.size(), 62u);
  for (int i = 0; i < 61; ++i) EXPECT_EQ(results[i].at("status"), 200) << results[i];
  EXPECT_EQ(results[61].at("status"), 409);
  EXPECT_EQ(results[61].at("error").at("code"), "idempotency_conflict");
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.submissions"), 60);
}

// M2
TEST_F(Batch, ManyCallersOfTheSameBatchMakeItOnce) {
  const auto body = many("b-", 200).dump();
  host();
  std::vector<std::jthread> callers;
  for (int i = 0; i < 4; ++i)
    callers.emplace_back([&, port = host().port()] {
      const auto answer = HttpClient(port).request("POST", "/v1/intents:batch", body);
      EXPECT_EQ(answer.status, 200);
      const auto said = answer.json();  // outlives the loop over a part of it
      for (const auto& result : said.at("results")) EXPECT_EQ(result.at("status"), 200) << result;
    });
  callers.clear();
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.submissions"), 200);
}

// M4
TEST_F(Batch, BadItemsAreNamedAndTheOthersTaken) {
  json mixed = json::array({sms_intent("good", "sms.attempts"), sms_intent("lost", "nowhere"), {{"intentId", "half"}}, 7});
  std::string lines;
  for (const auto& item : mixed) lines += item.dump() + "\n";
  for (const auto& body : {mixed.dump(), lines}) {
    const auto results = post(body).json().at("results");
    ASSERT_EQ(results.size(), 4u);
    EXPECT_EQ(results[0].at("status"), 200);
    EXPECT_EQ(results[1].at("error").at("message"), "unknown submissionTarget \"nowhere\"");
    EXPECT_EQ(results[2].at("error").at("message"), "submissionTarget is missing");
    EXPECT_EQ(results[3].at("status"), 400);
  }
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.submissions"), 1);
}

// M4
TEST_F(Batch, WhatIsNoJsonStoresNothing) {
  const auto whole = many("b-", 10).dump();
  const auto cut = post(whole.substr(0, whole.size() - 5));
  EXPECT_EQ(cut.status, 400);
  EXPECT_EQ(cut.json().at("error").at("code"), "invalid_request");
  EXPECT_EQ(post("[]").status, 400);
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.submissions"), 0);
}

// T17: only the threads that read large bodies yield to all others of the host
TEST_F(Batch, OneOfMoreThanAKibibyteIsReadApartFromTheEventLoops) {
  host();
  ASSERT_EQ(post(json(std::vector<json>(100, json::object())).dump()).status, 200);
  const auto before = standing_of_threads();
  ASSERT_EQ(before.front(), before.back()) << "small ones are read where they come in";
  const auto answer = post(json(std::vector<json>(400, json::object())).dump());
  ASSERT_EQ(answer.status, 200);
  EXPECT_EQ(answer.json().at("results").size(), 400u);
  EXPECT_GE(standing_of_threads().back(), std::pair(SCHED_BATCH, 10));
}

}  // namespace
}  // namespace waybill::testing

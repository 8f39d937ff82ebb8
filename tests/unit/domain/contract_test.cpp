// Contracts as they are stored: what goes in comes out, and nothing else.  M10
#include "domain/contract.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace waybill {
namespace {

Contract full(Policy policy) {
  return {.target = "sms.\"primary\"",
          .action_type = "sms",
          .url = "https://gateway.example.org:8443/a?b=c",
          .destination = R"({"url":"https://gateway.example.org","name":"Zoë \u0001"})",
          .policy = policy,
          .max_acceptance = Seconds(policy == Policy::deadline ? 86'400 : 0),
          .max_attempts = policy == Policy::max_attempts ? 7u : 0u,
          .terminal_outcomes = {"invalid_request", "invalid_recipient"},
          .duplicate_reasons = {"duplicate_reference"}};
}

TEST(Contract, ComesBackFromItsStoredFormUnchanged) {  // M10
  for (const Policy policy : {Policy::deadline, Policy::max_attempts, Policy::one_shot}) {
    const auto back = contract_from_json(to_json(full(policy)));
    ASSERT_TRUE(back) << back.error().what;
    EXPECT_EQ(*back, full(policy)) << to_string(policy);
  }
}

TEST(Contract, IsStoredWithSortedKeysSoThatTheSameContractHasTheSameHash) {  // M10
  EXPECT_EQ(
      to_json({.target = "t",
               .action_type = "sms",
               .url = "http://h/",
               .destination = "{}",
               .policy = Policy::max_attempts,
               .max_attempts = 2}),
      R"({"actionType":"sms","destination":"{}","duplicateReasons":[],"maxAttempts":2,"policy":"max_attempts","target":"t",)"
      R"("terminalOutcomes":[],"url":"http://h/"})");
}

TEST(Contract, ARateIsPartOfItAndItsAbsenceChangesNothing) {  // E14
  auto contract = full(Policy::one_shot);
  const auto without = to_json(contract);
  EXPECT_EQ(without.find("rate"), std::string::npos);
  contract.rate = Rate{600, std::chrono::minutes(1)};
  contract.count_outages = true;  // T14
  EXPECT_NE(to_json(contract), without);
  const auto back = contract_from_json(to_json(contract));
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(*back, contract);
}

TEST(Contract, ARateIsACountAndASecondAMinuteOrAnHour) {  // E14
  for (const auto* text : {"10/s", "1/m", "100000/h"}) EXPECT_EQ(rate_text(*rate_from(text)), text);
  EXPECT_EQ(rate_from("10/s"), (Rate{10, Seconds(1)}));
  EXPECT_EQ(rate_from("1/m"), (Rate{1, Seconds(60)}));
  EXPECT_EQ(rate_from("100000/h"), (Rate{100'000, Seconds(3600)}));
  for (const auto* bad : {"", "/", "/s", "10", "10/", "10/d", "10/ss", "0/s", "010/s", "-1/s", "+1/s", " 1/s", "1 /s", "1.5/s",
                          "100001/s", "99999999999/s", "ten/s", "10/S"})
    EXPECT_FALSE(rate_from(bad)) << bad;
}

TEST(Contract, EachDifferenceShowsInTheStoredForm) {  // M10
  const auto base = full(Policy::deadline);
  std::vector<Contract> others(8, base);
  others[0].target = "other";
  others[1].action_type = "push";
  others[2].url = "https://other.example.org";
  others[3].destination = "{}";
  others[4].max_acceptance = Seconds(1);
  others[5].terminal_outcomes.pop_back();
  others[6].duplicate_reasons.clear();
  others[7] = full(Policy::one_shot);
  for (const auto& other : others) EXPECT_NE(to_json(other), to_json(base));
}

TEST(Contract, ADamagedStoredFormIsABugOfOursAndNoCrash) {
  const std::string whole = to_json(full(Policy::deadline));
  for (const std::string& damaged :
       {std::string(), std::string("{}"), std::string("[]"), std::string("null"), whole.substr(0, whole.size() / 2),
        std::string(R"({"policy":"sometimes"})"), std::string(R"({"policy":3})")}) {
    const auto back = contract_from_json(damaged);
    ASSERT_FALSE(back) << damaged;
    EXPECT_EQ(back.error().kind, Error::Kind::bug);
  }
  for (const char* field : {"target", "actionType", "url", "destination", "policy", "terminalOutcomes", "duplicateReasons"}) {
    auto json = nlohmann::json::parse(whole);
    json.erase(field);
    EXPECT_FALSE(contract_from_json(json.dump())) << field;
    json[field] = 5;
    EXPECT_FALSE(contract_from_json(json.dump())) << field;
  }
}

TEST(Contract, PoliciesHaveTheWordsOfTheRegistry) {
  for (const Policy policy : {Policy::deadline, Policy::max_attempts, Policy::one_shot})
    EXPECT_EQ(policy_from(to_string(policy)), policy);
  EXPECT_EQ(to_string(Policy::one_shot), "one_shot");
  EXPECT_FALSE(policy_from("oneshot"));
  EXPECT_FALSE(policy_from(""));
}

TEST(Contract, OnlyThePolicyDeadlineHasADeadline) {  // M7
  const Timestamp created{5'000'000};
  EXPECT_EQ(full(Policy::deadline).deadline(created), (Timestamp{5'000'000 + 86'400'000'000}));
  EXPECT_FALSE(full(Policy::max_attempts).deadline(created));
  EXPECT_FALSE(full(Policy::one_shot).deadline(created));
}

TEST(Contract, AReasonIsTerminalOrDuplicateByItsWholeName) {
  const auto contract = full(Policy::one_shot);
  EXPECT_TRUE(contract.is_terminal("invalid_recipient"));
  EXPECT_FALSE(contract.is_terminal("invalid"));
  EXPECT_FALSE(contract.is_terminal("duplicate_reference"));
  EXPECT_TRUE(contract.is_duplicate("duplicate_reference"));
  EXPECT_FALSE(contract.is_duplicate("invalid_request"));
  EXPECT_FALSE(contract.is_duplicate(""));
}

}  // namespace
}  // namespace waybill

// Forms on their way in: what is stored of one, and when the claimer is woken.  F4 M2
#include "intake/form_intake.h"

#include <gtest/gtest.h>

#include <functional>

#include "support/call_builders.h"

namespace waybill {
namespace {

using How = SubmitResult::How;

struct LetterType final : ActionTypes {
  const ActionType* find(std::string_view name) const override { return name == type.name ? &type : nullptr; }
  std::vector<std::string> names() const override { return {type.name}; }
  Problems check_destination(std::string_view, const std::string&) const override { return {}; }
  Problems check_settings(std::string_view, const std::string&) const override { return {}; }
  ActionType type{.name = "letter", .reasons = {{.name = "no_such_street", .permanent = true}}};
};

// Answers as it is told, and remembers what it was handed.
struct ScriptedStore final : FormStore {
  Result<SubmitResult> submit(const NewFormSubmission& submission) override {
    stored.push_back({submission.client_ref,
                      submission.form_id,
                      submission.hash,
                      submission.finalize,
                      {submission.actions.begin(), submission.actions.end()},
                      {submission.contracts.begin(), submission.contracts.end()},
                      submission.fault});
    return answer;
  }
  Result<std::optional<FormState>> finalize(OrgId, const std::string&) override { return state; }
  Result<std::optional<FormState>> scan(OrgId, const std::string&, Scan, const std::string&) override { return state; }
  Result<std::optional<FormView>> find(OrgId, const std::string&) override { return known; }
  Result<SubmissionPage> list(OrgId, const SubmissionFilter&, std::size_t, const std::optional<DeliveryCursor>&) override {
    return SubmissionPage{};
  }
  Result<FormChanges> load(std::span<const Form>, const LoadActor&) override { return FormChanges{}; }
  Result<std::int64_t> ask_reload(const std::string&, std::span<const std::string>) override { return 1; }
  Result<std::optional<ReloadRequest>> newest_reload(const std::string&) override { return std::nullopt; }
  Result<void> publish_registry(HostId, const RegistryReport&) override { return {}; }
  Result<std::vector<HostRegistry>> registries() override { return std::vector<HostRegistry>{}; }
  Result<SweepResult> sweep(Shard, Seconds) override { return SweepResult{}; }
  Result<PurgeResult> purge(Shard, std::size_t) override { return PurgeResult{}; }

  struct Stored {
    std::string client_ref, form_id;
    Sha256 hash;
    bool finalize;
    std::vector<FormAction> actions;
    std::vector<Contract> contracts;
    std::string fault;
  };
  std::vector<Stored> stored;
  Result<SubmitResult> answer = SubmitResult{How::created, {.client_ref = "s-1", .state = "received"}};
  Result<std::optional<FormState>> state = FormState{"s-1", "processing"};
  Result<std::optional<FormView>> known = std::optional<FormView>{};
};

class TakingInForms : public ::testing::Test {
 protected:
  NewForm handed_in(bool known_form = true) const {
    return {.org = kDefaultOrg,
            .submission_id = "s-1",
            .form_id = "contact",
            .fields = "{}",
            .attachments_json = "[]",
            .attachments = {},
            .kept_until = {},
            .finalize = true,
            .form = known_form ? std::make_shared<const Form>(form) : nullptr};
  }

  Form form{.id = "contact",
            .name = "Contact us",
            .actions = {{.order = 1, .action_type = "letter"}, {.order = 2, .action_type = "telegram"}}};
  LetterType types;
  ScriptedStore store;
  int woken = 0;
  FormIntake intake{types, [this] { ++woken; }};
};

TEST_F(TakingInForms, ASubmissionIsStoredWithTheContractsThatItsActionsHaveNow) {
  const auto answer = intake.submit(store, handed_in());
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_EQ(answer->how, How::created);
  ASSERT_EQ(store.stored.size(), 1u);
  const auto& one = store.stored[0];
  EXPECT_EQ(one.client_ref + " " + one.form_id, "s-1 contact");
  EXPECT_TRUE(one.finalize);
  EXPECT_EQ(one.hash, content_hash(handed_in()));
  EXPECT_EQ(one.actions, form.actions);
  ASSERT_EQ(one.contracts.size(), 2u);
  EXPECT_EQ(one.contracts[0], contract_of(form, form.actions[0], &types.type)) << "its plugin's permanent reasons end it";
  EXPECT_EQ(one.contracts[1], contract_of(form, form.actions[1], nullptr)) << "no plugin has this type";
  EXPECT_EQ(woken, 1);
}

TEST_F(TakingInForms, WhatTheFormDoesNotTakeIsAFaultUnlessItIsStoredAlready) {  // D2 D4
  form.fields_schema = *FieldsSchema::compile(R"({"required":["name"]})");
  intake.submit(store, handed_in());
  auto good = handed_in();
  good.fields = R"({"name":"Ann"})";
  intake.submit(store, good);
  ASSERT_EQ(store.stored.size(), 2u);
  EXPECT_EQ(store.stored[0].fault, "fields.name: is missing") << "the store knows whether it is there";
  EXPECT_EQ(store.stored[1].fault, "");
}

TEST_F(TakingInForms, TheClaimerIsWokenUnlessNothingWasStored) {
  const std::pair<Result<SubmitResult>, int> cases[] = {
      {SubmitResult{How::created, {}}, 1},         {SubmitResult{How::existing, {}}, 1},  // it may have been finalized now
      {SubmitResult{How::conflict, {}}, 0},        {fail(Error::Kind::conflict, "an attachment of another submission"), 0},
      {fail(Error::Kind::unavailable, "away"), 0},
  };
  for (const auto& [answer, wanted] : cases) {
    woken = 0;
    store.answer = answer;
    EXPECT_EQ(intake.submit(store, handed_in()).has_value(), answer.has_value());
    EXPECT_EQ(woken, wanted) << (answer ? "how " + std::to_string(static_cast<int>(answer->how)) : answer.error().what);
  }
}

TEST_F(TakingInForms, WithoutItsFormOnlyASubmissionFromBeforeIsStillItself) {
  const auto unknown = intake.submit(store, handed_in(false));
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().kind, Error::Kind::invalid);
  EXPECT_EQ(unknown.error().what, "unknown formId \"contact\"");
  store.known = FormView{.submission = {.client_ref = "s-1", .target = "another"}};
  EXPECT_FALSE(intake.submit(store, handed_in(false)));
  EXPECT_TRUE(store.stored.empty()) << "nothing may be stored without its actions";
  EXPECT_EQ(woken, 0);
  store.known = FormView{.submission = {.client_ref = "s-1", .target = "contact"}};
  store.answer = SubmitResult{How::existing, {.client_ref = "s-1", .state = "routed"}};
  EXPECT_EQ(intake.submit(store, handed_in(false)).value().view.state, "routed");
  store.known = fail(Error::Kind::unavailable, "away");
  EXPECT_EQ(intake.submit(store, handed_in(false)).error().kind, Error::Kind::unavailable);
}

TEST_F(TakingInForms, WhatCompletesASubmissionWakesTheClaimerIfThereIsSuchASubmission) {
  EXPECT_EQ(intake.finalize(store, kDefaultOrg, "s-1").value()->state, "processing");
  EXPECT_EQ(intake.scan(store, kDefaultOrg, "a-1", Scan::clean, "clam").value()->state, "processing");
  EXPECT_EQ(woken, 2);
  store.state = std::optional<FormState>{};
  EXPECT_FALSE(intake.finalize(store, kDefaultOrg, "s-1").value());
  store.state = fail(Error::Kind::conflict, "it is purged");
  EXPECT_FALSE(intake.scan(store, kDefaultOrg, "a-1", Scan::infected, "clam"));
  EXPECT_EQ(woken, 2);
}

// T15: each call tells whether the database stores; a full disk is none of the client's faults
TEST_F(TakingInForms, EachCallTellsWhetherAnythingCanBeStored) {
  testing::ManualClock clock;
  StoreHealth health("submissions of forms", clock);
  const FormIntake watched(
      types, [] {}, &health);
  const auto full = fail(Error::Kind::unavailable, "could not extend file: No space left on device [53100]");
  const auto submit = [&] { static_cast<void>(watched.submit(store, handed_in())); };
  const auto finalize = [&] { static_cast<void>(watched.finalize(store, kDefaultOrg, "s-1")); };
  const auto scan = [&] { static_cast<void>(watched.scan(store, kDefaultOrg, "a-1", Scan::clean, "scanner")); };
  for (const std::function<void()>& call :
       {std::function<void()>(submit), std::function<void()>(finalize), std::function<void()>(scan)}) {
    store.answer = full;
    store.state = full;
    call();
    EXPECT_TRUE(health.trouble().starts_with("submissions of forms cannot be stored")) << health.trouble();
    store.answer = fail(Error::Kind::conflict, "an attachment of another submission");
    store.state = fail(Error::Kind::conflict, "it has ended");
    call();
    EXPECT_NE(health.trouble(), "") << "a contradiction says nothing of the database";
    store.answer = SubmitResult{How::created, {}};
    store.state = FormState{"s-1", "processing"};
    call();
    EXPECT_EQ(health.trouble(), "");
  }
}

}  // namespace
}  // namespace waybill

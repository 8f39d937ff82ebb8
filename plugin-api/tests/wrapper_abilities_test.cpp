// The C++ wrapper's optional abilities: the host finds those that a sender's class has, and nothing thrown in one gets out.
// H1 H5
#include <gtest/gtest.h>

#include <cstddef>

#include "waybill/plugin.hpp"
#include "waybill/testkit.hpp"

namespace waybill::testkit {
namespace {
namespace wp = waybill::plugin;

class Able final : public wp::Sender, public wp::Composes, public wp::TellsStatus, public wp::Probes, public wp::ListsFailures {
 public:
  Able(wp::Host, std::string_view settings) : kind_(settings) {}
  void send(Call call, Job) override { call.complete(wp::Outcome::accepted()); }
  void compose(Call call, Job job) override {
    may_throw();
    call.complete(wp::Outcome::accepted().artifact("text/plain", "of " + std::string(job.payload())));
  }
  void status(Call call, Job job) override {
    may_throw();
    call.complete(job.provider_ref() == "lost" ? wp::Outcome::rejected("lost") : wp::Outcome::accepted());
  }
  void probe(Call call, Job) override {
    may_throw();
    call.complete(wp::Outcome::accepted());
  }
  void list_failures(Call call, Job, wp::FailureQuery query) override {
    may_throw();
    const std::string page(query.page());
    query.report({"ref" + page, "key", "lost", "on page " + page, query.since()});
    if (page.empty()) query.next_page("2");
    call.complete(wp::Outcome::accepted());
  }
  void cancel(Call) override {}

 private:
  void may_throw() const {
    if (kind_ == "std") throw std::runtime_error("thrown on purpose");
    if (kind_ == "int") throw 7;
  }
  std::string kind_;
};

class Unable final : public wp::Sender {
 public:
  Unable(wp::Host, std::string_view) {}
  void send(Call call, Job) override { call.complete(wp::Outcome::accepted()); }
  void cancel(Call) override {}
};

constexpr wb_reason kReasons[] = {wp::permanent("lost")};
constexpr auto kAble = wp::action<Able>("able").reasons(kReasons);
constexpr auto kUnable = wp::action<Unable>("unable");
constexpr wb_plugin kPlugin = wp::detail::describe<kAble, kUnable>("abilities", "1", 1);

constexpr const char* kExtensions[] = {WB_COMPOSE_EXTENSION, WB_STATUS_EXTENSION, WB_PROBE_EXTENSION, WB_FAILURES_EXTENSION};

TEST(WrapperAbilities, ThoseThatTheClassHasAreFound) {
  FakeHost host(&kPlugin);
  const auto able = host.make_sender("able"), unable = host.make_sender("unable");
  for (const auto* id : kExtensions) {
    EXPECT_NE(able->extension(id), nullptr) << id;
    EXPECT_EQ(able->extension(id), able->extension(id)) << id;
    EXPECT_EQ(unable->extension(id), nullptr) << id;
  }
  EXPECT_EQ(able->extension("waybill.fax/1"), nullptr);
}

TEST(WrapperAbilities, EveryFactGetsAcross) {
  FakeHost host(&kPlugin);
  auto sender = host.make_sender("able");
  Job job;
  job.payload = "a payload";
  job.provider_ref = "lost";
  const auto made = sender->compose(job);
  EXPECT_EQ(made.artifact_type, "text/plain");
  EXPECT_EQ(made.artifact, "of a payload");
  EXPECT_EQ(sender->status(job).reason, "lost");
  EXPECT_EQ(sender->probe(job).verdict, WB_ACCEPTED);
  const auto list = sender->failures(job, 1'700'000'000);
  ASSERT_EQ(list.failures.size(), 2U);
  const auto& second = list.failures[1];
  EXPECT_EQ(second.provider_ref, "ref2");
  EXPECT_EQ(second.idempotency_key, "key");
  EXPECT_EQ(second.reason, "lost");
  EXPECT_EQ(second.detail, "on page 2");
  EXPECT_EQ(second.failed_at, 1'700'000'000);
}

TEST(WrapperAbilities, WhateverTheyThrowCompletesTheCall) {
  for (const auto& [kind, detail] : {std::pair{"std", "thrown on purpose"}, {"int", "an exception that is no std::exception"}}) {
    FakeHost host(&kPlugin);
    auto sender = host.make_sender("able", kind);
    const Outcome ends[] = {sender->compose({}), sender->status({}), sender->probe({}), sender->failures({}, 0).outcomes.at(0)};
    for (const auto& end : ends) {
      EXPECT_EQ(end.verdict, WB_TRANSIENT) << end;
      EXPECT_EQ(end.reason, "plugin_error") << end;
      EXPECT_EQ(end.detail, detail) << end;
    }
  }
}

TEST(WrapperAbilities, APluginMayNeedALaterMinor) {
  EXPECT_EQ(kPlugin.needs_minor, 1U);
  EXPECT_EQ(kPlugin.abi_minor, static_cast<std::uint32_t>(WB_ABI_MINOR));
}

// A job as a host of minor 0 makes it: what lies behind its end is not the plugin's to read.
TEST(AJobOfAnOlderHost, HasNothingThatCameLater) {
  wb_job old{};
  old.size = offsetof(wb_job, artifact_type);
  ASSERT_EQ(old.size, 120U);
  old.payload = {"bytes", 5};
  old.artifact = old.artifact_type = old.provider_ref = {"not yours", 9};
  const wp::Job job(&old);
  EXPECT_EQ(job.payload(), "bytes");
  EXPECT_EQ(job.artifact(), "");
  EXPECT_EQ(job.artifact_type(), "");
  EXPECT_EQ(job.provider_ref(), "");
}

TEST(AJobOfThisHost, HasAllOfIt) {
  wb_job raw{};
  raw.size = sizeof raw;
  raw.artifact = {"bytes", 5};
  raw.artifact_type = {"type", 4};
  raw.provider_ref = {"ref", 3};
  const wp::Job job(&raw);
  EXPECT_EQ(job.artifact(), "bytes");
  EXPECT_EQ(job.artifact_type(), "type");
  EXPECT_EQ(job.provider_ref(), "ref");
}

}  // namespace
}  // namespace waybill::testkit

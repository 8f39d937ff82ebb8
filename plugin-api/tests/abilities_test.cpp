// The test kit asks a sender for its optional abilities as a host does, and fails the test where an answer breaks the rules. H3
#include <gtest/gtest-spi.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "puppet.h"

namespace waybill::testkit {
namespace {

wb_outcome composed(const std::string& bytes) {
  auto made = outcome(WB_ACCEPTED, "");
  made.artifact_type = str("text/plain");
  made.artifact = {bytes.data(), bytes.size()};
  return made;
}

std::string text_of(wb_str text) { return std::string(text.ptr ? text.ptr : "", text.len); }

class Abilities : public TestKit {
 protected:
  Abilities() {
    puppet_.compose = [this](wb_call call, const wb_job*) {
      puppet_.complete(call.id, composed("letter " + std::to_string(++letters_)));
    };
    puppet_.send = [this](wb_call call, const wb_job* job) {
      sent_.push_back(text_of(job->artifact_type) + ": " + text_of(job->artifact));
      doubts_.push_back(job->maybe_sent_before);
      puppet_.complete(call.id, end_);
    };
  }
  // Lists "fax 1", "fax 2" and so on, one a page.
  void list_pages(int pages) {
    puppet_.list = [this, pages](wb_call call, const wb_job*, const wb_failure_query* query) {
      const auto page = query->page.len == 0 ? 1 : std::stoi(text_of(query->page));
      report(query, "fax " + std::to_string(page));
      const auto next = std::to_string(page + 1);
      if (page < pages) query->next_page(query->user, str(next.c_str()));
      puppet_.complete(call.id, outcome(WB_ACCEPTED, ""));
    };
  }
  static void report(const wb_failure_query* query, const std::string& ref) {
    wb_failure failure{};
    failure.size = sizeof failure;
    failure.provider_ref = {ref.data(), ref.size()};
    failure.failed_at = query->since + 1;
    query->failure(query->user, &failure);
  }
  int letters_ = 0;
  wb_outcome end_ = outcome(WB_ACCEPTED, "");
  std::vector<std::string> sent_;
  std::vector<std::uint32_t> doubts_;
};

TEST_F(Abilities, AnAttemptComposesFirstAndSendsWhatWasMade) {
  const auto end = sender_->attempt({});
  EXPECT_EQ(end.verdict, WB_ACCEPTED);
  EXPECT_EQ(end.artifact, "letter 1");
  EXPECT_EQ(end.artifact_type, "text/plain");
  EXPECT_EQ(sent_, std::vector<std::string>{"text/plain: letter 1"});
}

TEST_F(Abilities, AnAttemptWithAnArtefactDoesNotComposeAgain) {
  Job job;
  job.artifact_type = "text/html";
  job.artifact = "kept";
  EXPECT_EQ(sender_->attempt(job).artifact, "kept");
  EXPECT_EQ(sent_, std::vector<std::string>{"text/html: kept"});
  EXPECT_EQ(letters_, 0);
}

TEST_F(Abilities, EveryAttemptOfADeliverySendsTheSameBytes) {
  end_ = outcome(WB_TRANSIENT, "busy");
  const auto ends = sender_->deliver({}, 3);
  EXPECT_EQ(ends.size(), 3U);
  EXPECT_EQ(sent_, std::vector<std::string>(3, "text/plain: letter 1"));
  EXPECT_EQ(doubts_, (std::vector<std::uint32_t>{0, 1, 1}));
}

TEST_F(Abilities, ADeliveryIsOverOnceItIsAcceptedOrRejected) {
  EXPECT_EQ(sender_->deliver({}, 3).size(), 1U);
  end_ = outcome(WB_REJECTED, "declared");
  EXPECT_EQ(sender_->deliver({}, 3).size(), 1U);
}

TEST_F(Abilities, WhatComposeDoesNotAcceptIsNeverSent) {
  puppet_.compose = [this](wb_call call, const wb_job*) { puppet_.complete(call.id, outcome(WB_REJECTED, "declared")); };
  EXPECT_EQ(sender_->attempt({}).verdict, WB_REJECTED);
  EXPECT_TRUE(sent_.empty());
}

TEST_F(Abilities, AnAcceptedComposeWithoutAnArtefactFails) {
  puppet_.compose = [this](wb_call call, const wb_job*) { puppet_.complete(call.id, outcome(WB_ACCEPTED, "")); };
  EXPECT_NONFATAL_FAILURE(sender_->attempt({}), "an accepted compose without an artefact");
  EXPECT_TRUE(sent_.empty()) << "a host would not send it either";
}

TEST_F(Abilities, AnArtefactThatIsTooLargeFails) {
  const std::string most(WB_MOST_ARTIFACT_BYTES, 'x');
  puppet_.compose = [&](wb_call call, const wb_job*) { puppet_.complete(call.id, composed(most)); };
  EXPECT_EQ(sender_->compose({}).artifact.size(), most.size());
  puppet_.compose = [&](wb_call call, const wb_job*) { puppet_.complete(call.id, composed(most + "x")); };
  EXPECT_NONFATAL_FAILURE(sender_->compose({}), "more than WB_MOST_ARTIFACT_BYTES");
}

TEST_F(Abilities, AnArtefactFromAnythingButAnAcceptedComposeFails) {
  const std::string bytes = "x";
  end_ = composed(bytes);
  EXPECT_NONFATAL_FAILURE(sender_->attempt({}), "not of an accepted compose");
  puppet_.compose = [&](wb_call call, const wb_job*) {
    auto refused = composed(bytes);
    refused.verdict = WB_TRANSIENT;
    refused.reason = str("busy");
    puppet_.complete(call.id, refused);
  };
  EXPECT_NONFATAL_FAILURE(sender_->compose({}), "not of an accepted compose");
}

TEST_F(Abilities, AskingForOneThatTheSenderDoesNotHaveFails) {
  puppet_.compose = nullptr;
  EXPECT_NONFATAL_FAILURE(sender_->compose({}), "waybill.compose/1, which it does not have");
  EXPECT_NONFATAL_FAILURE(sender_->status({}), "waybill.status/1, which it does not have");
  EXPECT_NONFATAL_FAILURE(sender_->probe({}), "waybill.probe/1, which it does not have");
  EXPECT_NONFATAL_FAILURE(sender_->failures({}, 0), "waybill.failures/1, which it does not have");
}

TEST_F(Abilities, StatusIsAskedAboutTheReceiversOwnId) {
  puppet_.status = [this](wb_call call, const wb_job* job) {
    EXPECT_EQ(text_of(job->provider_ref), "ref-1");
    puppet_.complete(call.id, outcome(WB_DEFERRED, "under_way"));
  };
  Job job;
  job.provider_ref = "ref-1";
  EXPECT_EQ(sender_->status(job).verdict, WB_DEFERRED);
}

TEST_F(Abilities, AProbeHasADestinationAndNoPayload) {
  puppet_.probe = [this](wb_call call, const wb_job* job) {
    EXPECT_EQ(text_of(job->destination), "{}");
    EXPECT_EQ(job->payload.len, 0U);
    puppet_.complete(call.id, outcome(WB_ACCEPTED, ""));
  };
  Job job;
  job.payload = "a";
  EXPECT_EQ(sender_->probe(job).verdict, WB_ACCEPTED);
}

TEST_F(Abilities, ACallOfAnyOfThemCanBeCancelled) {
  puppet_.probe = [](wb_call, const wb_job*) {};
  puppet_.cancel = [this](wb_call call) { puppet_.complete(call.id, outcome(WB_TRANSIENT, "cancelled")); };
  const auto call = sender_->begin(CallKind::probe, {});
  EXPECT_FALSE(host_.outcome(call));
  sender_->cancel(call);
  EXPECT_EQ(host_.outcome(call)->reason, "cancelled");
}

TEST_F(Abilities, FailuresComeFromAllPages) {
  list_pages(3);
  const auto list = sender_->failures({}, 1000);
  ASSERT_EQ(list.failures.size(), 3U);
  EXPECT_EQ(list.failures[0].provider_ref, "fax 1");
  EXPECT_EQ(list.failures[2].provider_ref, "fax 3");
  EXPECT_EQ(list.failures[2].failed_at, 1001);
  ASSERT_EQ(list.outcomes.size(), 3U);
  EXPECT_EQ(list.outcomes[2].verdict, WB_ACCEPTED);
}

TEST_F(Abilities, APageThatIsNotAcceptedIsTheLast) {
  puppet_.list = [this](wb_call call, const wb_job*, const wb_failure_query* query) {
    query->next_page(query->user, str("2"));
    puppet_.complete(call.id, outcome(WB_TRANSIENT, "busy"));
  };
  const auto list = sender_->failures({}, 0);
  ASSERT_EQ(list.outcomes.size(), 1U);
  EXPECT_EQ(list.outcomes[0].reason, "busy");
}

TEST_F(Abilities, AFailureThatComesAfterTheEndFails) {
  puppet_.list = [this](wb_call call, const wb_job*, const wb_failure_query* query) {
    puppet_.complete(call.id, outcome(WB_ACCEPTED, ""));
    report(query, "late");
  };
  EXPECT_NONFATAL_FAILURE(sender_->failures({}, 0), "a failure came after call 1 had ended");
  puppet_.list = [this](wb_call call, const wb_job*, const wb_failure_query* query) {
    puppet_.complete(call.id, outcome(WB_ACCEPTED, ""));
    query->next_page(query->user, str("2"));
  };
  EXPECT_NONFATAL_FAILURE(sender_->failures({}, 0), "next_page came after call 2 had ended");
}

TEST_F(Abilities, NamingTheNextPageTwiceOrNotAtAllFails) {
  const auto name_pages = [this](const char* first, const char* second) {
    puppet_.list = [this, first, second](wb_call call, const wb_job*, const wb_failure_query* query) {
      if (query->page.len == 0) query->next_page(query->user, str(first));
      if (query->page.len == 0 && second) query->next_page(query->user, str(second));
      puppet_.complete(call.id, outcome(WB_ACCEPTED, ""));
    };
  };
  name_pages("2", "3");
  EXPECT_NONFATAL_FAILURE(sender_->failures({}, 0), "next_page was called twice");
  name_pages("", nullptr);
  EXPECT_NONFATAL_FAILURE(sender_->failures({}, 0), "next_page must name a page");
}

TEST_F(Abilities, AnEndlessListFails) {
  list_pages(1'000'000);
  FailureList list;
  EXPECT_NONFATAL_FAILURE(list = sender_->failures({}, 0), "has no end");
  EXPECT_EQ(list.failures.size(), 1000U);
}

TEST_F(Abilities, AFailureThatIsGarbageFails) {
  wb_failure failure{};
  const wb_failure* reported = &failure;
  puppet_.list = [&](wb_call call, const wb_job*, const wb_failure_query* query) {
    query->failure(query->user, reported);
    puppet_.complete(call.id, outcome(WB_ACCEPTED, ""));
  };
  EXPECT_NONFATAL_FAILURE(sender_->failures({}, 0), "null or too short");
  failure.size = sizeof failure;
  failure.detail = str("\xff");
  EXPECT_NONFATAL_FAILURE(sender_->failures({}, 0), "a failure is not UTF-8");
  failure.detail = str("old-value");
  host_.secret("key", {"new-value", "old-value"});
  EXPECT_NONFATAL_FAILURE(sender_->failures({}, 0), "a failure gives the secret \"key\" away");
  reported = nullptr;
  EXPECT_NONFATAL_FAILURE(sender_->failures({}, 0), "null or too short");
}

TEST_F(Abilities, AFailureFromAnotherThreadFails) {
  puppet_.list = [this](wb_call call, const wb_job*, const wb_failure_query* query) {
    std::thread([&] { report(query, "elsewhere"); }).join();
    puppet_.complete(call.id, outcome(WB_ACCEPTED, ""));
  };
  EXPECT_NONFATAL_FAILURE_ON_ALL_THREADS(sender_->failures({}, 0), "a failure came from another thread");
}

// A sender flagged WB_BLOCKING may wait inside send for something that is done on another thread.
TEST_F(Abilities, ABlockingSenderMayBlockUntilItHasAnAnswer) {
  puppet_.compose = nullptr;
  puppet_.send = [this](wb_call call, const wb_job*) {
    std::mutex mutex;
    std::condition_variable changed;
    bool answered = false;
    std::thread receiver([&] {
      const std::lock_guard lock(mutex);
      answered = true;
      changed.notify_all();
    });
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return answered; });
    lock.unlock();
    receiver.join();
    puppet_.complete(call.id, outcome(WB_ACCEPTED, ""));
  };
  host_.patience(std::chrono::milliseconds(0));
  auto blocking = host_.make_sender("blocking_puppet");
  EXPECT_EQ(blocking->attempt({}).verdict, WB_ACCEPTED);
}

}  // namespace
}  // namespace waybill::testkit

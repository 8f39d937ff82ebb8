// A plugin's sender in the hands of a test: the calls that a host makes, one by one or as a whole.
#pragma once

#include <string_view>
#include <vector>

#include "waybill/testkit/calls.hpp"

namespace waybill::testkit {

class World;

// Its end fails the test for every call that is still open. Must go before its FakeHost.
class FakeSender {
 public:
  FakeSender(World& world, wb_sender* sender, const wb_sender_vt* table, const wb_action* action);
  ~FakeSender();
  FakeSender(const FakeSender&) = delete;
  FakeSender& operator=(const FakeSender&) = delete;

  // One attempt, as a host makes it, until its end: a sender that composes is asked to first, unless the job has an artefact, and
  // the answer has the artefact that was sent. Fails the test if a call has not ended when all is done that is due now. A call
  // that none but another thread of the plugin can end is waited for, up to FakeHost::patience of real time.
  Outcome attempt(const Job& job);
  // Attempts of one delivery, each with what the one before left, until one is accepted or rejected: as a host without a clock.
  std::vector<Outcome> deliver(Job job, std::uint32_t attempts);

  // The sender's further abilities. Asking for one that it does not have fails the test.
  Outcome compose(const Job& job);
  Outcome status(const Job& job);  // about job.provider_ref
  Outcome probe(const Job& job);
  FailureList failures(const Job& job, std::int64_t since);  // all pages, until one is not accepted

  // Begins a call and leaves it open, for tests that turn the clock or cancel. `since` and `page` are for failures.
  CallId begin(CallKind kind, const Job& job, std::int64_t since = 0, std::string_view page = {});
  CallId send(const Job& job) { return begin(CallKind::send, job); }
  void cancel(CallId call);  // nothing, if the call has ended: as the host does

  const void* extension(std::string_view id);

 private:
  Outcome run(CallKind kind, const Job& job);
  Outcome end_of(CallId call);

  World& world_;
  wb_sender* sender_;
  const wb_sender_vt* table_;
  const wb_action* action_;
};

}  // namespace waybill::testkit

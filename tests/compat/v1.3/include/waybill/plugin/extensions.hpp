// Optional abilities of a sender: derive from these beside Sender, and the host finds them. Every function is [strand] and begins
// a call that is completed exactly once, as one of send is; what it throws completes the call as plugin_error.
#pragma once

#include "waybill/plugin/call.hpp"

namespace waybill::plugin {

// Makes what will be sent, once for all attempts. Complete the call with Outcome::accepted().artifact(media_type, bytes); the
// host stores the bytes and then calls send, whose Job has them. Any other outcome ends the attempt.
class Composes {
 public:
  virtual ~Composes() = default;
  virtual void compose(Call call, Job job) = 0;
};

// Says what became of a delivery after it was accepted: job.provider_ref() is the destination's own id of it. accepted: it
// arrived; rejected: it failed for good; deferred: still under way; transient: it could not be asked.
class TellsStatus {
 public:
  virtual ~TellsStatus() = default;
  virtual void status(Call call, Job job) = 0;
};

// Says whether job.destination() can be reached, without sending anything that counts. accepted: it can.
class Probes {
 public:
  virtual ~Probes() = default;
  virtual void probe(Call call, Job job) = 0;
};

struct Failure {
  std::string_view provider_ref;
  std::string_view idempotency_key;  // ours, if the destination keeps it
  std::string_view reason;           // a short word
  std::string_view detail;           // one line for people
  std::int64_t failed_at = 0;        // seconds since 1970-01-01 UTC, 0: not known
};

// What is asked of list_failures, and where the answers go. A view that lives until its call is completed: copy it into
// callbacks.
class FailureQuery {
 public:
  explicit FailureQuery(const wb_failure_query* query) noexcept : query_(query) {}

  std::int64_t since() const noexcept { return query_->since; }          // seconds since 1970-01-01 UTC
  std::string_view page() const noexcept { return view(query_->page); }  // empty: the first
  void report(const Failure& failure) const {
    const wb_failure raw{sizeof raw,          failure.failed_at,  str(failure.provider_ref), str(failure.idempotency_key),
                         str(failure.reason), str(failure.detail)};
    query_->failure(query_->user, &raw);
  }
  void next_page(std::string_view name) const { query_->next_page(query_->user, str(name)); }

 private:
  const wb_failure_query* query_;
};

// Lists one page of what the destination accepted and then failed to deliver. accepted: the page is complete.
class ListsFailures {
 public:
  virtual ~ListsFailures() = default;
  virtual void list_failures(Call call, Job job, FailureQuery query) = 0;
};

}  // namespace waybill::plugin

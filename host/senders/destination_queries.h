// Queries to a destination through its plugin: can it be reached, what happened to a delivery, what has failed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "domain/job.h"
#include "senders/failure_page.h"

namespace waybill {

class PluginSenderFactory;
enum class CallKind : std::uint8_t;

// One query at a time, on a sender of its own; claims, settles and writes nothing. Errors: not_found if no plugin has the action
// type or the plugin does not support the query, unavailable if it stays silent, else the error of its create.
class DestinationQueries {
 public:
  DestinationQueries(PluginSenderFactory& factory, Millis timeout) : factory_(factory), timeout_(timeout) {}

  // Of a plugin that composes, and a job without artifact: accepted, with the artifact. Else the job is sent, once.
  Result<Outcome> attempt(Job delivery);
  // accepted: it can be reached.
  Result<Outcome> probe(const Contract& destination);
  // For an accepted delivery. accepted: it arrived; rejected: it failed; deferred: under way; transient: no usable answer.
  Result<Outcome> status(Job delivery);
  // All pages since a time, in seconds since 1970. An outcome other than accepted ends the list early.
  struct Failures {
    std::vector<FailurePage::Failure> list;
    Outcome outcome;  // of the last page
  };
  Result<Failures> failures(const Contract& destination, std::int64_t since);
  // The same page by page, until `take` says that it is enough. Returns the outcome of the last page.
  using TakePage = std::function<Result<bool>(std::vector<FailurePage::Failure>)>;
  Result<Outcome> failures(const Contract& destination, std::int64_t since, const TakePage& take);

 private:
  Result<Outcome> ask(CallKind what, Job job, std::shared_ptr<FailurePage> page = nullptr);

  PluginSenderFactory& factory_;
  const Millis timeout_;
};

}  // namespace waybill

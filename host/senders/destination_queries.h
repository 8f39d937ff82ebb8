// Questions that people ask of a destination through its plugin: can it be reached, what became of a delivery, what has failed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "domain/job.h"
#include "senders/failure_page.h"

namespace waybill {

class PluginSenderFactory;
enum class CallKind : std::uint8_t;

// One question at a time, on a sender of its own, beside the pipeline: nothing is claimed, settled or written. Errors: not_found
// when no plugin has the action type or the plugin does not offer this, unavailable when it stays silent, else what its create
// said.
class DestinationQueries {
 public:
  DestinationQueries(PluginSenderFactory& factory, Millis timeout) : factory_(factory), timeout_(timeout) {}

  // accepted: it can be reached.
  Result<Outcome> probe(const Contract& destination);
  // Of an accepted delivery. accepted: it arrived; rejected: it failed; deferred: under way; transient: it could not be asked.
  Result<Outcome> status(Job delivery);
  // Since a time in seconds since 1970, all pages. An outcome that is not accepted ends the list early.
  struct Failures {
    std::vector<FailurePage::Failure> list;
    Outcome outcome;  // of the last page
  };
  Result<Failures> failures(const Contract& destination, std::int64_t since);

 private:
  Result<Outcome> ask(CallKind what, Job job, std::shared_ptr<FailurePage> page = nullptr);

  PluginSenderFactory& factory_;
  const Millis timeout_;
};

}  // namespace waybill

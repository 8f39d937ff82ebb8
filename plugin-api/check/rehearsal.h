// What many checks begin with: a host with a sender on it, the sample job, and a run of it under a given answer.
#pragma once

#include "check.h"

namespace waybill::conformance {

// Null after reporting why the check is skipped.
std::unique_ptr<CheckHost> host_for(Subject& subject, Shape shape = {});

// The answers that mean success, as the sample gives them for this kind of call.
CheckHost::Script happy(const Subject& subject, CallKind asked = CallKind::send);
// The same, but from the nth request on always this.
CheckHost::Script happy_until(const Subject& subject, std::size_t nth, const Answer& answer);

// The sample job. A sender that composes is asked to do so first; if nothing comes of that, the check is reported as skipped and
// there is no job.
std::optional<Job> sample_job(Subject& subject, CheckHost& host);

// "" if the call was completed exactly once; else how not, as the end of "the call ...".
std::string symptom(const Call& call);
// How the call ended, in words: the verdict and its reason, or the symptom.
std::string end_of(const Call& call);

// One delivery of the sample under this script, on a host of its own.
struct Rehearsal {
  std::unique_ptr<CheckHost> host;
  Call call;
  std::string during;      // which answer
  std::size_t needed = 0;  // how many requests an accepted delivery makes
};
// Under the happy script. None if skipped.
std::optional<Rehearsal> rehearse(Subject& subject, Shape shape = {});
// First under the happy script, then under every kind of answer to every request; false if skipped. One that asks nothing of the
// host's services is looked at with odd payloads, and with receivers of the check's own if the sample names a URL; without one,
// the check counts as skipped if that shows nothing.
bool rehearse_all(Subject& subject, const std::function<void(Subject&, const Rehearsal&)>& look);

// The same subject with this port of this machine in the place of all URLs in its destination and settings; none without URLs.
std::optional<Subject> at_receiver(const Subject& subject, std::uint16_t port);

}  // namespace waybill::conformance

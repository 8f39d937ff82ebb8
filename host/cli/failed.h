// `waybill failed ...`: what failed for good, of every kind, and sending it again. No host need run.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "app/installation.h"
#include "store/operations/failed_store.h"

namespace waybill {

struct FailedOptions {
  std::string org = "default";
  std::vector<std::string> ids;  // of resend
  std::string reference, target, kind, form, pipeline, channel, reason, status, since, until;
  std::size_t limit = 100;  // of list
  std::string actor;        // of resend, for the audit; "" for the user's name
  bool dry_run = false, include_rejected = false, include_maybe_sent = false;
  std::size_t rate = 0;  // a second; 0: dead.replay_rate
};

// Call by call, each a commit of its own, until as many are sent again as one call takes, or all were looked at. Of those that
// are refused as many are answered. `progress` is told before each call.
Result<Replays> resend_all(FailedStore& store, OrgId org, ResendOrder order, const std::function<void()>& progress);

int list_failed(const GlobalOptions& options, const FailedOptions& wanted);
int resend_failed(const GlobalOptions& options, const FailedOptions& wanted);

}  // namespace waybill

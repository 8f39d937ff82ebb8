// Why a delivery to a channel is where it is, in words for its organisation or for the operator.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/public_ids.h"
#include "base/time.h"

namespace waybill {

struct NotificationStanding;

// Who asks. An organisation is told nothing about hosts and plugins.
enum class Audience { organisation, installation };

struct NotificationTerms {
  std::size_t per_org = 0;      // notify.per_org
  std::size_t per_channel = 0;  // notify.per_channel
  std::string not_sent;         // why nothing is sent to such channels here; "": it is
  Audience audience = Audience::organisation;
};

struct NotificationReason {
  // done, claimed, interrupted, channel_deleted, channel_disabled, not_sent, secret_locked, paused, cooldown, window_open,
  // suspect, waiting_for_retry, waiting, no_host, host_silent, capped, rate, due
  std::string code;
  std::string text;
  std::optional<Timestamp> until;  // when that is over, if it can be told
};

NotificationReason why_notification(const NotificationStanding& standing, const NotificationTerms& terms);

// {"id","status","attempt_count","code","why","until"}
std::string explanation_json(const NotificationStanding& standing, const NotificationReason& reason, const PublicIds& ids = {});

}  // namespace waybill

// Takes in alert events, and what has notifications sent again, and wakes the claimer.
#pragma once

#include <functional>
#include <string>

#include "intake/store_health.h"
#include "store/notifications/notify_store.h"

namespace waybill {

// Each call is a transaction on a session of the caller. Safe from any thread.
class EventIntake {
 public:
  // `is_due` is called after each commit that may have made deliveries due; `health` learns how each event was stored, unless
  // null.
  explicit EventIntake(std::function<void()> is_due, StoreHealth* health = nullptr)
      : is_due_(std::move(is_due)), health_(health) {}

  // As NotifyStore has them. An event is due once its channels' windows have closed, for which the claimer looks by itself.
  Result<EventOutcome> add(NotifyStore& store, OrgId org, const NewEvent& event) const {
    auto added = store.add_event(org, event);
    if (health_ != nullptr) health_->note(added);
    return added;
  }
  Result<NotificationReplay> replay(NotifyStore& store, OrgId org, DeliveryId id, const std::string& actor) const {
    auto replayed = store.replay(org, id, actor);
    if (replayed && *replayed == NotificationReplay::queued) is_due_();
    return replayed;
  }
  Result<Recovery> recover(NotifyStore& store, OrgId org, const std::string& channel, const RecoveryWindow& window,
                           const std::string& actor) const {
    auto recovered = store.recover(org, channel, window, actor);
    if (recovered && !window.dry_run && recovered->failed + recovered->waiting > 0) is_due_();
    return recovered;
  }
  Result<DeliveryId> test(NotifyStore& store, OrgId org, const std::string& channel) const {
    auto sent = store.test(org, channel);
    if (sent) is_due_();
    return sent;
  }
  // What waits for a channel may be sent now.
  Result<void> wake(NotifyStore& store, OrgId org, const std::string& channel) const {
    auto woken = store.wake(org, channel);
    if (woken) is_due_();
    return woken;
  }
  Result<ChannelView> change_channel(NotifyStore& store, OrgId org, const std::string& channel,
                                     const ChannelChange& change) const {
    auto changed = store.change_channel(org, channel, change);
    if (changed) is_due_();
    return changed;
  }
  Result<void> delete_channel(NotifyStore& store, OrgId org, const std::string& channel) const {
    auto deleted = store.delete_channel(org, channel);
    if (deleted) is_due_();
    return deleted;
  }

 private:
  const std::function<void()> is_due_;
  StoreHealth* const health_;
};

}  // namespace waybill

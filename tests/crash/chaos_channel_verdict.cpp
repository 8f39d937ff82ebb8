// The rules for channels.
#include "crash/chaos_channel_verdict.h"

#include <algorithm>

namespace waybill::testing::chaos {
namespace {

std::string text_of(const std::set<int>& events) {
  std::string text;
  for (const int event : events) text += (text.empty() ? "" : " ") + std::to_string(event);
  return text;
}

}  // namespace

std::vector<Complaint> verdict(const ChannelRecord& channel, const std::vector<Fault>& faults, const Terms& terms) {
  std::vector<Complaint> found;
  const auto complain = [&](std::string rule, std::string what) {
    found.push_back({"", std::move(rule), "channel " + channel.name + ": " + std::move(what)});
  };
  std::map<std::string, std::vector<const ChannelSend*>> deliveries;
  for (const auto& send : channel.sends) deliveries[send.delivery].push_back(&send);

  std::map<int, int> carried;
  for (const auto& [id, sends] : deliveries) {
    const auto& first = *sends.front();
    for (const int event : first.events) ++carried[event];
    if (std::any_of(sends.begin(), sends.end(), [&](const ChannelSend* send) { return send->body != first.body; }))
      complain("body_changed", "delivery " + id + " had another body in another attempt");
    double from = first.at;
    for (const int event : first.events)
      if (const auto at = channel.handed_in.find(event); at != channel.handed_in.end()) from = std::min(from, at->second);
    const int most = 1 + resends_explained(faults, from, sends.back()->at, terms);
    if (static_cast<int>(sends.size()) > most)
      complain("channel_resent", "delivery " + id + " with events " + text_of(first.events) + ": " +
                                     std::to_string(sends.size()) + " sends, and the faults of its time explain " +
                                     std::to_string(most));
  }
  for (const auto& [event, at] : channel.handed_in)
    if (!carried.contains(event)) complain("event_lost", "event " + std::to_string(event) + " was acknowledged and never sent");
  for (const auto& [event, times] : carried) {
    if (!channel.handed_in.contains(event)) complain("event_unexpected", "nobody handed in event " + std::to_string(event));
    if (times > 1) complain("event_twice", "event " + std::to_string(event) + " is in " + std::to_string(times) + " deliveries");
  }
  for (const auto& [status, count] : channel.not_accepted)
    complain("channel_ended", std::to_string(count) + " deliveries are " + status);
  return found;
}

}  // namespace waybill::testing::chaos

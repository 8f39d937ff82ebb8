// What must hold of a channel when a round of the campaign is over, as a pure function of what was seen.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "crash/chaos_verdict.h"

namespace waybill::testing::chaos {

// A request that reached a channel's endpoint.
struct ChannelSend {
  double at = 0;
  std::string delivery;  // its webhook-id
  std::string body;
  std::set<int> events;  // in the body
};

// All that is known of one channel. Every event of the round is for it.
struct ChannelRecord {
  std::string name;
  std::map<int, double> handed_in;          // events that a host acknowledged: when the first request for each began
  std::vector<ChannelSend> sends;           // in their order
  std::map<std::string, int> not_accepted;  // deliveries by status, without those that were accepted
};

// Each event is in one delivery, which was accepted, had one body in all attempts, and was not sent again without a fault.
std::vector<Complaint> verdict(const ChannelRecord& channel, const std::vector<Fault>& faults, const Terms& terms);

}  // namespace waybill::testing::chaos

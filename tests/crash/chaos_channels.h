// Two channels in a round of the campaign, and somebody who hands in one event after the other: one channel is always well, the
// other is disabled now and then.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "crash/chaos_channel_verdict.h"
#include "support/fake_gateway.h"
#include "support/http_client.h"
#include "support/sql_client.h"

namespace waybill::testing::chaos {

class Channels {
 public:
  // Asks one living host, whichever it is; none where none answers.
  using Ask = std::function<std::optional<HttpResponse>(const char* method, const std::string& path, const std::string& body)>;
  // `now` tells the seconds of the round, from any thread.
  Channels(Ask ask, std::function<double()> now);

  // Makes rule and channels at the host with this port, before there is any trouble, and begins with the events.
  void start(std::uint16_t port);
  void stop();  // enables what is disabled, and returns when each event is acknowledged

  void disable(SqlClient sql);  // the second one; may overlap
  void enable();                // by the last of them that disabled it; soon after, by the API
  int next_event() const { return next_; }
  bool was_delivered(int event) const;  // this or a later one, by the first channel

  std::uint16_t port() const;
  std::vector<ChannelRecord> records(SqlClient& sql) const;

 private:
  static constexpr const char* kNames[] = {"steady", "moody"};
  void insist(const char* method, const std::string& path, const std::string& body, int status);
  void hand_in();

  const Ask ask_;
  const std::function<double()> now_;
  FakeGateway gateway_;
  std::string rule_;
  std::map<std::string, std::string> ids_;  // of the channels, by name
  std::atomic<int> next_{0};
  std::atomic<int> disabled_{0};  // by so many faults
  std::atomic<bool> has_to_enable_{false};
  mutable std::mutex mutex_;
  std::map<int, double> handed_in_;  // when each event was first handed in
  std::jthread events_;
};

}  // namespace waybill::testing::chaos

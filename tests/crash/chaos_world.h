// One round's world: a database on the campaign's own server, two supervised hosts behind a network each, a gateway, clients
// that repeat each intent until it is acknowledged, two channels with their events, and forms that nobody scans.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "crash/chaos_channels.h"
#include "crash/chaos_verdict.h"
#include "support/daemon.h"
#include "support/database_proxy.h"
#include "support/fake_gateway.h"
#include "support/postgres_cluster.h"
#include "support/sql_client.h"
#include "support/stepped_clock.h"
#include "support/temp_folder.h"

namespace waybill::testing::chaos {

// The server that all rounds share. Its clock only goes forward from round to round.
struct Server {
  SteppedClock clock;
  PostgresCluster cluster{clock.environment()};
};

// A host that is started again when it ends, as an init system would. Its functions belong to one thread, but for port().
class SupervisedHost {
 public:
  explicit SupervisedHost(const HostSetup& setup);

  void start();  // does not wait until it is up
  void kill();   // until it is started again
  // It has no route to these ports from now on, or has it again. `ports`: as the preloaded library reads them.
  void preload(const std::string& library, const std::string& ports);  // before its first start
  void cut_off();
  void connect_again();
  void signal(int number) { process_->signal(number); }
  bool is_held_down() const { return held_down_; }
  std::optional<int> look();                    // reads its port; the exit code if it has ended by itself since
  std::uint16_t port() const { return port_; }  // 0 while it has none
  std::string log() const;
  std::string log_end() const;

 private:
  std::filesystem::path no_route() const { return installation_.folder() / "no-route"; }

  Installation installation_;
  std::map<std::string, std::string> environment_;
  std::unique_ptr<Process> process_;
  std::atomic<std::uint16_t> port_{0};
  bool held_down_ = false;
};

class RoundWorld {
 public:
  RoundWorld(Server& server, unsigned seed);
  ~RoundWorld();  // drops the database

  double now() const;  // seconds since the round began
  std::string sql_url() const;
  SqlClient sql() const {
    return SqlClient(sql_url());
  }  // a fresh session past the proxies, without the database's timeouts; fails while the server is away
  const std::string& database() const { return database_; }
  Server& server() { return server_; }
  SupervisedHost& host(int at) { return *hosts_[static_cast<std::size_t>(at)]; }
  DatabaseProxy& network(int at) { return *networks_[static_cast<std::size_t>(at)]; }
  std::size_t delivered() const { return gateway_.count(); }

  void start();       // hosts and load; false expectations fail the test
  void look_after();  // starts what has ended, and writes that down as a fault
  void add(Harm harm) { ++(harm == Harm::crash ? crashes_wanted_ : loops_wanted_); }
  void interrupt();  // outages may overlap: the last resume() ends them
  void resume();
  void add_unscanned() { ++forms_wanted_; }  // a form whose attachment nobody will scan
  Channels& channels() { return channels_; }
  void stop_load();  // returns when what was begun is acknowledged
  bool settle();     // waits until all has ended; false if it does not
  void step_clock(std::chrono::milliseconds by);

  void add(Fault fault);
  std::vector<Fault> faults() const;
  std::vector<Record> records();
  std::vector<ChannelRecord> channel_records();
  std::vector<FormRecord> form_records();
  std::string logs() const;

 private:
  struct Target {
    std::string name, type, policy;
    int limit;
  };
  static const std::vector<Target>& targets();
  static const Target& target_of(std::string_view type);
  void load(int number);
  std::optional<HttpResponse> ask(const char* method, const std::string& path, const std::string& body);
  void hand_in(const Target& target, const std::string& id, Harm harm, std::minstd_rand& random);
  void hand_in_unscanned();
  void watch_time(const std::stop_token& stop);
  double of_database(double epoch) const;  // a time of the database as one of the round

  Server& server_;
  const unsigned seed_;
  const std::string url_, database_;
  const std::chrono::steady_clock::time_point begin_;
  const double begin_epoch_;
  FakeGateway gateway_;
  TempFolder keys_;
  Channels channels_;
  std::array<std::unique_ptr<DatabaseProxy>, 2> networks_;
  std::array<std::unique_ptr<SupervisedHost>, 2> hosts_;
  struct Step {
    double at;      // of the round
    double offset;  // of the database's clock from then on, in seconds
  };
  std::vector<Step> steps_;
  std::atomic<bool> enough_{false};
  std::atomic<int> crashes_wanted_{0}, loops_wanted_{0}, forms_wanted_{0};
  int interruptions_ = 0;  // of the faults' thread
  std::atomic<std::size_t> asked_{0};
  std::atomic<std::size_t> acknowledged_{0};
  mutable std::mutex mutex_;
  std::map<std::string, Record> handed_in_;
  std::vector<std::string> forms_;
  std::map<std::string, int> scripted_refusals_;
  std::vector<Fault> faults_;
  std::vector<std::jthread> callers_;
  std::jthread metronome_;
};

}  // namespace waybill::testing::chaos

// A fault each: what its beginning does, and what its end. One that cannot be done at that moment (the server is just away) says
// so.
#include "crash/chaos_faults.h"

#include <signal.h>

#include <exception>

#include "support/eventually.h"

namespace waybill::testing::chaos {
namespace {

using Flow = DatabaseProxy::Flow;
constexpr std::chrono::milliseconds kUntilSomebodyWaits{300};
constexpr double kTakenOver = 60;  // s, within which another host has a hung one's channels: many leases

std::string lock_statement(const std::string& what) {
  if (what == "rows") return "SELECT count(*) FROM (SELECT FROM waybill.ready FOR UPDATE) held";
  if (what == "outages") return "SELECT count(*) FROM (SELECT FROM waybill.target_outages FOR UPDATE) held";
  return "LOCK TABLE waybill." + what + " IN ACCESS EXCLUSIVE MODE";
}

}  // namespace

class Faults::Active {
 public:
  Active(RoundWorld& world, Planned planned) : world_(world), planned_(std::move(planned)), begin_(world.now()) {
    attempt([this] { begin(); });
  }

  bool is_due() const {
    const double lasted = world_.now() - begin_;
    if (lasted < std::chrono::duration<double>(planned_.length).count()) return false;
    return planned_.kind != Kind::hang || world_.channels().was_delivered(next_event_) || lasted > kTakenOver;
  }

  void finish() {
    std::string complaint;
    if (planned_.kind == Kind::hang && !world_.channels().was_delivered(next_event_))
      complaint = "host " + std::to_string(planned_.host) + " hung, and nobody took its channels over";
    attempt([this] { end(); });
    world_.add({planned_.kind, begin_, world_.now(), detail_, complaint});
  }

 private:
  template <class Step>
  void attempt(Step step) {
    try {
      step();
    } catch (const std::exception& e) {
      detail_ += std::string(detail_.empty() ? "" : "; ") + "not done: " + e.what();
    }
  }

  void begin() {
    switch (planned_.kind) {
      case Kind::kill:
        about_host();
        return host().kill();
      case Kind::stop:
        about_host();
        return host().signal(SIGSTOP);
      case Kind::hang:
        about_host();
        host().signal(SIGSTOP);
        next_event_ = world_.channels().next_event();
        return;
      case Kind::sick:
        about_host();
        return host().cut_off();
      case Kind::disabled_channel:
        return world_.channels().disable(world_.sql());
      case Kind::silent_scanner:
        return world_.add_unscanned();
      case Kind::cut:
        about_host();
        detail_ += planned_.what.empty() ? "" : ", " + planned_.what;
        if (planned_.random % 2 == 0) return cut_behind_lock();
        network().cut(planned_.what, DatabaseProxy::Backend::ends);
        return;
      case Kind::half_open:
        about_host();
        detail_ += ", " + planned_.what;
        return network().set(planned_.what.starts_with("mute") ? Flow::mute : Flow::stalled);
      case Kind::lock:
        detail_ = planned_.what;
        return take_lock(planned_.what);
      case Kind::lock_timeout:
      case Kind::statement_timeout:
        set_timeout("30ms");
        detail_ += ", " + planned_.what;
        signal_sessions("pg_terminate_backend", 1);  // a setting is for new sessions
        return take_lock(planned_.what);
      case Kind::cancel:
        return signal_sessions("pg_cancel_backend", 2);
      case Kind::terminate:
        return signal_sessions("pg_terminate_backend", 2);
      case Kind::restart:
        detail_ = planned_.what;
        return world_.server().cluster.restart(planned_.what == "fast" ? PostgresCluster::Stop::fast
                                                                       : PostgresCluster::Stop::immediate);
      case Kind::poison:
        return world_.add(Harm::crash);
      case Kind::loop:
        return world_.add(Harm::loop);
      case Kind::outage:
        return world_.interrupt();
      case Kind::clock_forward:
      case Kind::clock_back:
        detail_ = planned_.what + " s";
        return world_.step_clock(std::chrono::seconds(std::stoi(planned_.what)));
      case Kind::crash:
      case Kind::failed_start:
      case Kind::pause:
      case Kind::displaced:
        return;
    }
  }

  void end() {
    switch (planned_.kind) {
      case Kind::kill:
        if (host().is_held_down()) host().start();
        return;
      case Kind::stop:
      case Kind::hang:
        return host().signal(SIGCONT);
      case Kind::sick:
        return host().connect_again();
      case Kind::disabled_channel:
        return world_.channels().enable();
      case Kind::cut:
        locker_.reset();
        network().end_backends();
        return;
      case Kind::half_open:
        if (planned_.what.ends_with("cut")) network().cut();
        return network().set(Flow::open);
      case Kind::lock:
        return locker_.reset();
      case Kind::lock_timeout:
      case Kind::statement_timeout:
        locker_.reset();
        set_timeout("");
        return signal_sessions("pg_terminate_backend", 1);
      case Kind::cancel:
        return signal_sessions("pg_cancel_backend", 2);
      case Kind::terminate:
        return signal_sessions("pg_terminate_backend", 2);
      case Kind::outage:
        return world_.resume();
      default:
        return;
    }
  }

  void about_host() { detail_ = "host " + std::to_string(planned_.host); }
  SupervisedHost& host() { return world_.host(planned_.host); }
  DatabaseProxy& network() { return world_.network(planned_.host); }

  // The clients are cut off while their backends wait, and the backends go on when the lock is gone: they commit for nobody.
  void cut_behind_lock() {
    detail_ += ", backends live on behind a lock";
    take_lock("claims");
    const auto waiting =
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = '" + world_.database() + "'";
    eventually([&] { return world_.sql().number(waiting) > 0; }, kUntilSomebodyWaits);
    network().cut(planned_.what, DatabaseProxy::Backend::lives);
  }

  // Held until its session ends.
  void take_lock(const std::string& what) {
    locker_ = std::make_unique<SqlClient>(world_.sql_url());
    locker_->execute("SET lock_timeout = '500ms'");
    locker_->execute("BEGIN");
    locker_->execute(lock_statement(what));
  }

  void set_timeout(const std::string& value) {
    const std::string name(to_string(planned_.kind));
    if (!value.empty()) detail_ = name + " " + value;
    world_.sql().execute("ALTER DATABASE " + world_.database() +
                         (value.empty() ? " RESET " + name : " SET " + name + " = '" + value + "'"));
  }

  // One of so many sessions of the hosts, as the seed and its process id have it.
  void signal_sessions(const std::string& function, unsigned one_of) {
    world_.sql().execute("SELECT " + function + "(pid) FROM pg_stat_activity WHERE datname = '" + world_.database() +
                         "' AND application_name LIKE 'waybill-%' AND (pid + " + std::to_string(planned_.random % 1000) + ") % " +
                         std::to_string(one_of) + " = 0");
  }

  RoundWorld& world_;
  const Planned planned_;
  const double begin_;
  std::string detail_;
  int next_event_ = 0;  // that nobody has handed in yet when it hangs
  std::unique_ptr<SqlClient> locker_;
};

Faults::Faults(RoundWorld& world, std::vector<Planned> planned) : world_(world), planned_(std::move(planned)) {}
Faults::~Faults() = default;

void Faults::run() {
  delivered_before_ = world_.delivered();
  last_begin_ = world_.now();
  eventually(
      [this] {
        world_.look_after();
        while (end_due()) continue;
        while (begin_next()) continue;
        return next_ == planned_.size() && active_.empty();
      },
      std::chrono::minutes(10));
}

bool Faults::begin_next() {
  if (next_ == planned_.size()) return false;
  const auto& planned = planned_[next_];
  const bool is_time = world_.delivered() >= delivered_before_ + static_cast<std::size_t>(planned.after_sends) ||
                       world_.now() >= last_begin_ + std::chrono::duration<double>(planned.at_latest).count();
  if (!is_time) return false;
  active_.push_back(std::make_unique<Active>(world_, planned));
  delivered_before_ = world_.delivered();
  last_begin_ = world_.now();
  ++next_;
  return true;
}

bool Faults::end_due() {
  for (auto at = active_.begin(); at != active_.end(); ++at) {
    if (!(*at)->is_due()) continue;
    (*at)->finish();
    active_.erase(at);
    return true;
  }
  return false;
}

}  // namespace waybill::testing::chaos

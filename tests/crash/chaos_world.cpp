// The registry, the clients, the supervisor, and what the database says in the end.
#include "crash/chaos_world.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "base/time.h"
#include "crash/chaos_plan.h"
#include "support/bad_plugins.h"
#include "support/forms_world.h"
#include "support/world.h"

namespace waybill::testing::chaos {
namespace {

using namespace std::chrono_literals;

constexpr int kCallers = 6;
constexpr std::size_t kMaxAhead = 120;  // acknowledged and not yet at the gateway: load, but no flood
constexpr unsigned kRefusesOneOf = 20;  // first attempts
constexpr std::chrono::milliseconds kTakes[] = {5ms, 20ms, 80ms, 600ms};  // the gateway, for one request
constexpr std::chrono::seconds kAnswer{1};  // that a client waits for, before it turns to the other host
constexpr std::chrono::milliseconds kTick{20}, kLate{500};
constexpr std::size_t kLogShown = 3000;
constexpr std::chrono::seconds kUntilExpired{3};  // from when a form that nobody scans is handed in
constexpr auto kUnscanned = "unscanned";
constexpr auto kPoisonType = "crashes_on_marked_payload";
constexpr auto kLoopType = "loops";

double epoch_now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }
double number(const std::optional<std::string>& text) { return text ? std::stod(*text) : 0; }

// The database's own settings, which a round changes, are not for the test.
std::string undisturbed(const std::string& url) { return url + "&options=-c%20lock_timeout%3D0%20-c%20statement_timeout%3D0"; }

std::string name_of(const std::string& url) {
  const auto from = url.find("@/") + 2;
  return url.substr(from, url.find('?') - from);
}

bool take_one(std::atomic<int>& wanted) {
  int before = wanted;
  return before > 0 && wanted.compare_exchange_strong(before, before - 1);
}

}  // namespace

// ---- a host ----

SupervisedHost::SupervisedHost(const HostSetup& setup) : installation_(setup) {
  installation_.add_plugin(bad_plugin(kPoisonType));
  installation_.add_plugin(bad_plugin(kLoopType));
}

void SupervisedHost::start() {
  const auto log = installation_.folder() / "log";
  std::filesystem::remove(installation_.folder() / "port");
  port_ = 0;
  held_down_ = false;
  process_ = std::make_unique<Process>(
      Command{.arguments = {waybill_program().string(), "serve", "--config", installation_.config().string()},
              .environment = environment_,
              .folder = installation_.folder(),
              .out = log,
              .err = log});
}

void SupervisedHost::kill() {
  held_down_ = true;
  port_ = 0;
  process_->signal(SIGKILL);
  process_->wait();
}

void SupervisedHost::preload(const std::string& library, const std::string& ports) {
  environment_ = {{"LD_PRELOAD", library}, {"NO_ROUTE_FILE", no_route().string()}, {"NO_ROUTE_PORT", ports}};
}

void SupervisedHost::cut_off() {
  if (environment_.empty()) throw std::runtime_error("a sanitized host loads nothing before its own libraries");
  write_file(no_route(), "");
}

void SupervisedHost::connect_again() { std::filesystem::remove(no_route()); }

std::optional<int> SupervisedHost::look() {
  if (held_down_) return std::nullopt;
  if (!process_->running()) {
    port_ = 0;
    return process_->wait();
  }
  if (port_ == 0) port_ = static_cast<std::uint16_t>(std::atoi(read_file(installation_.folder() / "port").c_str()));
  return std::nullopt;
}

std::string SupervisedHost::log() const { return read_file(installation_.folder() / "log"); }

std::string SupervisedHost::log_end() const {
  const auto text = log();
  return text.substr(text.size() > kLogShown ? text.size() - kLogShown : 0);
}

// ---- the world ----

const RoundWorld::Target& RoundWorld::target_of(std::string_view type) {
  return *std::find_if(targets().begin(), targets().end(), [&](const Target& target) { return target.type == type; });
}

const std::vector<RoundWorld::Target>& RoundWorld::targets() {
  static const std::vector<Target> all{
      {"sms.once", "sms", "one_shot", 0},
      {"sms.once-too", "sms", "one_shot", 0},
      {"sms.attempts", "sms", "max_attempts", 3},
      {"sms.attempts-too", "sms", "max_attempts", 3},
      {"sms.patient", "sms", "deadline", 600},
      {"sms.brief", "sms", "deadline", 8},
      {"poisonable", kPoisonType, "max_attempts", 3},
      {"loopable", kLoopType, "max_attempts", 3},
  };
  return all;
}

namespace {

std::string senders(bool apart) {
  const std::string isolation = apart ? "isolation: process" : "isolation: in_process";
  return "senders: { sms: { " + isolation + " }, webhook: { " + isolation + " }, email_raw: { " + isolation +
         ", relay: \"smtp://127.0.0.1:1\", from: \"forms@x.test\" } }\n";
}

}  // namespace

RoundWorld::RoundWorld(Server& server, unsigned seed)
    : server_(server),
      seed_(seed),
      url_(server.cluster.create_database()),
      database_(name_of(url_)),
      begin_(std::chrono::steady_clock::now()),
      begin_epoch_(epoch_now()),
      channels_([this](const char* method, const std::string& path, const std::string& body) { return ask(method, path, body); },
                [this] { return now(); }) {
  steps_.push_back({0, std::chrono::duration<double>(server_.clock.offset()).count()});
  HostSetup setup;
  std::vector<nlohmann::json> registry;
  for (const auto& one : targets())
    registry.push_back(target(one.name, one.type, gateway_.url(), one.policy, one.limit,
                              {one.type == "sms" ? "invalid_recipient" : "invalid_request"}));
  setup.registry = registry_of(registry);
  write_file(keys_.path() / "master", "a master key, of more than 32 bytes");
  setup.more = "timeouts: {attempt: " + std::to_string(kAttempt.count()) +
               "ms, attempt_grace: 100ms, lease: " + std::to_string(kLease.count()) + "ms, cooldown: 300ms}\n" +
               "secrets: { master: { file: \"" + (keys_.path() / "master").string() + "\" } }\n" +
               "notify: { key: master, debounce: 20ms, orphan_scan: 1s }\negress: { allow: [\"127.0.0.1/32\"] }\n" +
               senders(plugins_apart(seed));
  setup.plugin_isolation = plugins_apart(seed) ? "process" : "in_process";
  setup.retry += "\n  webhook: { kind: fixed, delay: 50ms }";
  setup.plugins = {"sms", "webhook", "email_raw"};
  setup.forms["unscanned.yaml"] = form_file(kUnscanned, {form_action(1, "email_raw", "nobody@x.test")});
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    networks_[i] = std::make_unique<DatabaseProxy>(url_);
    setup.database_url = networks_[i]->url();
    hosts_[i] = std::make_unique<SupervisedHost>(setup);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    hosts_[i]->preload(WAYBILL_NO_ROUTE,
                       gateway_.url().substr(gateway_.url().rfind(':') + 1) + "," + std::to_string(channels_.port()));
#endif
  }
}

RoundWorld::~RoundWorld() {
  enough_ = true;
  callers_.clear();
  channels_.stop();
  metronome_ = {};
  hosts_ = {};
  networks_ = {};
  try {
    const auto from = url_.find("@/") + 2;
    auto other = url_;
    SqlClient(other.replace(from, database_.size(), "postgres")).execute("DROP DATABASE " + database_ + " WITH (FORCE)");
  } catch (const std::exception& e) {
    ADD_FAILURE() << "the round's database stays: " << e.what();
  }
}

double RoundWorld::now() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

std::string RoundWorld::sql_url() const { return undisturbed(url_); }

void RoundWorld::start() {
  for (auto& host : hosts_) {
    host->start();
    const bool up = eventually([&] {
      if (host->look()) return true;
      if (host->port() == 0) return false;
      const auto ready = HttpClient(host->port(), kAnswer).try_request("GET", "/readyz");
      return ready && ready->status == 200;
    });
    if (!up || host->port() == 0) throw std::runtime_error("a host did not come up:\n" + host->log_end());
  }
  metronome_ = std::jthread([this](const std::stop_token& stop) { watch_time(stop); });
  channels_.start(hosts_[0]->port());
  for (int i = 0; i < kCallers; ++i) callers_.emplace_back([this, i] { load(i); });
}

void RoundWorld::look_after() {
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    const bool was_up = hosts_[i]->port() != 0;
    const auto code = hosts_[i]->look();
    if (!code) continue;
    const bool by_signal = *code > 128;
    add({was_up || by_signal ? Kind::crash : Kind::failed_start, now(), now(),
         "host " + std::to_string(i) + ", exit code " + std::to_string(*code)});
    hosts_[i]->start();
  }
}

// A thread that is woken far too late tells that everything else had to wait as well.
void RoundWorld::watch_time(const std::stop_token& stop) {
  auto last = std::chrono::steady_clock::now();
  while (!stop.stop_requested()) {
    std::this_thread::sleep_for(kTick);
    const auto woken = std::chrono::steady_clock::now();
    if (woken - last > kTick + kLate)
      add({Kind::pause, std::chrono::duration<double>(last - begin_).count(), now(), "the machine's"});
    last = woken;
  }
}

void RoundWorld::load(int caller) {
  std::minstd_rand random(seed_ * kCallers + static_cast<unsigned>(caller) + 1);
  for (int i = 0; !enough_ || crashes_wanted_ > 0 || loops_wanted_ > 0 || forms_wanted_ > 0; ++i) {
    const auto name = std::to_string(seed_) + "-" + std::to_string(caller) + "-" + std::to_string(i);
    if (take_one(crashes_wanted_))
      hand_in(target_of(kPoisonType), "poison-" + name, Harm::crash, random);
    else if (take_one(loops_wanted_))
      hand_in(target_of(kLoopType), "loop-" + name, Harm::loop, random);
    else if (take_one(forms_wanted_))
      hand_in_unscanned();
    else
      hand_in(targets()[random() % targets().size()], "chaos-" + name, Harm::none, random);
    eventually([&] { return enough_ || acknowledged_ < gateway_.count() + kMaxAhead; });
  }
}

void RoundWorld::hand_in(const Target& target, const std::string& id, Harm harm, std::minstd_rand& random) {
  Record record{.id = id, .target = target.name, .harm = harm, .handed_in = now()};
  record.promise = target.policy == "one_shot"   ? Promise::one_shot
                   : target.policy == "deadline" ? Promise::deadline
                                                 : Promise::max_attempts;
  if (record.promise == Promise::deadline) record.deadline = target.limit;
  if (record.promise == Promise::max_attempts) record.max_attempts = target.limit;
  const bool refused = harm == Harm::none && target.type == "sms" && random() % kRefusesOneOf == 0;
  const auto accepted = Reply::late(kTakes[random() % std::size(kTakes)]);
  if (refused)
    gateway_.script(id, {Reply::reject("provider_failure"), accepted});
  else
    gateway_.script(id, {accepted});
  {
    const std::lock_guard lock(mutex_);
    scripted_refusals_[id] = refused ? 1 : 0;
    handed_in_[id] = record;
  }
  auto body = sms_intent(id, target.name);
  if (harm == Harm::crash) body["payload"]["poison"] = true;
  if (harm == Harm::loop) body["payload"]["loop"] = true;
  const auto text = body.dump();
  auto at = random() % hosts_.size();
  std::string last = "no answer";
  const bool taken = eventually([&] {
    at = (at + 1) % hosts_.size();
    const auto port = hosts_[at]->port();
    if (port == 0) return false;
    const auto response = HttpClient(port, kAnswer).try_request("POST", "/v1/intents", text);
    if (response) last = std::to_string(response->status) + " " + response->body;
    return response && response->status / 100 == 2;
  });
  if (!taken) {
    ADD_FAILURE() << "nobody took " << id << ": " << last;
    return;
  }
  ++acknowledged_;
  const std::lock_guard lock(mutex_);
  handed_in_[id].acknowledged = now();
}

std::optional<HttpResponse> RoundWorld::ask(const char* method, const std::string& path, const std::string& body) {
  const auto port = hosts_[++asked_ % hosts_.size()]->port();
  return port == 0 ? std::nullopt : HttpClient(port, kAnswer).try_request(method, path, body);
}

void RoundWorld::hand_in_unscanned() {
  std::string id;
  {
    const std::lock_guard lock(mutex_);
    id = "form-" + std::to_string(forms_.size());
    forms_.push_back(id);
  }
  const nlohmann::json attachment{{"attachmentId", id},
                                  {"name", "a.pdf"},
                                  {"contentType", "application/pdf"},
                                  {"size", 1},
                                  {"objectUri", "gs://bucket/" + id}};
  nlohmann::json body{{"submissionId", id},
                      {"formId", kUnscanned},
                      {"fields", {{"name", "nobody"}}},
                      {"finalize", true},
                      {"attachments", nlohmann::json::array({attachment})}};
  std::string last = "no answer";
  const bool taken = eventually([&] {
    // The same body each time; a step of the database's clock may have made it one that is too late, which nobody stored.
    if (!body.contains("retentionExpiresAt") || last.find("retentionExpiresAt") != std::string::npos) {
      try {
        body["retentionExpiresAt"] =
            sql().text("SELECT to_char((clock_timestamp() + interval '" + std::to_string(kUntilExpired.count()) +
                       " s') AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')");
      } catch (const std::exception&) {
        return false;  // the server is away
      }
    }
    const auto response = ask("POST", "/v1/submissions", body.dump());
    if (response) last = std::to_string(response->status) + " " + response->body;
    return response && response->status / 100 == 2;
  });
  if (!taken) ADD_FAILURE() << "nobody took " << id << ": " << last;
}

void RoundWorld::stop_load() {
  enough_ = true;
  std::atomic<bool> done{false};
  std::jthread waits([&] {
    channels_.stop();
    callers_.clear();
    done = true;
  });
  while (!done) {  // they need hosts that live; each gives up by itself in the end
    look_after();
    eventually([&] { return done.load(); }, std::chrono::milliseconds(20));
  }
}

bool RoundWorld::settle() {
  // A delivery that a host put aside for a disabled channel, while that was being enabled, is looked at again after a minute.
  constexpr auto kBoundOfAll = 4 * kBound;
  return eventually(
      [&] {
        look_after();
        try {
          return sql().number(
                     "SELECT (SELECT count(*) FROM waybill.submission_states WHERE completed_at IS NULL) + "
                     "(SELECT count(*) FROM waybill.ready)") == 0;
        } catch (const std::exception&) {
          return false;
        }
      },
      kBoundOfAll);
}

void RoundWorld::interrupt() {
  ++interruptions_;
  gateway_.interrupt("/sms/send", Reply::http_error(502));
}

void RoundWorld::resume() {
  if (--interruptions_ == 0) gateway_.resume();
}

void RoundWorld::step_clock(std::chrono::milliseconds by) {
  server_.clock.step(by);
  const std::lock_guard lock(mutex_);
  steps_.push_back({now(), std::chrono::duration<double>(server_.clock.offset()).count()});
}

double RoundWorld::of_database(double epoch) const {
  constexpr double kNear = 0.1;
  for (std::size_t i = steps_.size(); i > 0; --i) {  // the latest clock that can have shown this
    const double at = epoch - begin_epoch_ - steps_[i - 1].offset;
    const double until = i < steps_.size() ? steps_[i].at : now();
    if (at >= steps_[i - 1].at - kNear && at <= until + kNear) return at;
  }
  return now();
}

void RoundWorld::add(Fault fault) {
  const std::lock_guard lock(mutex_);
  faults_.push_back(std::move(fault));
}

std::vector<Fault> RoundWorld::faults() const {
  const std::lock_guard lock(mutex_);
  auto all = faults_;
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    std::istringstream log(hosts_[i]->log());
    for (std::string line; std::getline(log, line);) {
      if (line.find("\"host.was_rescued\"") == std::string::npos) continue;
      const auto event = nlohmann::json::parse(line, nullptr, false);
      const auto told = event.is_object() ? parse_rfc3339(event.value("ts", "")) : std::nullopt;
      if (!told) continue;
      const double at = static_cast<double>(told->micros) / 1e6 - begin_epoch_;
      all.push_back({Kind::displaced, at, at, "host " + std::to_string(i)});
    }
  }
  return all;
}

std::vector<Record> RoundWorld::records() {
  const std::lock_guard lock(mutex_);
  auto all = handed_in_;
  const auto of = [&](const std::string& id) -> Record& {
    auto& record = all[id];
    record.id = id;
    return record;
  };
  for (const auto& request : gateway_.received()) {
    auto& record = of(request.reference);
    record.sends.push_back(std::chrono::duration<double>(request.at - begin_).count());
    record.outages += request.interrupted;
  }
  for (auto& [id, record] : all)
    if (static_cast<int>(record.sends.size()) > record.outages && scripted_refusals_.contains(id))
      record.refusals = scripted_refusals_.at(id);

  auto database = sql();
  for (const auto& row : database.rows("SELECT client_ref, target, completed_at IS NOT NULL, state, reason, "
                                       "extract(epoch FROM completed_at) FROM waybill.submission_states WHERE kind = 'intent'")) {
    auto& record = of(*row[0]);
    record.known = true;
    record.target = *row[1];
    if (row[2] == "t") record.end = End{*row[3], row[4].value_or(""), of_database(number(row[5]))};
  }
  for (const auto& row : database.rows(
           "SELECT s.client_ref, r.attempt_count, CASE WHEN r.status = 'claimed' THEN '' WHEN c.until > now() THEN "
           "'the target cools down until ' || c.until WHEN r.due_at > now() THEN 'its next attempt at ' || r.due_at ELSE '' "
           "END, r.status = 'claimed' AND NOT EXISTS (SELECT FROM waybill.hosts h WHERE h.host_id = r.claimed_by) "
           "FROM waybill.ready r JOIN waybill.submissions s ON s.id = r.submission_id "
           "LEFT JOIN waybill.target_outages c ON c.org_id = s.org_id AND c.target = s.target WHERE s.kind = 'intent'")) {
    auto& record = of(*row[0]);
    record.attempt_count = std::stoi(*row[1]);
    record.waits_for = *row[2];
    record.held_by_dead = row[3] == "t";
  }
  for (const auto& row : database.rows("SELECT s.client_ref, d.attempt_count FROM waybill.deliveries d "
                                       "JOIN waybill.submissions s ON s.id = d.submission_id WHERE s.kind = 'intent'"))
    of(*row[0]).attempt_count = std::stoi(*row[1]);
  for (const auto& row : database.rows(  // an intent's delivery has its submission's id
           "SELECT s.client_ref, a.number, a.outcome, a.counts, concat_ws(', ', a.reason, a.error) FROM waybill.attempts a "
           "JOIN waybill.submissions s ON s.id = a.delivery_id WHERE s.kind = 'intent' ORDER BY s.id, a.number"))
    of(*row[0]).attempts.push_back({std::stoi(*row[1]), *row[2], row[3] == "t", row[4].value_or("")});
  for (const auto& row :
       database.rows("SELECT s.client_ref, l.action, coalesce(l.from_state, ''), coalesce(l.to_state, '') FROM "
                     "waybill.audit_log l JOIN waybill.submissions s ON s.id = l.submission_id WHERE s.kind = 'intent' "
                     "ORDER BY l.id"))
    of(*row[0]).audit.push_back({*row[1], *row[2], *row[3]});

  std::vector<Record> records;
  for (auto& [id, record] : all) records.push_back(std::move(record));
  return records;
}

std::vector<ChannelRecord> RoundWorld::channel_records() {
  auto database = sql();
  return channels_.records(database);
}

std::vector<FormRecord> RoundWorld::form_records() {
  auto database = sql();
  // One incident for all submissions of a form, which counts them.
  const auto told = database.number(
      "SELECT coalesce(sum(count), 0) FROM waybill.alerts WHERE incident = 'retention_expired:" + std::string(kUnscanned) + "'");
  std::vector<FormRecord> all;
  for (const auto& row : database.rows(
           "SELECT client_ref, state, reason, (SELECT count(*) FROM waybill.audit_log l WHERE l.submission_id = s.id AND "
           "l.to_state = 'failed'), (SELECT count(*) FROM waybill.attempts a JOIN waybill.deliveries d ON d.id = a.delivery_id "
           "WHERE d.submission_id = s.id) FROM waybill.submission_states s WHERE kind = 'form' ORDER BY client_ref"))
    all.push_back({*row[0], *row[1], row[2].value_or(""), std::stoi(*row[3]), std::stoi(*row[4])});
  const std::lock_guard lock(mutex_);
  for (const auto& id : forms_)
    if (std::none_of(all.begin(), all.end(), [&](const FormRecord& form) { return form.id == id; }))
      all.push_back({.id = id, .state = "lost", .reason = ""});
  for (auto& form : all) form.alerts = told >= static_cast<std::int64_t>(all.size());
  return all;
}

std::string RoundWorld::logs() const {
  std::string all;
  SqlClient database(sql_url());
  for (const std::string table : {"target_outages", "host_findings", "hosts", "ready"}) {
    all += "---- " + table + ", at the database's time\n";
    for (const auto& row : database.rows("SELECT clock_timestamp() || ' ' || t FROM waybill." + table + " t"))
      all += *row[0] + "\n";
  }
  all += "---- attempts of channels that failed, and whether they count\n";
  for (const auto& row :
       database.rows("SELECT n.channel_id || ' ' || a.delivery_id || ' ' || a.number || ' ' || "
                     "a.started_at || ' to ' || a.finished_at || ' ' || a.counts || ' ' || coalesce(a.reason, '') || ' ' || "
                     "coalesce(a.error, '') FROM waybill.attempts a JOIN "
                     "(SELECT DISTINCT delivery_id, channel_id FROM waybill.notifications) n ON n.delivery_id = a.delivery_id "
                     "WHERE a.outcome <> 'accepted' ORDER BY a.started_at"))
    all += *row[0] + "\n";
  for (std::size_t i = 0; i < hosts_.size(); ++i) all += "---- log of host " + std::to_string(i) + "\n" + hosts_[i]->log_end();
  return all;
}

}  // namespace waybill::testing::chaos

// The host of the test kit: descriptor, senders, calls and their ends, the clock, the log.
#include <algorithm>
#include <ostream>

#include "world.h"

namespace waybill::testkit {
namespace {

void take_problem(void* user, wb_str path, wb_str message) {
  static_cast<std::vector<Problem>*>(user)->push_back({text(path), text(message)});
}

using Validate = std::int32_t (*)(wb_str, wb_report, void*);

std::vector<Problem> validate_once(const World& world, Validate validate, std::string_view json) {
  std::vector<Problem> problems;
  const Block bytes(Memory::exact, json);
  const auto count = validate(bytes.str(), &take_problem, &problems);
  if (static_cast<std::size_t>(count) != problems.size())
    world.breach() << "a check must return the number of problems it reported: it returned " << count << " and reported "
                   << problems.size();
  return problems;
}

std::vector<Problem> validate_twice(const World& world, Validate validate, std::string_view json) {
  if (!validate) return {};
  auto problems = validate_once(world, validate, json);
  if (problems != validate_once(world, validate, json)) world.breach() << "a check must give the same answer for the same bytes";
  return problems;
}

constexpr const char* kGarbageOutcome = "garbage_outcome";

Outcome outcome_of(const wb_outcome* said) {
  if (!said || !WB_HAS(said, result))
    return {WB_TRANSIENT, WB_MAYBE_SENT, WB_THIS_JOB, 0, -1, kGarbageOutcome, {}, {}, {}, {}, {}};
  Outcome o{said->verdict,
            said->reach,
            said->scope,
            said->code,
            said->retry_after_ms,
            text(said->reason),
            text(said->detail),
            text(said->provider_ref),
            text(said->result),
            {},
            {}};
  if (WB_HAS(said, artifact)) o.artifact_type = text(said->artifact_type), o.artifact = text(said->artifact);
  return o;
}

void check_artifact(const World& world, CallKind kind, const Outcome& o) {
  if (kind != CallKind::compose || o.verdict != WB_ACCEPTED) {
    if (!o.artifact.empty()) world.breach() << "an artefact in an outcome that is not of an accepted compose: " << o;
  } else if (o.artifact.empty()) {
    world.breach() << "an accepted compose without an artefact: " << o;
  } else if (o.artifact.size() > WB_MOST_ARTIFACT_BYTES) {
    world.breach() << "an artefact of " << o.artifact.size() << " bytes, more than WB_MOST_ARTIFACT_BYTES";
  }
  world.check_words("an artefact's type", o.artifact_type, true);
}

void check_outcome(const World& world, const wb_action& action, const Outcome& o) {
  if (o.verdict < WB_ACCEPTED || o.verdict > WB_DEFERRED) world.breach() << "no such verdict: " << o;
  if (o.reach < WB_NOT_SENT || o.reach > WB_ANSWERED) world.breach() << "no such reach: " << o;
  if (o.scope != WB_THIS_JOB && o.scope != WB_WHOLE_TARGET) world.breach() << "no such scope: " << o;
  if (o.retry_after_ms < -1) world.breach() << "a retry_after_ms below -1: " << o;
  if (o.verdict != WB_ACCEPTED && o.reason.empty()) world.breach() << "an outcome that is not accepted needs a reason: " << o;
  if (o.verdict == WB_REJECTED) {
    const auto* end = action.reasons + action.reason_count;
    if (std::none_of(action.reasons, end, [&](const wb_reason& r) { return view(r.name) == o.reason; }))
      world.breach() << "rejected with a reason that the action does not declare: " << o;
  }
  world.check_words("an outcome's reason", o.reason, true);
  world.check_words("an outcome's detail", o.detail, true);
  world.check_words("an outcome's provider_ref", o.provider_ref, true);
  world.check_words("an outcome's result", o.result, false);
}

}  // namespace

World::World(const wb_plugin* descriptor, Breaches breaches)
    : Host({"testkit", 7}, {}), plugin(descriptor), breaches_(std::move(breaches)) {}

bool World::may_begin(const char* what, wb_call call) {
  if (is_open(call.id)) return true;
  breach() << what << " was called on behalf of call " << call.id << ", which is not open";
  return false;
}

// Everything that a plugin says for people or for the log.
void World::check_words(std::string_view where, std::string_view words, bool one_line) const {
  if (!fake_host::is_utf8(words)) breach() << where << " is not UTF-8";
  if (one_line && words.find_first_of("\r\n") != std::string_view::npos)
    breach() << where << " has more than one line: " << words;
  for (const auto& [name, values] : secrets)
    for (const auto& value : values)
      if (!value.empty() && words.find(value) != std::string_view::npos)
        breach() << where << " gives the secret \"" << name << "\" away";
}

std::uint64_t World::open_call(const wb_sender* sender, const wb_action* action, CallKind kind, const Job& job) {
  const auto number = timeline_.next_number();
  auto& call = calls[number] = {sender, action, kind, {}, nullptr, timeline_.now_ms() + job.deadline_ms};
  call.job = lender_.job(call.loan, job);
  const std::lock_guard lock(mutex_);
  open_.insert(number);
  return number;
}

std::int32_t World::complete(wb_call call, const wb_outcome* outcome) {
  auto said = outcome_of(outcome);
  const bool elsewhere = !is_strand();
  {
    const std::lock_guard lock(mutex_);
    if (open_.erase(call.id) == 0) {
      breach() << "call " << call.id
               << (ended_.count(call.id) != 0 ? " was completed twice" : " was completed, but there is no such call");
      return 1;
    }
    ended_.insert(call.id);
    if (elsewhere) arrivals_.emplace_back(call.id, std::move(said));
  }
  if (elsewhere)
    arrived_.notify_all();
  else
    end(call.id, std::move(said));
  return 0;
}

void World::end(std::uint64_t call, Outcome outcome) {
  const auto found = calls.find(call);
  if (outcome.reason == kGarbageOutcome)
    breach() << "call " << call << " was completed with an outcome that is null or too short: is `size` set?";
  else
    check_outcome(*this, *found->second.action, outcome), check_artifact(*this, found->second.kind, outcome);
  outcomes.emplace(call, std::move(outcome));
  calls.erase(found);  // and with it the job, which plugin.h promises no longer life
  timeline_.end_call(call);
}

void World::take_arrivals() {
  std::vector<std::pair<std::uint64_t, Outcome>> arrivals;
  {
    const std::lock_guard lock(mutex_);
    arrivals.swap(arrivals_);
  }
  for (auto& [call, outcome] : arrivals) end(call, std::move(outcome));
}

bool World::ends(std::uint64_t call) {
  run_until(timeline_.now_ms());
  if (!is_open(call) || timeline_.holds_any_of(call)) return !is_open(call);
  std::unique_lock lock(mutex_);
  arrived_.wait_for(lock, patience, [&] { return open_.count(call) == 0; });
  lock.unlock();
  run_until(timeline_.now_ms());
  return !is_open(call);
}

void World::run_until(std::int64_t time_ms) {
  constexpr int kMaxSteps = 1'000'000;
  for (int step = 0; step < kMaxSteps; ++step) {
    take_arrivals();
    if (!timeline_.step(time_ms)) return timeline_.advance_to(time_ms);
  }
  breach() << "still not idle after " << kMaxSteps << " steps: does a timer start itself again with no delay?";
}

void World::aborted(Protocol, std::uint64_t number) {
  for (auto& request : requests)
    if (request.fetch == number) request.aborted = true;
  for (auto& mail : mails)
    if (mail.submission == number) mail.aborted = true;
}

std::optional<std::string> World::newest_secret(std::string_view name) const {
  const auto found = secrets.find(name);
  if (found == secrets.end() || found->second.empty()) return std::nullopt;
  return found->second.front();
}

void World::log(wb_call call, std::int32_t level, wb_str words, const wb_field* fields, std::size_t count) {
  LogEvent event{call.id, level, text(words), {}};
  check_words("a log event", event.text, false);
  for (std::size_t i = 0; i < count; ++i) {
    event.fields.emplace_back(text(fields[i].key), text(fields[i].value));
    check_words("a log field", event.fields.back().second, false);
  }
  const std::lock_guard lock(mutex_);
  logs.push_back(std::move(event));
}

FakeHost::FakeHost(const wb_plugin* plugin, Breaches breaches) : world_(std::make_unique<World>(plugin, std::move(breaches))) {}
FakeHost::~FakeHost() = default;

const wb_action* FakeHost::action(std::string_view action_type) const {
  for (std::size_t i = 0; i < world_->plugin->action_count; ++i)
    if (view(world_->plugin->actions[i]->type) == action_type) return world_->plugin->actions[i];
  return nullptr;
}

std::unique_ptr<FakeSender> FakeHost::make_sender(std::string_view action_type, std::string_view settings) {
  world_->create_problems.clear();
  const auto* found = action(action_type);
  if (!found) {
    world_->breach() << "the plugin has no action type " << action_type;
    return nullptr;
  }
  const wb_sender_vt* table = nullptr;
  const Block bytes(Memory::exact, settings);
  auto* sender = found->create(world_->table(), bytes.str(), &table, &take_problem, &world_->create_problems);
  if (!sender) {
    if (world_->create_problems.empty()) world_->breach() << "create returned null without telling why";
    return nullptr;
  }
  if (!table) {
    world_->breach() << "create made a sender and gave no table for it";
    return nullptr;
  }
  return std::make_unique<FakeSender>(*world_, sender, table, found);
}

const std::vector<Problem>& FakeHost::create_problems() const { return world_->create_problems; }

std::vector<Problem> FakeHost::validate_settings(std::string_view action_type, std::string_view json) {
  return validate_twice(*world_, action(action_type)->validate_settings, json);
}

std::vector<Problem> FakeHost::validate_destination(std::string_view action_type, std::string_view json) {
  return validate_twice(*world_, action(action_type)->validate_destination, json);
}

void FakeHost::secret(std::string name, std::vector<std::string> values) { world_->secrets[std::move(name)] = std::move(values); }
void FakeHost::remove_service(std::string_view id) { world_->missing_services.emplace(id); }
void FakeHost::patience(std::chrono::milliseconds duration) { world_->patience = duration; }
void FakeHost::run_until_idle() { world_->run_until(world_->timeline().now_ms()); }
void FakeHost::advance(std::chrono::milliseconds duration) { world_->run_until(world_->timeline().now_ms() + duration.count()); }
const std::vector<SentRequest>& FakeHost::requests() const { return world_->requests; }
const std::vector<SentMail>& FakeHost::mails() const { return world_->mails; }
const std::vector<LogEvent>& FakeHost::logs() const { return world_->logs; }
void FakeHost::set_unix_seconds(std::int64_t seconds) { world_->unix_at_zero_ms = seconds * 1000 - world_->timeline().now_ms(); }
std::int64_t FakeHost::unix_seconds() const { return world_->unix_seconds(); }
std::size_t FakeHost::open_fetches() const { return world_->timeline().open_exchanges(Protocol::http); }
std::size_t FakeHost::open_submissions() const { return world_->timeline().open_exchanges(Protocol::smtp); }
std::size_t FakeHost::open_timers() const { return world_->timeline().open_timers(); }

std::optional<Outcome> FakeHost::outcome(CallId call) const {
  const auto found = world_->outcomes.find(static_cast<std::uint64_t>(call));
  if (found == world_->outcomes.end()) return std::nullopt;
  return found->second;
}

std::ostream& operator<<(std::ostream& out, const Outcome& o) {
  static constexpr const char* kVerdicts[] = {"verdict?", "accepted", "rejected", "transient", "deferred"};
  static constexpr const char* kReaches[] = {"reach?", "not sent", "maybe sent", "answered"};
  out << kVerdicts[o.verdict >= 1 && o.verdict <= 4 ? o.verdict : 0] << '(' << o.reason << "), "
      << kReaches[o.reach >= 1 && o.reach <= 3 ? o.reach : 0] << (o.scope == WB_WHOLE_TARGET ? ", whole target" : "") << ", code "
      << o.code << ", retry after " << o.retry_after_ms << " ms, \"" << o.detail << '"';
  return out;
}

std::ostream& operator<<(std::ostream& out, const Problem& problem) {
  return out << '"' << problem.path << "\": " << problem.message;
}

}  // namespace waybill::testkit

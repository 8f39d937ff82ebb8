// The fake host itself: descriptor, senders, calls and their ends, the log.
#include <algorithm>
#include <cstring>
#include <ostream>

#include "world.h"

namespace waybill::testkit {
namespace {

const void* get_service(const wb_host* host, wb_str id) {
  const auto name = view(id);
  if (world_of(host).missing_services.count(name) != 0) return nullptr;
  if (name == WB_HTTP_SERVICE) return http_service();
  if (name == WB_TIMER_SERVICE) return timer_service();
  if (name == WB_SIGN_SERVICE) return sign_service();
  if (name == WB_SMTP_SERVICE) return smtp_service();
  if (name == WB_TEMPLATE_SERVICE) return template_service();
  if (name == WB_LINK_SERVICE) return link_service();
  return nullptr;
}

std::int32_t complete_call(const wb_host* host, wb_call call, const wb_outcome* outcome) {
  return world_of(host).complete(call, outcome);
}

void log_event(const wb_host* host, wb_call call, std::int32_t level, wb_str words, const wb_field* fields, std::size_t count) {
  world_of(host).log(call, level, words, fields, count);
}

void take_problem(void* user, wb_str path, wb_str message) {
  static_cast<std::vector<Problem>*>(user)->push_back({text(path), text(message)});
}

using Validate = std::int32_t (*)(wb_str, wb_report, void*);

std::vector<Problem> validate_once(const World& world, Validate validate, std::string_view json) {
  std::vector<Problem> problems;
  const Bytes bytes(json);
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

void check_artifact(const World& world, CallKind asked, const Outcome& o) {
  if (asked != CallKind::compose || o.verdict != WB_ACCEPTED) {
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

Bytes::Bytes(std::string_view text) : data_(text.empty() ? nullptr : new char[text.size()]), size_(text.size()) {
  if (size_ != 0) std::memcpy(data_.get(), text.data(), size_);
}

JobBytes::JobBytes(const Job& job)
    : action_id_(job.action_id),
      target_(job.target),
      key_(job.idempotency_key),
      destination_(job.destination),
      payload_(job.payload),
      context_(job.context),
      artifact_type_(job.artifact_type),
      artifact_(job.artifact),
      provider_ref_(job.provider_ref),
      progress_(job.progress),
      raw_(new wb_job{sizeof(wb_job), job.attempt, job.maybe_sent_before ? 1U : 0U, job.deadline_ms, action_id_.str(),
                      target_.str(), key_.str(), destination_.str(), payload_.str(), context_.str(), artifact_type_.str(),
                      artifact_.str(), provider_ref_.str(), progress_.str()}) {}

World::World(const wb_plugin* descriptor, Breaches breaches) : plugin(descriptor), breaches_(std::move(breaches)) {
  table.host = {sizeof(wb_host), WB_ABI_MINOR, 0, {"testkit", 7}, {"1", 1}, &get_service, &complete_call, &log_event};
  table.world = this;
}

bool World::on_own_thread(std::string_view what) const {
  if (std::this_thread::get_id() == thread) return true;
  breach() << what << " came from another thread; it belongs to the strand";
  return false;
}

// Everything that a plugin says for people or for the log.
void World::check_words(std::string_view where, std::string_view words, bool one_line) const {
  if (!is_utf8(words)) breach() << where << " is not UTF-8";
  if (one_line && words.find_first_of("\r\n") != std::string_view::npos)
    breach() << where << " has more than one line: " << words;
  for (const auto& [name, values] : secrets)
    for (const auto& value : values)
      if (!value.empty() && words.find(value) != std::string_view::npos)
        breach() << where << " gives the secret \"" << name << "\" away";
}

std::uint64_t World::open_call(const wb_sender* sender, const wb_action* action, CallKind asked, const Job& job) {
  const auto number = next_number++;
  calls.emplace(number, OpenCall{sender, action, asked, std::make_unique<JobBytes>(job), now_ms + job.deadline_ms});
  const std::lock_guard lock(mutex_);
  open_.insert(number);
  return number;
}

std::int32_t World::complete(wb_call call, const wb_outcome* outcome) {
  auto said = outcome_of(outcome);
  const bool elsewhere = std::this_thread::get_id() != thread;
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
    check_outcome(*this, *found->second.action, outcome), check_artifact(*this, found->second.asked, outcome);
  outcomes.emplace(call, std::move(outcome));
  calls.erase(found);  // and with it the job: that is all the life that plugin.h promises it
  cancel_exchanges_of(call);
  for (auto it = timers.begin(); it != timers.end();) it = it->second.call == call ? timers.erase(it) : std::next(it);
}

void World::take_arrivals() {
  std::vector<std::pair<std::uint64_t, Outcome>> arrivals;
  {
    const std::lock_guard lock(mutex_);
    arrivals.swap(arrivals_);
  }
  for (auto& [call, outcome] : arrivals) end(call, std::move(outcome));
}

bool World::settled(std::uint64_t call) {
  run_until(now_ms);
  const auto is_of_call = [&](const auto& entry) { return entry.second.call == call; };
  if (!is_open(call) || std::any_of(exchanges.begin(), exchanges.end(), is_of_call) ||
      std::any_of(timers.begin(), timers.end(), is_of_call))
    return !is_open(call);
  std::unique_lock lock(mutex_);
  arrived_.wait_for(lock, patience, [&] { return open_.count(call) == 0; });
  lock.unlock();
  run_until(now_ms);
  return !is_open(call);
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
  const Bytes bytes(settings);
  auto* sender = found->create(&world_->table.host, bytes.str(), &table, &take_problem, &world_->create_problems);
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
void FakeHost::run_until_idle() { world_->run_until(world_->now_ms); }
void FakeHost::advance(std::chrono::milliseconds duration) { world_->run_until(world_->now_ms + duration.count()); }
const std::vector<SentRequest>& FakeHost::requests() const { return world_->requests; }
const std::vector<SentMail>& FakeHost::mails() const { return world_->mails; }
const std::vector<LogEvent>& FakeHost::logs() const { return world_->logs; }
std::size_t FakeHost::open_fetches() const { return world_->open_exchanges(http_service()); }
std::size_t FakeHost::open_submissions() const { return world_->open_exchanges(smtp_service()); }
std::size_t FakeHost::open_timers() const { return world_->timers.size(); }

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

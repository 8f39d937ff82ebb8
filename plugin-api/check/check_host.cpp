// The host's calls: how the plugin is entered, how calls begin and end, and how time passes.
#include "check_host.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "check_host_face.h"
#include "measures.h"

namespace waybill::conformance {
namespace {

constexpr std::size_t size_of_job(std::uint32_t minor) {
  return minor == 0 ? offsetof(wb_job, artifact_type) : minor == 1 ? offsetof(wb_job, progress) : sizeof(wb_job);
}

constexpr std::chrono::milliseconds kPatience{1500};  // for a completion that only another thread can bring
constexpr int kMaxSteps = 20'000;
constexpr std::chrono::milliseconds kPrompt{100};

std::atomic<std::uint64_t> last_call{0};  // of all stages: a number is never reused

}  // namespace

CheckHost::CheckHost(const wb_action& action, Findings& findings, Shape shape)
    : action_(action), findings_(findings), shape_(shape) {
  script_ = [](std::uint64_t, std::size_t) { return Answer{}; };
  auto host = CheckHostFace::host(shape.minor);
  host.size += shape.more;
  table_ = Block(shape.text, sizeof(CheckHost*) + host.size);
  CheckHost* self = this;
  std::memset(table_.data(), 0xA5, table_.size());
  std::memcpy(table_.data(), &self, sizeof self);
  std::memcpy(table_.data() + sizeof self, &host, sizeof host);
  table_.seal();
  host_ = reinterpret_cast<const wb_host*>(table_.data() + sizeof self);
}

CheckHost::~CheckHost() { destroy(); }

void CheckHost::breach(Violation kind, const std::string& words) {
  const std::lock_guard lock(mutex_);
  breaches_.emplace_back(kind, words);
}

bool CheckHost::on_strand(const char* what) {
  if (std::this_thread::get_id() == strand_) return true;
  breach(Violation::off_strand, std::string(what) + " was called from a thread of the plugin's own; it belongs to the strand");
  return false;
}

// The plugin runs inside `body`, and nothing of what it throws comes any further.
void CheckHost::enter(const std::string& what, std::uint64_t call, const std::function<void()>& body) {
  findings_.doing(what);
  std::optional<Stopwatch> watch;
  if (shape_.timed) watch.emplace();
  std::string threw;
  try {
    body();
  } catch (const std::exception& error) {
    threw = std::string("threw an exception: ") + error.what();
  } catch (...) {
    threw = "threw an exception that is no std::exception";
  }
  if (watch && watch->waited() > kPrompt)
    breach(Violation::slow, what + " kept the strand waiting for " + std::to_string(watch->waited().count()) + " ms");
  if (watch && watch->computed() > kPrompt)
    breach(Violation::slow, what + " computed for " + std::to_string(watch->computed().count()) + " ms on the strand");
  if (threw.empty()) return;
  breach(Violation::threw, what + ' ' + threw);
  const std::lock_guard lock(mutex_);
  if (const auto found = calls_.find(call); found != calls_.end() && found->second.end == End::open)
    found->second.end = End::threw;  // as the host does: the attempt is lost, nothing else
}

bool CheckHost::create(const std::string& settings) {
  const Block text(shape_.text, settings);
  refusal_.clear();
  creating_ = true;
  enter("create", 0, [&] { sender_ = action_.create(host_, text.str(), &vt_, &CheckHostFace::take_refusal, &refusal_); });
  creating_ = false;
  create_threw_ = !breaches().empty() && breaches().back().first == Violation::threw;
  return sender_ != nullptr && has_whole_table();
}

bool CheckHost::has_whole_table() const {
  return vt_ != nullptr && vt_->send != nullptr && vt_->cancel != nullptr && vt_->get_extension != nullptr &&
         vt_->destroy != nullptr;
}

void CheckHost::destroy() {
  if (sender_ == nullptr || !has_whole_table()) return;
  for (const auto& one : calls())
    if (one.end == End::open) give_up(one.id);
  run();  // every request still tells its end
  destroying_ = true;
  enter("destroy", 0, [&] { vt_->destroy(sender_); });
  sender_ = nullptr;
}

const void* CheckHost::extension(std::string_view id) {
  const Block text(shape_.text, id);
  const void* table = nullptr;
  enter("get_extension", 0, [&] { table = vt_->get_extension(sender_, text.str()); });
  return table;
}

wb_str CheckHost::lend(std::vector<Block>& keep, std::string_view text) const {
  if (text.empty()) return {nullptr, 0};
  return keep.emplace_back(shape_.text, text).str();
}

// A struct that begins with its size, and behind it what this host has more of.
Block CheckHost::lend_struct(const void* bytes, std::size_t size, Memory memory) const {
  const auto whole = size + shape_.more;
  Block block(memory, whole);
  std::memset(block.data(), 0xA5, whole);
  std::memcpy(block.data(), bytes, size);
  std::memcpy(block.data(), &whole, sizeof whole);
  block.seal();
  return block;
}

BorrowedJob CheckHost::lend_job(const Job& job) const {
  BorrowedJob lent;
  wb_job raw{};
  raw.attempt = 1;
  raw.deadline_ms = job.deadline_ms;
  raw.action_id = lend(lent.texts, "4711");
  raw.target = lend(lent.texts, job.target);
  raw.idempotency_key = lend(lent.texts, job.key);
  raw.destination = lend(lent.texts, job.destination);
  raw.payload = lend(lent.texts, job.payload);
  raw.context = lend(lent.texts, job.context);
  raw.artifact_type = lend(lent.texts, job.artifact_type);
  raw.artifact = lend(lent.texts, job.artifact);
  raw.provider_ref = lend(lent.texts, job.provider_ref);
  lent.raw = lend_struct(&raw, size_of_job(shape_.minor), shape_.job);
  return lent;
}

void CheckHost::lend_query(BorrowedJob& lent, std::uint64_t call) {
  wb_failure_query raw{};
  raw.since = shape_.unix_seconds - 86'400;
  raw.failure = &CheckHostFace::failure;
  raw.next_page = &CheckHostFace::next_page;
  questions_.push_back({this, call});
  raw.user = &questions_.back();
  lent.query = lend_struct(&raw, sizeof raw, shape_.text);
}

const void* CheckHost::table_of(CallKind asked) {
  static constexpr const char* kIds[] = {"", WB_COMPOSE_EXTENSION, WB_STATUS_EXTENSION, WB_PROBE_EXTENSION,
                                         WB_FAILURES_EXTENSION};
  return extension(kIds[static_cast<std::size_t>(asked)]);
}

bool CheckHost::can(CallKind asked) {
  if (asked == CallKind::send) return true;
  const auto* const table = table_of(asked);
  return table != nullptr && *static_cast<void* const*>(table) != nullptr;  // each table is one function
}

std::uint64_t CheckHost::begin(CallKind asked, const Job& job) {
  const auto id = ++last_call;
  auto lent = lend_job(job);
  if (asked == CallKind::failures) lend_query(lent, id);
  const auto* const raw = reinterpret_cast<const wb_job*>(lent.raw.data());
  const auto* const query = reinterpret_cast<const wb_failure_query*>(lent.query.data());
  {
    const std::lock_guard lock(mutex_);
    auto& call = calls_[id];
    call.id = id;
    call.asked = asked;
    call.deadline_at = now_ms_ + job.deadline_ms;
    lent_.emplace(id, std::move(lent));
  }
  const auto* const table = asked == CallKind::send ? nullptr : table_of(asked);
  enter(std::string(word_for(asked)), id, [&] {
    const wb_call call{id};
    switch (asked) {
      case CallKind::send:
        return vt_->send(sender_, call, raw);
      case CallKind::compose:
        return static_cast<const wb_compose*>(table)->compose(sender_, call, raw);
      case CallKind::status:
        return static_cast<const wb_status*>(table)->status(sender_, call, raw);
      case CallKind::probe:
        return static_cast<const wb_probe*>(table)->probe(sender_, call, raw);
      case CallKind::failures:
        return static_cast<const wb_failures*>(table)->list(sender_, call, raw, query);
    }
  });
  forget_ended();
  return id;
}

void CheckHost::cancel(std::uint64_t id) {
  if (call(id).end != End::open) return;
  enter("cancel", id, [&] { vt_->cancel(sender_, {id}); });
  forget_ended();
}

void CheckHost::give_up(std::uint64_t id) {
  {
    const std::lock_guard lock(mutex_);
    if (auto& call = calls_.at(id); call.end == End::open) call.end = End::given_up;
  }
  forget_ended();
}

std::int32_t CheckHost::complete(wb_call id, const wb_outcome* said) {
  auto outcome = outcome_of(said);
  const std::lock_guard lock(mutex_);
  if (destroying_) breaches_.emplace_back(Violation::in_destroy, "a call was completed in or after destroy");
  const auto found = calls_.find(id.id);
  if (found == calls_.end()) {
    breaches_.emplace_back(Violation::unknown_call, "a call was completed that this sender was never given");
    return 1;
  }
  auto& call = found->second;
  if (call.end == End::given_up) return 1;  // late, as it may be
  ++call.completions;
  if (call.end != End::open) return 1;
  call.end = End::completed;
  call.outcome = std::move(outcome);
  if (shape_.job != Memory::forgiving) lent_.erase(id.id);  // that is all the life that plugin.h promises a job
  arrived_.notify_all();
  return 0;
}

// What belongs to calls that have ended: requests tell their end soon, timers go without a word.
void CheckHost::forget_ended() {
  std::vector<std::uint64_t> ended;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, call] : calls_)
      if (call.end != End::open) ended.push_back(id);
    if (shape_.job != Memory::forgiving)
      for (const auto id : ended) lent_.erase(id);
  }
  const auto has_ended = [&](std::uint64_t id) { return std::binary_search(ended.begin(), ended.end(), id); };
  for (auto& [number, exchange] : exchanges_) {
    if (exchange.overruled || !has_ended(exchange.call)) continue;
    exchange.answer = broken(WB_NET_CANCELLED, exchange.answer.error != WB_NET_OK ? exchange.answer.reach : WB_MAYBE_SENT);
    exchange.overruled = true;
    exchange.due_at = now_ms_;
  }
  std::erase_if(timers_, [&](const auto& entry) { return has_ended(entry.second.call); });
}

bool CheckHost::any_open() const {
  const std::lock_guard lock(mutex_);
  return std::any_of(calls_.begin(), calls_.end(), [](const auto& entry) { return entry.second.end == End::open; });
}

bool CheckHost::wait_for_other_threads() {
  if (thread_count() <= kOwnThreads) return false;
  std::unique_lock lock(mutex_);
  const auto ended = [&] {
    return static_cast<std::size_t>(
        std::count_if(calls_.begin(), calls_.end(), [](const auto& entry) { return entry.second.end != End::open; }));
  };
  const auto before = ended();
  return arrived_.wait_for(lock, kPatience, [&] { return ended() != before; });
}

bool CheckHost::step_until(std::int64_t limit) {
  forget_ended();
  auto exchange = exchanges_.end();
  for (auto it = exchanges_.begin(); it != exchanges_.end(); ++it)
    if (exchange == exchanges_.end() || it->second.due_at < exchange->second.due_at ||
        (shape_.backwards && it->second.due_at == exchange->second.due_at))
      exchange = it;
  const auto timer = std::min_element(timers_.begin(), timers_.end(),
                                      [](const auto& a, const auto& b) { return a.second.due_at < b.second.due_at; });
  const bool exchange_first =
      exchange != exchanges_.end() && (timer == timers_.end() || exchange->second.due_at <= timer->second.due_at);
  if (exchange_first && exchange->second.due_at <= limit) {
    now_ms_ = std::max(now_ms_, exchange->second.due_at);
    deliver(exchange->first);
    return true;
  }
  if (!exchange_first && timer != timers_.end() && timer->second.due_at <= limit) {
    now_ms_ = std::max(now_ms_, timer->second.due_at);
    const auto ringing = timer->second;
    timers_.erase(timer);
    enter("a timer's fire", ringing.call, [&] { ringing.fire(ringing.user); });
    return true;
  }
  return exchanges_.empty() && timers_.empty() && any_open() && wait_for_other_threads();
}

bool CheckHost::step() {
  std::int64_t limit = now_ms_;
  for (const auto& one : calls())
    if (one.end == End::open) limit = std::max(limit, one.deadline_at);
  return step_until(limit);
}

void CheckHost::run() {
  for (int i = 0; step(); ++i)
    if (i == kMaxSteps) return breach(Violation::runaway, "it does not come to rest: something begins anew again and again");
}

void CheckHost::run_for(std::int64_t ms) {
  const auto limit = now_ms_ + ms;
  for (int i = 0; i < kMaxSteps && step_until(limit); ++i) {
  }
  now_ms_ = std::max(now_ms_, limit);
}

std::uint64_t CheckHost::after(wb_call id, std::int64_t delay_ms, void (*fire)(void*), void* user) {
  if (!on_strand("timer.after")) return 0;
  const auto number = next_++;
  if (creating_) breach(Violation::in_create, "create asked for a timer");
  if (destroying_) breach(Violation::in_destroy, "destroy asked for a timer");
  const std::unique_lock lock(mutex_);
  const auto found = calls_.find(id.id);
  if (fire != nullptr && found != calls_.end() && found->second.end == End::open)
    timers_.emplace(number, Timer{id.id, fire, user, now_ms_ + std::max<std::int64_t>(delay_ms, 0)});
  else if (!creating_ && !destroying_)
    breaches_.emplace_back(Violation::malformed, "a timer without a function, or on behalf of a call that is not open");
  return number;
}

void CheckHost::log(wb_str text, const wb_field* fields, std::size_t count) {
  const std::lock_guard lock(mutex_);
  logged_.push_back(text_of(text).kept);
  for (std::size_t i = 0; fields != nullptr && i < count; ++i) {
    logged_.push_back(text_of(fields[i].key).kept);
    logged_.push_back(text_of(fields[i].value).kept);
  }
}

void CheckHost::report_failure(std::uint64_t id, const wb_failure* failure) {
  if (!on_strand("wb_failure_query::failure")) return;
  const std::lock_guard lock(mutex_);
  auto& call = calls_.at(id);
  if (call.end != End::open)
    breaches_.emplace_back(Violation::late_report, "a failure or a next page was reported after the end of its call");
  if (failure == nullptr) return;
  ++call.failures;
  if (!WB_HAS(failure, detail) || failure->provider_ref.len == 0) {
    breaches_.emplace_back(Violation::malformed, "a failure without its size or the receiver's id: nobody can say whose it is");
    return;
  }
  for (const auto& words : {failure->provider_ref, failure->idempotency_key, failure->reason, failure->detail})
    logged_.push_back(text_of(words).kept);
}

Call CheckHost::call(std::uint64_t id) const {
  const std::lock_guard lock(mutex_);
  return calls_.at(id);
}

std::vector<Call> CheckHost::calls() const {
  const std::lock_guard lock(mutex_);
  std::vector<Call> out;
  for (const auto& [id, call] : calls_) out.push_back(call);
  return out;
}

std::vector<std::pair<Violation, std::string>> CheckHost::breaches() const {
  const std::lock_guard lock(mutex_);
  return breaches_;
}

std::vector<std::string> CheckHost::logged() const {
  const std::lock_guard lock(mutex_);
  return logged_;
}

}  // namespace waybill::conformance

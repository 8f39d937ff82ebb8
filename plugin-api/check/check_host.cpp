// The check host's calls: how the plugin is entered, how calls begin and end, and how time passes.
#include "check_host.h"

#include <algorithm>
#include <atomic>

#include "fake_host/calls.h"
#include "measures.h"
#include "waybill/conformance.h"

namespace waybill::conformance {
namespace {

constexpr std::chrono::milliseconds kMaxWait{1500};  // for a completion that only another thread can bring
constexpr int kMaxSteps = 20'000;
constexpr std::chrono::milliseconds kMaxStrandTime{100};

std::atomic<std::uint64_t> last_call{0};  // of all check hosts: a number is never reused

void take_refusal(void* user, wb_str path, wb_str message) {
  auto words = text_of(path).kept;
  if (!words.empty()) words += ": ";
  static_cast<std::vector<std::string>*>(user)->push_back(words + text_of(message).kept);
}

}  // namespace

CheckHost::CheckHost(const wb_action& action, Findings& findings, Shape shape)
    : Host({"waybill", 7}, {shape.minor, shape.unknown_bytes, shape.job, shape.text},
           shape.backwards ? fake_host::TieOrder::last_first : fake_host::TieOrder::first_first),
      action_(action),
      findings_(findings),
      shape_(shape) {
  script_ = [](std::uint64_t, std::size_t) { return Answer{}; };
}

CheckHost::~CheckHost() { destroy(); }

void CheckHost::breach(Violation kind, const std::string& words) {
  const std::lock_guard lock(mutex_);
  breaches_.emplace_back(kind, words);
}

void CheckHost::off_strand(const char* what) {
  breach(Violation::off_strand, std::string(what) + " was called from a thread of the plugin's own; it belongs to the strand");
}

bool CheckHost::may_begin(const char* what, wb_call id) {
  if (creating_) breach(Violation::in_create, std::string("create called ") + what);
  if (destroying_) breach(Violation::in_destroy, std::string("destroy called ") + what);
  const std::lock_guard lock(mutex_);
  const auto found = calls_.find(id.id);
  if (found != calls_.end() && found->second.end == End::open) return true;
  if (!creating_ && !destroying_)
    breaches_.emplace_back(Violation::malformed, std::string(what) + " on behalf of a call that is not open");
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
  if (watch && watch->waited() > kMaxStrandTime)
    breach(Violation::slow, what + " kept the strand waiting for " + std::to_string(watch->waited().count()) + " ms");
  if (watch && watch->computed() > kMaxStrandTime)
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
  enter("create", 0, [&] { sender_ = action_.create(table(), text.str(), &vt_, &take_refusal, &refusal_); });
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
  run();  // every request still reports its end
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

bool CheckHost::can(CallKind kind) {
  if (kind == CallKind::send) return true;
  const auto* const table = extension(fake_host::extension_of(kind));
  return table != nullptr && *static_cast<void* const*>(table) != nullptr;  // each table is one function
}

std::uint64_t CheckHost::begin(CallKind kind, const Job& given) {
  const auto id = ++last_call;
  fake_host::Loan loan;
  const auto* const job = lender_.job(loan, given);
  const wb_failure_query* query = nullptr;
  if (kind == CallKind::failures) query = lender_.query(loan, *this, id, shape_.unix_seconds - 86'400, "");
  {
    const std::lock_guard lock(mutex_);
    auto& call = calls_[id];
    call.id = id;
    call.kind = kind;
    call.deadline_at = timeline_.now_ms() + given.deadline_ms;
    loans_.emplace(id, std::move(loan));
  }
  const auto* const table = kind == CallKind::send ? nullptr : extension(fake_host::extension_of(kind));
  enter(std::string(word_for(kind)), id, [&] { fake_host::start_call(kind, sender_, *vt_, table, {id}, job, query); });
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
  if (!shape_.tells_ends) return;
  if (const auto* const told = static_cast<const EndedExtension*>(extension(kEndedExtension)))
    enter("the end of a call", id, [&] { told->ended(sender_, {id}); });
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
  if (shape_.job != Memory::forgiving) loans_.erase(id.id);  // plugin.h promises a job no longer life
  arrived_.notify_all();
  return 0;
}

// Takes back what calls that have ended still hold: the job, exchanges and timers.
void CheckHost::forget_ended() {
  std::vector<std::uint64_t> ended;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [id, call] : calls_) {
      if (call.end == End::open || call.forgotten) continue;
      call.forgotten = true;
      ended.push_back(id);
      if (shape_.job != Memory::forgiving) loans_.erase(id);
    }
  }
  for (const auto id : ended) timeline_.end_call(id);
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
  return arrived_.wait_for(lock, kMaxWait, [&] { return ended() != before; });
}

bool CheckHost::step_until(std::int64_t limit) {
  forget_ended();
  return timeline_.step(limit) || (!timeline_.holds_any() && any_open() && wait_for_other_threads());
}

bool CheckHost::step() {
  auto limit = timeline_.now_ms();
  for (const auto& one : calls())
    if (one.end == End::open) limit = std::max(limit, one.deadline_at);
  return step_until(limit);
}

void CheckHost::run() {
  for (int i = 0; step(); ++i)
    if (i == kMaxSteps) return breach(Violation::runaway, "it never comes to an end: something starts itself again and again");
}

void CheckHost::run_for(std::int64_t ms) {
  const auto limit = timeline_.now_ms() + ms;
  for (int i = 0; i < kMaxSteps && step_until(limit); ++i) {
  }
  timeline_.advance_to(limit);
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

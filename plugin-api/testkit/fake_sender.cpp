// A plugin's sender as the test kit drives it.
#include "fake_host/calls.h"
#include "world.h"

namespace waybill::testkit {

FakeSender::FakeSender(World& world, wb_sender* sender, const wb_sender_vt* table, const wb_action* action)
    : world_(world), sender_(sender), table_(table), action_(action) {}

FakeSender::~FakeSender() {
  world_.take_arrivals();
  wb_outcome end{};
  end.size = sizeof end;
  end.verdict = WB_TRANSIENT, end.reach = WB_MAYBE_SENT, end.scope = WB_THIS_JOB, end.retry_after_ms = -1;
  end.reason = {"silent", 6};
  std::vector<std::uint64_t> silent;
  for (const auto& [number, call] : world_.calls)
    if (call.sender == sender_) silent.push_back(number);
  for (const auto number : silent) {
    world_.breach() << "call " << number << " was never completed (did the test run_until_idle?)";
    world_.complete({number}, &end);
  }
  world_.run_until(world_.timeline().now_ms());  // what the ended calls had open
  table_->destroy(sender_);
}

CallId FakeSender::begin(CallKind kind, const Job& given, std::int64_t since, std::string_view page) {
  const auto* const id = fake_host::extension_of(kind);
  const auto* const table = kind == CallKind::send ? nullptr : extension(id);
  if (kind != CallKind::send && !table) {
    world_.breach() << "the sender was asked for " << id << ", which it does not have";
    return CallId{0};
  }
  Job job = given;
  if (kind == CallKind::probe || kind == CallKind::failures)  // about the destination alone
    job.payload.clear(), job.artifact_type.clear(), job.artifact.clear();
  const auto number = world_.open_call(sender_, action_, kind, job);
  const auto* const query = kind == CallKind::failures ? world_.open_query(number, since, page) : nullptr;
  fake_host::start_call(kind, sender_, *table_, table, {number}, world_.job_of(number), query);
  return CallId{number};
}

void FakeSender::cancel(CallId call) {
  const auto number = static_cast<std::uint64_t>(call);
  if (world_.is_open(number)) table_->cancel(sender_, {number});
}

Outcome FakeSender::end_of(CallId call) {
  const auto number = static_cast<std::uint64_t>(call);
  if (number == 0) return {};  // the breach was reported
  if (world_.ends(number)) return world_.outcomes.at(number);
  world_.breach() << "call " << number << " has not ended: something is open that only time or an abort will end";
  return {};
}

Outcome FakeSender::run(CallKind kind, const Job& job) { return end_of(begin(kind, job)); }

Outcome FakeSender::compose(const Job& job) { return run(CallKind::compose, job); }
Outcome FakeSender::status(const Job& job) { return run(CallKind::status, job); }
Outcome FakeSender::probe(const Job& job) { return run(CallKind::probe, job); }

Outcome FakeSender::attempt(const Job& given) {
  Job job = given;
  if (job.artifact.empty() && extension(WB_COMPOSE_EXTENSION)) {
    auto made = compose(job);
    if (made.verdict != WB_ACCEPTED || made.artifact.empty()) return made;
    job.artifact_type = std::move(made.artifact_type);
    job.artifact = std::move(made.artifact);
  }
  auto end = run(CallKind::send, job);
  end.artifact_type = std::move(job.artifact_type);
  end.artifact = std::move(job.artifact);
  return end;
}

std::vector<Outcome> FakeSender::deliver(Job job, std::uint32_t attempts) {
  std::vector<Outcome> ends;
  for (job.attempt = 1; job.attempt <= attempts; ++job.attempt) {
    const auto& end = ends.emplace_back(attempt(job));
    if (end.verdict == WB_ACCEPTED || end.verdict == WB_REJECTED) break;
    job.artifact_type = end.artifact_type;
    job.artifact = end.artifact;
    if (end.verdict == WB_TRANSIENT && !end.result.empty()) job.progress = end.result;
    job.maybe_sent_before = job.maybe_sent_before || (end.verdict == WB_TRANSIENT && end.reach != WB_NOT_SENT);
  }
  return ends;
}

FailureList FakeSender::failures(const Job& job, std::int64_t since) {
  constexpr int kMaxPages = 1000;
  FailureList list;
  std::string page;
  for (int i = 0; i < kMaxPages; ++i) {
    const auto call = begin(CallKind::failures, job, since, page);
    list.outcomes.push_back(end_of(call));
    if (call == CallId{0}) return list;
    const auto& reported = world_.failure_pages[static_cast<std::uint64_t>(call)];
    list.failures.insert(list.failures.end(), reported.failures.begin(), reported.failures.end());
    if (list.outcomes.back().verdict != WB_ACCEPTED || !reported.next_page || reported.next_page->empty()) return list;
    page = *reported.next_page;
  }
  world_.breach() << "the list of failures has no end: " << kMaxPages << " pages";
  return list;
}

const void* FakeSender::extension(std::string_view id) { return table_->get_extension(sender_, Block(Memory::exact, id).str()); }

}  // namespace waybill::testkit

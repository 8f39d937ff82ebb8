// Checks of what is left when a sender is gone.
#include "check.h"
#include "measures.h"
#include "rehearsal.h"

namespace waybill::conformance {
namespace {

constexpr int kWarmUp = 20;
constexpr int kRounds = 60;
constexpr int kBatches = 3;

void find_requests_in_destroy(Subject& subject, CheckHost& host, const char* during) {
  host.destroy();
  for (const auto& [kind, words] : host.breaches())
    if (kind == Violation::in_destroy) subject.findings.found(words, during);
}

// A sender's whole life: it is created, one delivery is accepted, one gets no answer and is cancelled, it is destroyed.
bool live(Subject& subject) {
  const auto host = host_for(subject);
  if (!host) return false;
  const auto job = sample_job(subject, *host);
  if (!job) return false;
  host->begin(CallKind::send, *job);
  host->run();
  host->script([](std::uint64_t, std::size_t) { return silence(); });
  host->cancel(host->begin(CallKind::send, *job));
  host->run();
  host->destroy();
  return true;
}

void destroy(Subject& subject) {
  if (const auto unused = host_for(subject)) find_requests_in_destroy(subject, *unused, "never used");
  const auto used = rehearse(subject);
  if (!used) return;
  find_requests_in_destroy(subject, *used->host, "after a delivery");
  const auto given_up = host_for(subject);
  const auto job = sample_job(subject, *given_up);
  if (!job) return;
  given_up->script([](std::uint64_t, std::size_t) { return silence(); });
  given_up->begin(CallKind::send, *job);
  find_requests_in_destroy(subject, *given_up, "after a delivery that the host gave up");
}

void leaves_nothing(Subject& subject) {
  const auto threads = thread_count();
  if (!live(subject)) return;  // what is made once and kept is allowed, except threads
  const SideEffects effects;
  for (int i = 0; i < 3; ++i)
    if (!live(subject)) return;
  if (const auto now = remaining_thread_count(threads); now > threads)
    subject.findings.found("destroy left " + std::to_string(now - threads) + " thread(s) running");
  if (const auto left = effects.left(true); !left.empty()) subject.findings.found("a sender " + left);
}

// Of the log: the host's services. Of the rest: there is one for all plugins.
void leaves_process(Subject& subject) {
  SharedState state;
  const bool lived = live(subject);
  const auto changes = state.changes();
  if (!lived) return;
  for (const auto& change : changes) subject.findings.found("a sender " + change);
}

void leaks(Subject& subject) {
  if (kSanitized)
    return subject.findings.skipped("memory is not counted in a build with sanitizers; they report leaks themselves");
  for (int i = 0; i < kWarmUp; ++i)
    if (!live(subject)) return;
  // A cache fills up once. What grows with every sender, in every batch, is a leak.
  std::size_t least = ~std::size_t{0};
  for (int batch = 0; batch < kBatches; ++batch) {
    const auto before = allocated_bytes();
    for (int i = 0; i < kRounds; ++i)
      if (!live(subject)) return;
    const auto after = allocated_bytes();
    least = std::min(least, after > before ? after - before : 0);
  }
  if (least >= kRounds * sizeof(void*))
    subject.findings.found("every sender, with its two deliveries, loses about " + std::to_string(least / kRounds) + " bytes");
}

constexpr Check kChecks[] = {
    {"destroy", "destroy is the last word: nothing is completed or asked for in it", "end what is open before, in cancel",
     Needs::sender, &destroy},
    {"leaves_nothing", "a sender that is gone leaves no thread and no descriptor", "join and close in destroy", Needs::sender,
     &leaves_nothing},
    {"leaves_process", "a sender writes nothing to standard output or error, and leaves working directory and umask alone",
     "log through the host, and name files by their whole path", Needs::sender, &leaves_process},
    {"leaks", "a sender that is gone leaves no memory", "free in destroy what create and send have made", Needs::sender, &leaks},
};

}  // namespace

std::span<const Check> ending_checks() { return kChecks; }

}  // namespace waybill::conformance

// Composes and answers questions; the job's target names the rule that it breaks on the way, "good" none.
#include <string>

#include "kit.h"

namespace {

void finish(wb_sender* self, wb_call call, const wb_outcome& made) {
  kit::of(self).host->complete(kit::of(self).host, call, &made);
}

wb_outcome artefact(std::string_view type, std::string_view bytes) {
  auto made = kit::outcome(WB_ACCEPTED);
  made.artifact_type = kit::str(type);
  made.artifact = kit::str(bytes);
  return made;
}

int composed = 0;  // how often, in this process

void compose(wb_sender* self, wb_call call, const wb_job* job) {
  const auto what = kit::view(job->target);
  const auto letter = "letter " + std::to_string(++composed) + std::string(1, '\0') + std::string(kit::view(job->payload));
  if (what == "throws_in_compose") throw 7;
  if (what == "nothing") return finish(self, call, kit::outcome(WB_ACCEPTED));
  if (what == "too_large") return finish(self, call, artefact("text/plain", std::string(WB_MOST_ARTIFACT_BYTES + 1, 'x')));
  if (what == "not_now") return finish(self, call, kit::outcome(WB_TRANSIENT, WB_NOT_SENT, "not_now"));
  if (what == "never_mind") return finish(self, call, kit::outcome(WB_REJECTED, WB_NOT_SENT, "invalid_request"));
  if (what == "no_type") return finish(self, call, artefact({}, letter));
  finish(self, call, artefact("text/plain", letter));
}

// Gives back what it was handed, in words.
void send(wb_sender* self, wb_call call, const wb_job* job) {
  if (kit::view(job->target) == "artefact_of_send") return finish(self, call, artefact("text/plain", "unasked"));
  auto made = kit::outcome(WB_ACCEPTED);
  made.provider_ref = job->progress.len != 0 ? job->progress : job->artifact_type;
  const auto result = "{\"bytes\":" + std::to_string(job->artifact.len) + "}";
  made.result = kit::str(result);
  finish(self, call, made);
}

void status(wb_sender* self, wb_call call, const wb_job* job) {
  const auto ref = kit::view(job->provider_ref);
  if (ref == "lost") return finish(self, call, kit::outcome(WB_REJECTED, WB_ANSWERED, "invalid_request"));
  if (ref == "silent") return;
  finish(self, call, kit::outcome(ref == "arrived" ? WB_ACCEPTED : WB_DEFERRED, WB_ANSWERED, "under_way"));
}

// Two pages of two, and on the target "late" a failure after the end.
void list(wb_sender* self, wb_call call, const wb_job* job, const wb_failure_query* query) {
  const bool first = query->page.len == 0;
  for (const auto* ref : {"a", "b"}) {
    const wb_failure failure{sizeof failure,      query->since + 60,      kit::str(ref), kit::str(first ? "key-1" : "key-\xff"),
                             kit::str("bounced"), kit::str("line\nbreak")};
    query->failure(query->user, &failure);
  }
  query->failure(query->user, nullptr);
  if (first) query->next_page(query->user, kit::str("page 2"));
  finish(self, call, kit::outcome(WB_ACCEPTED));
  if (kit::view(job->target) == "late") query->next_page(query->user, kit::str("page 3"));
}

const void* abilities(wb_sender*, wb_str id) {
  static constexpr wb_compose kCompose{&compose};
  static constexpr wb_status kStatus{&status};
  static constexpr wb_failures kFailures{&list};
  static constexpr wb_probe kHollow{nullptr};
  const auto name = kit::view(id);
  if (name == WB_COMPOSE_EXTENSION) return &kCompose;
  if (name == WB_STATUS_EXTENSION) return &kStatus;
  if (name == WB_FAILURES_EXTENSION) return &kFailures;
  if (name == WB_PROBE_EXTENSION) return &kHollow;  // a table without its function
  return nullptr;
}

constexpr wb_sender_vt kTable{&send, &kit::no_cancel, &abilities, &kit::destroy};

wb_sender* create(const wb_host* host, wb_str, const wb_sender_vt** vt, wb_report, void*) {
  *vt = &kTable;
  return kit::make(host);
}

constexpr wb_action kAction = kit::action("composer", &create);
constexpr const wb_action* kActions[] = {&kAction};
constexpr wb_plugin kPlugin = kit::plugin("test.composer", kActions);

}  // namespace

const wb_plugin* wb_plugin_v1(void) noexcept { return &kPlugin; }

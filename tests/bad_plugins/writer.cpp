// Says what the text services gave it: the job's target names a template, or an object to link to; its payload is the data.
#include <string>

#include "kit.h"

namespace {

void take(void* user, wb_str part, wb_str text) {
  *static_cast<std::string*>(user) += std::string(kit::view(part)) + "=" + std::string(kit::view(text)) + ";";
}
void take_url(void* user, wb_str url) { *static_cast<std::string*>(user) = kit::view(url); }

void send(wb_sender* self, wb_call call, const wb_job* job) {
  const auto* const host = kit::of(self).host;
  const auto& templates = kit::service<wb_template_service>(host, WB_TEMPLATE_SERVICE);
  const auto& links = kit::service<wb_link_service>(host, WB_LINK_SERVICE);
  const auto what = kit::view(job->target);
  std::string words;
  auto made = kit::outcome(WB_ACCEPTED);
  if (what.substr(0, 5) == "gs://")
    made.code = links.sign(host, job->target, 3600, &take_url, &words);
  else if (what == "forever")
    made.code = links.sign(host, kit::str("gs://bucket/key"), 8 * 24 * 3600, &take_url, &words);
  else if (what == "own")
    made.code = templates.render_text(host, kit::str("To {{name}}"), job->payload, &take, &words);
  else if (what == "nobody asks")
    made.code = templates.render(host, kit::str("contact"), job->payload, nullptr, nullptr);
  else if (what == "null")
    made.code = templates.render_text(host, {nullptr, 99}, {nullptr, 99}, &take, &words);
  else
    made.code = templates.render(host, job->target, job->payload, &take, &words);
  made.detail = kit::str(words);
  host->complete(host, call, &made);
}

constexpr wb_sender_vt kTable{&send, &kit::no_cancel, &kit::no_extension, &kit::destroy};

wb_sender* create(const wb_host* host, wb_str, const wb_sender_vt** vt, wb_report, void*) {
  *vt = &kTable;
  return kit::make(host);
}

constexpr wb_action kAction = kit::action("writer", &create);
constexpr const wb_action* kActions[] = {&kAction};
constexpr wb_plugin kPlugin = kit::plugin("test.writer", kActions);

}  // namespace

const wb_plugin* wb_plugin_v1(void) noexcept { return &kPlugin; }

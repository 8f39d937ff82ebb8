// The templates and links of the test kit's host.
#include "world.h"

namespace waybill::testkit {

std::int32_t World::render(wb_str template_id, wb_str data, wb_template_part part, void* user) {
  {
    const std::lock_guard lock(mutex_);
    renderings.push_back({text(template_id), {}, text(data)});
  }
  const auto found = templates.find(view(template_id));
  if (found == templates.end()) return WB_TEMPLATE_UNKNOWN;
  for (const auto& [name, words] : found->second) {
    const Block name_bytes(Memory::exact, name), bytes(Memory::exact, words);
    part(user, name_bytes.str(), bytes.str());
  }
  return WB_TEMPLATE_OK;
}

std::int32_t World::render_text(wb_str words, wb_str data, wb_template_part part, void* user) {
  {
    const std::lock_guard lock(mutex_);
    renderings.push_back({{}, text(words), text(data)});
  }
  const Block bytes(Memory::exact, view(words));
  part(user, {"text", 4}, bytes.str());
  return WB_TEMPLATE_OK;
}

std::int32_t World::link(wb_str object, std::int64_t ttl_seconds, fake_host::UrlSink sink, void* user) {
  constexpr std::string_view kScheme = "gs://";
  constexpr std::int64_t kMaxSeconds = 7 * 24 * 3600;
  if (!link_key) return WB_LINK_UNAVAILABLE;
  const auto uri = view(object);
  if (uri.substr(0, kScheme.size()) != kScheme || ttl_seconds < 1 || ttl_seconds > kMaxSeconds) return WB_LINK_INVALID;
  const Block url(Memory::exact,
                  "https://signed.test/" + std::string(uri.substr(kScheme.size())) + "?ttl=" + std::to_string(ttl_seconds));
  sink(user, url.str());
  return WB_LINK_OK;
}

void FakeHost::registry_template(std::string id, std::map<std::string, std::string> parts) {
  world_->templates[std::move(id)] = std::move(parts);
}
void FakeHost::no_link_key() { world_->link_key = false; }
std::map<std::string, std::uint64_t> FakeHost::counters() const { return world_->counts(); }
const std::vector<Rendering>& FakeHost::renderings() const { return world_->renderings; }

}  // namespace waybill::testkit

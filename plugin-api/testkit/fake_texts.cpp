// The fake host's templates and links.
#include "world.h"

namespace waybill::testkit {
namespace {

void record(World& world, Rendering rendering) {
  const std::lock_guard lock(world.renderings_mutex);
  world.renderings.push_back(std::move(rendering));
}

std::int32_t render(const wb_host* host, wb_str id, wb_str data, wb_template_part part, void* user) {
  auto& world = world_of(host);
  record(world, {text(id), {}, text(data)});
  const auto found = world.templates.find(view(id));
  if (found == world.templates.end()) return WB_TEMPLATE_UNKNOWN;
  for (const auto& [name, words] : found->second) {
    const Bytes name_bytes(name), bytes(words);
    part(user, name_bytes.str(), bytes.str());
  }
  return WB_TEMPLATE_OK;
}

std::int32_t render_text(const wb_host* host, wb_str words, wb_str data, wb_template_part part, void* user) {
  auto& world = world_of(host);
  record(world, {{}, text(words), text(data)});
  const Bytes bytes(view(words));
  part(user, {"text", 4}, bytes.str());
  return WB_TEMPLATE_OK;
}

std::int32_t sign(const wb_host* host, wb_str object, std::int64_t ttl, void (*sink)(void*, wb_str), void* user) {
  constexpr std::string_view kScheme = "gs://";
  constexpr std::int64_t kMaxLength = 7 * 24 * 3600;
  if (!world_of(host).link_key) return WB_LINK_UNAVAILABLE;
  const auto uri = view(object);
  if (uri.substr(0, kScheme.size()) != kScheme || ttl < 1 || ttl > kMaxLength) return WB_LINK_INVALID;
  const Bytes url("https://signed.test/" + std::string(uri.substr(kScheme.size())) + "?ttl=" + std::to_string(ttl));
  sink(user, url.str());
  return WB_LINK_OK;
}

constexpr wb_template_service kTemplates = {&render, &render_text};
constexpr wb_link_service kLinks = {&sign};

}  // namespace

const wb_template_service* template_service() { return &kTemplates; }
const wb_link_service* link_service() { return &kLinks; }

void FakeHost::registry_template(std::string id, std::map<std::string, std::string> parts) {
  world_->templates[std::move(id)] = std::move(parts);
}
void FakeHost::no_link_key() { world_->link_key = false; }
const std::vector<Rendering>& FakeHost::renderings() const { return world_->renderings; }

}  // namespace waybill::testkit

// Templates and links as a plugin gets them. No exception leaves these functions.
#include "plugin_protocol/plugin_text.h"
#include "senders/host_face.h"
#include "senders/plugin_sender.h"

namespace waybill {
namespace {

constexpr std::size_t kMaxTemplateBytes = 1 << 20;
constexpr std::size_t kMaxDataBytes = 16 << 20;

// What reading a stranger's length is safe up to.
std::string_view bounded(const wb_str& text, std::size_t most) {
  const auto view = view_of(text);
  return view.size() <= most ? view : std::string_view{};
}

}  // namespace

std::int32_t HostFace::render(const wb_host* host, wb_str template_id, wb_str data, wb_template_part part, void* user) noexcept {
  try {
    const auto templates = sender_of(host).parts().texts.templates();
    const auto* found = templates == nullptr ? nullptr : templates->find(view_of(template_id));
    if (found == nullptr) return WB_TEMPLATE_UNKNOWN;
    const auto rendered = found->render(bounded(data, kMaxDataBytes));
    if (!rendered || part == nullptr) return WB_TEMPLATE_MALFORMED;
    const auto answer = [&](std::string_view name, const std::optional<std::string>& text) {
      if (text) part(user, borrow(name), borrow(*text));
    };
    answer("subject", rendered->subject);
    answer("text", rendered->text);
    answer("html", rendered->html);
    return WB_TEMPLATE_OK;
  } catch (...) {
    return WB_TEMPLATE_MALFORMED;
  }
}

std::int32_t HostFace::render_text(const wb_host*, wb_str text, wb_str data, wb_template_part part, void* user) noexcept {
  try {
    const auto rendered = waybill::render_text(bounded(text, kMaxTemplateBytes), bounded(data, kMaxDataBytes));
    if (!rendered || part == nullptr) return WB_TEMPLATE_MALFORMED;
    part(user, borrow("text"), borrow(*rendered));
    return WB_TEMPLATE_OK;
  } catch (...) {
    return WB_TEMPLATE_MALFORMED;
  }
}

std::int32_t HostFace::sign_link(const wb_host* host, wb_str object, std::int64_t ttl, void (*sink)(void*, wb_str),
                                 void* user) noexcept {
  try {
    const auto& links = sender_of(host).parts().texts.links;
    if (links == nullptr) return WB_LINK_UNAVAILABLE;
    if (sink == nullptr || ttl < 1 || ttl > kMaxLinkLength.count()) return WB_LINK_INVALID;
    const auto url = links->link(view_of(object), Seconds{ttl});
    if (!url) return WB_LINK_INVALID;
    sink(user, borrow(*url));
    return WB_LINK_OK;
  } catch (...) {
    return WB_LINK_UNAVAILABLE;
  }
}

}  // namespace waybill

// A relay's replies: the same whatever pieces they come in, within bounds, and clean text.
#include "services/smtp_reader.h"

#include "base/utf8.h"
#include "fuzz/fuzz.h"

namespace waybill::fuzz {
namespace {

struct Heard {
  std::vector<SmtpAnswer> replies;
  bool broken = false;
};

Heard hear(std::string_view bytes, std::size_t piece) {
  SmtpReader reader;
  Heard heard;
  while (!bytes.empty()) {
    reader.feed(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    while (auto reply = reader.next()) heard.replies.push_back(std::move(*reply));
  }
  heard.broken = reader.broken();
  return heard;
}

}  // namespace
}  // namespace waybill::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace waybill;
  const auto bytes = fuzz::text_of(data, size);
  const auto whole = fuzz::hear(bytes, size);
  for (const auto& reply : whole.replies) {
    fuzz::promise(reply.code >= 200 && reply.code <= 599, "a reply has a code");
    fuzz::promise(reply.text.size() <= kMaxReplyText && is_clean_utf8(reply.text), "a reply's text is short and clean");
    fuzz::promise(reply.text.find_first_of("\r\n") == std::string::npos, "a reply's text is one line");
  }
  for (const std::size_t piece : {1, 7}) {
    const auto cut = fuzz::hear(bytes, piece);
    fuzz::promise(cut.broken == whole.broken && cut.replies.size() == whole.replies.size(),
                  "replies do not depend on their pieces");
    for (std::size_t i = 0; i < cut.replies.size(); ++i)
      fuzz::promise(cut.replies[i].code == whole.replies[i].code && cut.replies[i].text == whole.replies[i].text,
                    "a reply does not depend on its pieces");
  }
  return 0;
}

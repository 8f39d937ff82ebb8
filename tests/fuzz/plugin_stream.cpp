// What a plugin's process may send its host, and the other way round: bytes cut into frames, and frames read as messages.
#include "fuzz/fuzz.h"
#include "plugin_protocol/messages.h"

namespace {

using namespace waybill;
using namespace waybill::plugin_process;

template <class Message>
void read_as(const Frame& frame) {
  if (frame.kind != static_cast<std::uint32_t>(Message::kKind)) return;
  Message message;
  if (!take_message(frame.body, message)) return;
  std::string once, twice;
  put_frame(once, message);
  fuzz::promise(once.size() <= frame.body.size() + kHeadBytes, "a message holds nothing that was not in its bytes");
  Message again;
  fuzz::promise(take_message(std::string_view(once).substr(kHeadBytes), again), "what was written can be read");
  put_frame(twice, again);
  fuzz::promise(once == twice, "what was read is what was written");
}

template <class... Messages>
void read_as_any(const Frame& frame) {
  (read_as<Messages>(frame), ...);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  Frames whole, in_pieces;
  std::memcpy(whole.room(size), data, size);
  whole.grew_by(size);
  std::size_t given = 0;
  for (Frame frame;;) {
    const auto next = whole.next(frame);
    Frame same;
    auto also = in_pieces.next(same);
    for (; also == Frames::Next::more && given < size; also = in_pieces.next(same)) {
      *in_pieces.room(1) = static_cast<char>(data[given++]);
      in_pieces.grew_by(1);
    }
    fuzz::promise(next == also, "frames do not depend on how their bytes came");
    if (next != Frames::Next::frame) return 0;
    fuzz::promise(frame.kind == same.kind && frame.body == same.body, "and neither does what is in them");
    read_as_any<Sandboxed, Hello, Welcome, Check, Checked, Create, Created, Begin, Cancel, End, Destroy, Complete, Fetch,
                AbortFetch, Response, Submit, AbortSubmission, Reply, Timer, CancelTimer, Fire, Failure, NextPage, Log, Count,
                Fault, Sign, Signature, SecretValue, Render, RenderText, Link, FindClient, ForgetToken, CountFirst, Answer>(
        frame);
  }
}

// The stream to a plugin's process, seen from its host.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/time.h"
#include "plugin_protocol/messages.h"

namespace waybill::plugin_process {

// For one thread at a time. Does not own its descriptor, which is non-blocking.
class HostStream {
 public:
  explicit HostStream(int descriptor) : descriptor_(descriptor) {}

  template <class Message>
  void put(const Message& message) {
    put_frame(out_, message);
  }
  // A frame that was made before, with another number in its first field.
  void put_again(std::string_view frame, std::uint64_t id);
  // As much as the process takes now. False: it is gone.
  bool flush();
  void end();  // the process will read nothing more
  std::size_t unsent() const { return out_.size() - sent_; }

  enum class Got { something, nothing, end };
  Got receive();  // once
  Frames::Next next(Frame& frame) { return frames_.next(frame); }

  // The next frame, for which it waits; what was put leaves first. Its body is good until the next call of anything.
  // Error::unavailable: the process is gone, or silent for this long; invalid: it does not keep to the protocol.
  Result<Frame> read(Millis within);

 private:
  int descriptor_;
  Frames frames_;
  std::string out_;
  std::size_t sent_ = 0;  // of out_
};

}  // namespace waybill::plugin_process

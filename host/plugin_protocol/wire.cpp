// Frames out of a stream of bytes.
#include "plugin_protocol/wire.h"

#include <algorithm>

namespace waybill::plugin_process {
namespace {

constexpr std::size_t kKeptBytes = 1 << 20;  // of an empty buffer

}  // namespace

char* Frames::room(std::size_t size) {
  if (begin_ == end_) {
    begin_ = end_ = 0;
    if (bytes_.size() > kKeptBytes) std::vector<char>().swap(bytes_);
  }
  if (bytes_.size() - end_ < size) {
    std::copy(bytes_.begin() + static_cast<std::ptrdiff_t>(begin_), bytes_.begin() + static_cast<std::ptrdiff_t>(end_),
              bytes_.begin());
    end_ -= begin_;
    begin_ = 0;
    if (bytes_.size() - end_ < size) bytes_.resize(std::max(end_ + size, 2 * bytes_.size()));
  }
  return bytes_.data() + end_;
}

Frames::Next Frames::next(Frame& frame) {
  const auto left = end_ - begin_;
  std::uint32_t size = 0;
  if (left < sizeof size) return Next::more;
  std::memcpy(&size, bytes_.data() + begin_, sizeof size);
  if (size < sizeof frame.kind || size > kMaxFrameBytes) return Next::fault;
  if (left - sizeof size < size) return Next::more;
  std::memcpy(&frame.kind, bytes_.data() + begin_ + sizeof size, sizeof frame.kind);
  frame.body = {bytes_.data() + begin_ + kHeadBytes, size - sizeof frame.kind};
  begin_ += sizeof size + size;
  return Next::frame;
}

}  // namespace waybill::plugin_process

// How a message travels between a host and a plugin's process: numbers in little-endian order, texts with their length in front,
// fields one after the other. docs/plugin-protocol.md is the specification.
#pragma once

#include <waybill/plugin.h>

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace waybill::plugin_process {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they are");

inline constexpr std::size_t kMaxFrameBytes = 72 << 20;  // the longest body or mail is 64 MiB
inline constexpr std::size_t kHeadBytes = 8;             // a frame's length, which does not count itself, and its kind

// Appends fields.
class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  template <class... Fields>
  void operator()(const Fields&... fields) {
    (put(fields), ...);
  }

 private:
  template <std::integral Number>
  void put(const Number& number) {
    out_.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  void put(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    out_.append(text);
  }
  void put(const wb_str& text) { put(text.ptr == nullptr ? std::string_view() : std::string_view(text.ptr, text.len)); }
  template <class Item>
  void put(const std::vector<Item>& items) {
    put(static_cast<std::uint32_t>(items.size()));
    for (const auto& item : items) put(item);
  }
  template <class Struct>
  requires std::is_class_v<Struct>
  void put(const Struct& fields) { visit(*this, fields); }

  std::string& out_;
};

// Reads fields; texts are views of what it reads. What is missing reads as zero, and makes it bad.
class Reader {
 public:
  explicit Reader(std::string_view from) : left_(from) {}

  template <class... Fields>
  void operator()(Fields&... fields) {
    (take(fields), ...);
  }
  bool is_good() const { return good_; }

 private:
  template <std::integral Number>
  void take(Number& number) {
    number = 0;
    if (left_.size() < sizeof number) return fail();
    std::memcpy(&number, left_.data(), sizeof number);
    left_.remove_prefix(sizeof number);
  }
  void take(std::string_view& text) {
    std::uint32_t size = 0;
    take(size);
    if (left_.size() < size) return fail();
    text = left_.substr(0, size);
    left_.remove_prefix(size);
  }
  void take(wb_str& text) {
    std::string_view view;
    take(view);
    text = {view.data(), view.size()};
  }
  template <class Item>
  void take(std::vector<Item>& items) {
    constexpr std::size_t kLeastItem = 4;
    std::uint32_t count = 0;
    take(count);
    if (left_.size() / kLeastItem < count) return fail();
    items.clear();
    for (std::uint32_t i = 0; i < count && good_; ++i) take(items.emplace_back());
  }
  template <class Struct>
  requires std::is_class_v<Struct>
  void take(Struct& fields) { visit(*this, fields); }
  void fail() {
    good_ = false;
    left_ = {};
  }

  std::string_view left_;
  bool good_ = true;
};

struct Frame {
  std::uint32_t kind = 0;
  std::string_view body;
};

// Cuts a stream of bytes into frames.
class Frames {
 public:
  enum class Next { frame, more, fault };  // more: the next frame is not whole yet; fault: it is too long or too short to be one

  // Room for at least `size` more bytes; say with grew_by() how many came. Frames taken before are gone.
  char* room(std::size_t size);
  void grew_by(std::size_t size) { end_ += size; }
  Next next(Frame& frame);
  bool is_empty() const { return begin_ == end_; }

 private:
  std::vector<char> bytes_;
  std::size_t begin_ = 0, end_ = 0;  // of what was not cut off yet
};

// Appends a whole frame: `message` has a `kKind` and a visit() function.
template <class Message>
void put_frame(std::string& out, const Message& message) {
  const auto at = out.size();
  out.append(sizeof(std::uint32_t), '\0');
  Writer writer(out);
  writer(static_cast<std::uint32_t>(Message::kKind));
  visit(writer, message);
  const auto size = static_cast<std::uint32_t>(out.size() - at - sizeof(std::uint32_t));
  std::memcpy(out.data() + at, &size, sizeof size);
}

// False: the body is no such message. More at its end is a newer minor's.
template <class Message>
bool take_message(std::string_view body, Message& message) {
  Reader reader(body);
  visit(reader, message);
  return reader.is_good();
}

}  // namespace waybill::plugin_process

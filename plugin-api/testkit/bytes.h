// Bytes as the plugin gets them, and text as the fake host reads it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "waybill/testkit/calls.hpp"

namespace waybill::testkit {

// Bytes of exactly their length on the heap, so that a sanitizer sees who reads past them or after their time.
class Bytes {
 public:
  Bytes() = default;
  explicit Bytes(std::string_view text);
  wb_str str() const { return {data_.get(), size_}; }

 private:
  std::unique_ptr<char[]> data_;
  std::size_t size_ = 0;
};

inline std::string_view view(wb_str text) { return text.len == 0 ? std::string_view{} : std::string_view{text.ptr, text.len}; }
inline std::string text(wb_str text) { return std::string(view(text)); }
bool is_utf8(std::string_view bytes);
std::optional<std::string> decode_base64(std::string_view text);
std::string encode_base64(std::string_view bytes);

class JobBytes {
 public:
  explicit JobBytes(const Job& job);
  const wb_job* raw() const { return raw_.get(); }

 private:
  Bytes action_id_, target_, key_, destination_, payload_, context_, artifact_type_, artifact_, provider_ref_, progress_;
  std::unique_ptr<wb_job> raw_;
};

}  // namespace waybill::testkit

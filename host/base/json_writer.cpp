// Most texts are plain ASCII and need no more than their quotes; nlohmann escapes the others, and writes numbers.
#include "base/json_writer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/utf8.h"

namespace waybill {
namespace {

// A string with its DEL and C1 escaped, which JSON allows and no terminal takes as text.
void append_without_controls(std::string& json, std::string_view literal) {
  constexpr std::string_view kHex = "0123456789abcdef";
  const auto byte = [&](std::size_t at) { return at < literal.size() ? static_cast<unsigned char>(literal[at]) : 0; };
  for (std::size_t at = 0; at < literal.size(); ++at) {
    const bool c1 = byte(at) == 0xC2 && byte(at + 1) >= 0x80 && byte(at + 1) < 0xA0;
    if (!c1 && byte(at) != 0x7F) {
      json += literal[at];
      continue;
    }
    at += c1 ? 1 : 0;
    json.append("\\u00").append(1, kHex[byte(at) >> 4]).append(1, kHex[byte(at) & 15]);
  }
}

void append_escape(std::string& json, unsigned unit) {
  constexpr std::string_view kHex = "0123456789abcdef";
  json += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) json += kHex[unit >> shift & 15];
}

// Writes structure itself and leaves single values to nlohmann: what number_text() tells is written as it is.
template <class Tree>
class Writer {
 public:
  explicit Writer(int indent) : indent_(indent) {}
  std::string json;

  void write(const Tree& value, int depth = 0) {
    if (value.is_object())
      write_all(value.template get_ref<const typename Tree::object_t&>(), '{', '}', depth, [&](const auto& member) {
        append_json_string(json, member.first);
        json += indent_ < 0 ? ":" : ": ";
        write(member.second, depth + 1);
      });
    else if (value.is_array())
      write_all(value.template get_ref<const typename Tree::array_t&>(), '[', ']', depth,
                [&](const Tree& item) { write(item, depth + 1); });
    else if (value.is_string())
      append_json_string(json, value.template get_ref<const std::string&>());
    else if (value.is_binary())
      json.append(value.get_binary().begin(), value.get_binary().end());
    else
      json += value.dump();
  }

 private:
  template <class All, class One>
  void write_all(const All& all, char open, char close, int depth, const One& one) {
    json += open;
    bool first = true;
    for (const auto& item : all) {
      if (!first) json += ',';
      first = false;
      begin_line(depth + 1);
      one(item);
    }
    if (!first) begin_line(depth);
    json += close;
  }
  void begin_line(int depth) {
    if (indent_ >= 0) json.append(1, '\n').append(static_cast<std::size_t>(indent_ * depth), ' ');
  }

  int indent_;
};

template <class Tree>
std::string written(const Tree& value, int indent) {
  Writer<Tree> writer(indent);
  writer.write(value);
  return std::move(writer.json);
}

}  // namespace

std::string dump(const Json& value, int indent) { return written(value, indent); }
std::string dump_sorted(const nlohmann::json& value) { return written(value, -1); }

std::string json_string(std::string_view text) {
  std::string json;
  append_json_string(json, text);
  return json;
}

void append_json_string(std::string& json, std::string_view text) {
  const bool is_plain =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
  if (is_plain)
    json.append(1, '"').append(text).append(1, '"');
  else
    append_without_controls(json, Json(text).dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string ascii_json(std::string_view json) {
  std::string ascii;
  ascii.reserve(json.size());
  while (!json.empty()) {
    const auto lead = static_cast<unsigned char>(json.front());
    const auto length = std::max<std::size_t>(utf8_character_length(json), 1);
    unsigned code = length == 1 ? lead : lead & (0xFFU >> (length + 1));
    for (const char c : json.substr(1, length - 1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3FU);
    if (code < 0x7F) {
      ascii += json.front();
    } else if (code > 0xFFFF) {
      append_escape(ascii, 0xD800 + ((code - 0x10000) >> 10));
      append_escape(ascii, 0xDC00 + ((code - 0x10000) & 0x3FF));
    } else {
      append_escape(ascii, code);
    }
    json.remove_prefix(length);
  }
  return ascii;
}

}  // namespace waybill

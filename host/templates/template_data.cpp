// Reading by events, which tell numbers as they were written: no digit of a long number is lost.
#include "templates/template_data.h"

#include "base/json_events.h"
#include "base/json_writer.h"

namespace waybill {
namespace {

using Kind = TemplateData::Kind;

class Reader final : public JsonEvents {
 public:
  TemplateData root;
  std::string fault;

  bool null() override { return add(Kind::null); }
  bool boolean(bool value) override { return add(Kind::boolean, value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return add(Kind::number, value == 0 ? "-0" : std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return add(Kind::number, std::to_string(value)); }
  bool number_float(number_float_t, const string_t& written) override { return add(Kind::number, written); }
  bool string(string_t& text) override { return add(Kind::text, std::move(text)); }
  bool binary(binary_t&) override { return false; }  // not in JSON
  bool start_object(std::size_t) override { return open(Kind::object); }
  bool start_array(std::size_t) override { return open(Kind::array); }
  bool end_object() override { return open_.pop_back(), true; }
  bool end_array() override { return open_.pop_back(), true; }
  bool key(string_t& name) override {
    open_.back()->members[std::move(name)] = open_.back()->children.size();
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const JsonFault&) override {
    fault = "malformed JSON at byte " + std::to_string(position);
    return false;
  }

 private:
  TemplateData* place(Kind kind, std::string text = {}) {
    TemplateData& value = open_.empty() ? root : open_.back()->children.emplace_back();
    value.kind = kind;
    value.text = std::move(text);
    return &value;
  }
  bool add(Kind kind, std::string text = {}) {
    if (open_.empty()) return refuse("no JSON object");
    place(kind, std::move(text));
    return true;
  }
  bool open(Kind kind) {
    if (open_.empty() && kind != Kind::object) return refuse("no JSON object");
    if (open_.size() == kMaxTemplateDataDepth)
      return refuse("nested more than " + std::to_string(kMaxTemplateDataDepth) + " levels deep");
    open_.push_back(place(kind));
    return true;
  }
  bool refuse(std::string why) {
    fault = std::move(why);
    return false;
  }

  std::vector<TemplateData*> open_;  // only the innermost one's children grow, so that these stay where they are
};

void write_json(const TemplateData& data, std::string& out) {
  switch (data.kind) {
    case Kind::null:
      out += "null";
      break;
    case Kind::boolean:
    case Kind::number:
      out += data.text;
      break;
    case Kind::text:
      out += json_string(data.text);
      break;
    case Kind::array: {
      out += '[';
      for (const auto& child : data.children) {
        if (&child != &data.children.front()) out += ',';
        write_json(child, out);
      }
      out += ']';
      break;
    }
    case Kind::object: {
      out += '{';
      for (const auto& [name, index] : data.members) {
        if (out.back() != '{') out += ',';
        out += json_string(name) + ":";
        write_json(data.children[index], out);
      }
      out += '}';
      break;
    }
  }
}

}  // namespace

const TemplateData* TemplateData::find(std::string_view name) const {
  const auto found = members.find(name);
  return found == members.end() ? nullptr : &children[found->second];
}

bool TemplateData::is_truthy() const {
  switch (kind) {
    case Kind::null:
      return false;
    case Kind::boolean:
      return text == "true";
    case Kind::text:
      return !text.empty();
    case Kind::array:
      return !children.empty();
    case Kind::number:
    case Kind::object:
      break;
  }
  return true;
}

Result<TemplateData> parse_template_data(std::string_view json) {
  Reader reader;
  if (!read_json_events(json, reader)) return fail(Error::Kind::invalid, "template data: " + reader.fault);
  return std::move(reader.root);
}

std::string to_text(const TemplateData& data) {
  if (data.kind == Kind::null) return "";
  if (data.kind != Kind::array && data.kind != Kind::object) return data.text;
  std::string json;
  write_json(data, json);
  return json;
}

}  // namespace waybill

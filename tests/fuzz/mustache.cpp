// Templates and their data: compiled and rendered within the limits, the same each time, and always UTF-8.
#include "templates/mustache.h"

#include "base/utf8.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace waybill;
  const auto parts = fuzz::parts_of(fuzz::text_of(data, size), 2);
  const auto compiled = Mustache::compile(parts[0]);
  if (!compiled) {
    fuzz::promise(!compiled.error().message.empty(), "a refused template has a reason");
    return 0;
  }
  const auto values = parse_template_data(parts[1].empty() ? "{}" : parts[1]);
  if (!values) return 0;
  for (const auto escape : {Mustache::Escape::none, Mustache::Escape::html}) {
    const auto text = compiled->render(*values, escape);
    fuzz::promise(text || text.error().kind == Error::Kind::invalid, "only a limit stops a rendering");
    if (!text) continue;
    fuzz::promise(is_valid_utf8(*text), "a rendering is UTF-8");
    fuzz::promise(*compiled->render(*values, escape) == *text, "a rendering depends on template and data only");
    if (parts[0].find("{{") == std::string_view::npos) fuzz::promise(*text == parts[0], "a text without tags stays as it is");
  }
  return 0;
}

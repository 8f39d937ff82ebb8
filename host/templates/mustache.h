// Mustache (https://github.com/mustache/spec), compiled once: variables, sections, inverted sections, comments, own delimiters.
//
// As the specification has it, and where it leaves a choice: an empty text is falsy, 0 is not; an array or object as a variable
// renders as JSON. Partials, blocks and lambdas do not exist here: what a value holds is never read as a template.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/problem.h"
#include "templates/template_data.h"

namespace waybill {

inline constexpr std::size_t kMaxTemplateLength = 1 << 20;    // bytes
inline constexpr std::size_t kMaxRenderingLength = 1 << 20;   // bytes
inline constexpr std::size_t kMaxRenderingSteps = 2'000'000;  // tags met and contexts asked: under a second
inline constexpr std::size_t kMaxSectionDepth = 64;

// Immutable; rendering is safe from any thread.
class Mustache {
 public:
  enum class Escape { none, html };  // html: in {{x}}, not in {{{x}}} and {{&x}}

  // The problem has line and message; its file and field are the caller's to fill in.
  static tl::expected<Mustache, Problem> compile(std::string_view source);

  // Error::invalid when one of the limits above is met.
  Result<std::string> render(const TemplateData& data, Escape escape) const;

  struct Name {
    bool here = false;               // written with a leading dot: asks the innermost context only
    std::vector<std::string> parts;  // none: the innermost context itself
  };
  struct Node {
    enum class Kind { text, variable, unescaped, section, inverted } kind;
    std::string text;     // of a text
    Name name;            // of all others
    std::size_t end = 0;  // of a section: the node behind its last one
  };

 private:
  explicit Mustache(std::vector<Node> nodes) : nodes_(std::move(nodes)) {}

  std::vector<Node> nodes_;
};

}  // namespace waybill

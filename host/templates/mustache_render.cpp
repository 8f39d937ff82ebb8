// From nodes and data to text, within bounds: a template may loop over what a stranger handed in.
#include "templates/mustache.h"

namespace waybill {
namespace {

using Node = Mustache::Node;

void append_escaped(std::string& out, std::string_view text) {
  for (const char c : text) switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
}

class Renderer {
 public:
  Renderer(const std::vector<Node>& nodes, const TemplateData& data, Mustache::Escape escape)
      : nodes_(nodes), contexts_{&data}, escape_(escape) {}

  std::string out;
  std::string fault;

  // False when a limit is met.
  bool run(std::size_t begin, std::size_t end) {
    for (auto at = begin; at < end; ++at) {
      const Node& node = nodes_[at];
      if (!step()) return false;
      if (node.kind == Node::Kind::text) {
        out += node.text;
      } else if (node.kind == Node::Kind::variable || node.kind == Node::Kind::unescaped) {
        write(node);
      } else {
        if (!run_section(at, node)) return false;
        at = node.end - 1;
      }
      if (out.size() > kMaxRenderingLength) return refuse("what comes of it is longer than 1 MiB");
    }
    return true;
  }

 private:
  bool refuse(const char* why) {
    fault = why;
    return false;
  }

  bool step() { return ++steps_ <= kMaxRenderingSteps || refuse("it takes too many steps with this data"); }

  void write(const Node& node) {
    const auto* const value = find(node.name);
    if (value == nullptr) return;
    if (node.kind == Node::Kind::variable && escape_ == Mustache::Escape::html)
      append_escaped(out, to_text(*value));
    else
      out += to_text(*value);
  }

  bool run_section(std::size_t at, const Node& node) {
    const auto* const value = find(node.name);
    const bool truthy = value != nullptr && value->is_truthy();
    if (node.kind == Node::Kind::inverted) return truthy || run(at + 1, node.end);
    if (!truthy) return true;
    if (value->kind != TemplateData::Kind::array) return run_with(*value, at + 1, node.end);
    for (const auto& item : value->children)
      if (!step() || !run_with(item, at + 1, node.end)) return false;
    return true;
  }

  bool run_with(const TemplateData& context, std::size_t begin, std::size_t end) {
    contexts_.push_back(&context);
    const bool good = run(begin, end);
    contexts_.pop_back();
    return good;
  }

  // The first part is looked for from the innermost context outwards; the others only in what was found.
  const TemplateData* find(const Mustache::Name& name) {
    const TemplateData* found = name.here ? contexts_.back() : nullptr;
    auto part = name.parts.begin();
    if (!name.here) {
      for (auto context = contexts_.rbegin(); context != contexts_.rend() && found == nullptr; ++context, ++steps_)
        found = (*context)->find(*part);
      ++part;
    }
    for (; part != name.parts.end() && found != nullptr; ++part) found = found->find(*part);
    return found;
  }

  const std::vector<Node>& nodes_;
  std::vector<const TemplateData*> contexts_;  // the innermost last
  Mustache::Escape escape_;
  std::size_t steps_ = 0;
};

}  // namespace

Result<std::string> Mustache::render(const TemplateData& data, Escape escape) const {
  Renderer renderer(nodes_, data, escape);
  if (!renderer.run(0, nodes_.size())) return fail(Error::Kind::invalid, renderer.fault);
  return std::move(renderer.out);
}

}  // namespace waybill

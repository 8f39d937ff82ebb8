// Matches request targets against the route table, segment by segment.
#include "http/router.h"

#include <algorithm>

#include "base/utf8.h"
#include "http/host_header.h"
#include "http/server_url.h"

namespace waybill::http {
namespace {

bool is_parameter(std::string_view segment) { return segment.size() > 2 && segment.front() == '{' && segment.back() == '}'; }

// "/a//b" -> "a", "", "b". The path begins with a slash.
template <class Each>
void for_each_segment(std::string_view path, Each each) {
  path.remove_prefix(1);
  for (;;) {
    const auto slash = path.find('/');
    each(path.substr(0, slash));
    if (slash == std::string_view::npos) return;
    path.remove_prefix(slash + 1);
  }
}

// The path and query of a target, which may be an absolute URL (RFC 9112, 3.2.2).
std::string_view without_authority(std::string_view target) {
  if (target.starts_with('/')) return target;
  const auto authority = authority_of(target);
  if (!authority || !parse_authority(*authority)) return {};
  const auto path = static_cast<std::size_t>(authority->data() + authority->size() - target.data());
  if (path == target.size()) return "/";
  return target[path] == '/' ? target.substr(path) : std::string_view{};
}

bool fits(const std::vector<std::string>& pattern, const std::vector<std::string>& segments) {
  if (pattern.size() != segments.size()) return false;
  for (std::size_t i = 0; i < pattern.size(); ++i)
    if (is_parameter(pattern[i]) ? segments[i].empty() : pattern[i] != segments[i]) return false;
  return true;
}

void allow(std::string& list, std::string_view method) {
  if (!list.empty()) list += ", ";
  list += method;
  if (method == "GET") list += ", HEAD";
}

}  // namespace

Router::Router(std::vector<Route> routes) {
  for (auto& route : routes) {
    Entry entry{.route = std::move(route), .segments = {}};
    for_each_segment(entry.route.path, [&](std::string_view segment) { entry.segments.emplace_back(segment); });
    entries_.push_back(std::move(entry));
  }
  std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return std::lexicographical_compare(a.segments.begin(), a.segments.end(), b.segments.begin(), b.segments.end(),
                                        [](const auto& x, const auto& y) { return !is_parameter(x) && is_parameter(y); });
  });
}

Router::Match Router::find(std::string_view method, std::string_view target) const {
  Match match;
  match.pattern = "unmatched";
  const auto bad = [&](std::string_view message) {
    match.refusal = error_response(400, "invalid_request", message);
    return std::move(match);
  };
  const auto local = without_authority(target);
  if (local.empty() || local.find('#') != std::string_view::npos) return bad("the request target is not a path");
  const auto mark = local.find('?');
  const auto path = local.substr(0, mark);
  if (mark != std::string_view::npos) match.query = local.substr(mark + 1);

  std::vector<std::string> segments;
  bool well_formed = true;
  for_each_segment(path, [&](std::string_view raw) {  // decoded one by one: an encoded slash is part of its segment
    auto segment = percent_decode(raw, false);
    well_formed = well_formed && segment && is_clean_utf8(*segment);
    match.path.append("/").append(segment.value_or(""));
    segments.push_back(std::move(segment).value_or(""));
  });
  if (!well_formed) return bad("the path is not percent-encoded UTF-8");

  const auto wanted = method == "HEAD" ? std::string_view("GET") : method;
  std::string allowed;
  for (const auto& entry : entries_) {
    if (!fits(entry.segments, segments)) continue;
    if (entry.route.method != wanted) {
      if (allowed.empty()) match.pattern = entry.route.path;
      allow(allowed, entry.route.method);
      continue;
    }
    match.route = &entry.route;
    match.pattern = entry.route.path;
    for (std::size_t i = 0; i < segments.size(); ++i) {
      const std::string_view name = entry.segments[i];
      if (is_parameter(name)) match.parameters.emplace(name.substr(1, name.size() - 2), std::move(segments[i]));
    }
    return match;
  }
  if (allowed.empty()) {
    match.refusal = error_response(404, "not_found", "there is nothing at this path");
  } else {
    match.refusal = error_response(405, "method_not_allowed", "this path does not know the method");
    match.refusal->headers.emplace_back("Allow", allowed);
  }
  return match;
}

}  // namespace waybill::http

// Reading and writing the surface of registry versions.
#include "api/registry_json.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "api/json_answer.h"
#include "api/query.h"

namespace waybill {
namespace {

template <class Number>
std::optional<Number> positive_number(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && number > 0 ? std::optional(number) : std::nullopt;
}

}  // namespace

Result<RegistryEventsQuery> read_registry_query(const http::Request& request) {
  RegistryEventsQuery query;
  if (const auto cursor = request.query_value("cursor")) {
    const auto before = positive_number<std::int64_t>(*cursor);
    if (!before) return fail(Error::Kind::invalid, "cursor must be the \"next\" of an answer");
    query.before = *before;
  }
  const auto most = limit_in(request, query.most, kMaxEventsListed);
  TRY(most);
  query.most = *most;
  return query;
}

Result<int> read_registry_version(std::string_view text) {
  const auto version = positive_number<int>(text);
  if (!version) return fail(Error::Kind::invalid, "version must be a number from 1 on");
  return *version;
}

Json events_json(const RegistryEvents& page) {
  Json items = Json::array();
  for (const auto& event : page.items)
    items.push_back(
        {{"version", event.version},
         {"contentDigest", event.digest},
         {"at", format_rfc3339(event.at)},
         {"actor", event.by.actor},
         {"trigger", event.by.trigger},
         {"process", event.by.host},
         {"targets", {{"added", event.targets.added}, {"changed", event.targets.changed}, {"removed", event.targets.removed}}}});
  return {{"items", std::move(items)}, {"next", text_or_null(page.next == 0 ? "" : std::to_string(page.next))}};
}

Json version_json(const RegistryVersion& version) {
  Json files = Json::array();
  for (const auto& [path, content] : version.files) files.push_back({{"path", path}, {"content", content}});
  return {{"version", version.version},
          {"contentDigest", version.digest},
          {"at", format_rfc3339(version.at)},
          {"files", std::move(files)}};
}

Json differences_json(const std::vector<RegistryDifference>& all) {
  Json list = Json::array();
  const auto or_null = [](const std::optional<std::string>& text) { return text ? Json(*text) : Json(nullptr); };
  for (const auto& one : all)
    list.push_back({{"file", one.file},
                    {"target", text_or_null(one.target)},
                    {"field", text_or_null(one.field)},
                    {"before", or_null(one.before)},
                    {"after", or_null(one.after)}});
  return list;
}

}  // namespace waybill

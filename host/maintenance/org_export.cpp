// The lines of an export, counted and digested on their way.
#include "maintenance/org_export.h"

#include <map>
#include <nlohmann/json.hpp>

#include "base/json_writer.h"
#include "base/version.h"
#include "domain/running_digest.h"

namespace waybill {
namespace {

constexpr const char* kCredentials = "credentials: make tokens with `waybill token create`";
constexpr const char* kSecrets = "secrets: rotate the secrets of channels";
constexpr const char* kMoment = "what hosts know of the moment";

constexpr LeftOut kLeftOut[] = {
    {"api_tokens", kCredentials},
    {"org_keys", kSecrets},
    {"channels.key_id", kSecrets},
    {"channels.secret", kSecrets},
    {"channels.secondary_secret", kSecrets},
    {"channel_hosts", kMoment},
    {"host_findings", kMoment},
    {"target_outages", kMoment},
    {"target_rates", kMoment},
    {"replay_turns", kMoment},
    {"listed_intents", "an index, which hosts make"},
};

class Export {
 public:
  Export(ExportStore& store, const ExportOrder& order, const std::function<Result<void>(const std::string&)>& print,
         const std::function<void(std::int64_t)>& progress)
      : store_(store), order_(order), print_(print), progress_(progress) {}

  Result<void> run() {
    TRY(store_.read(order_.name, kLeftOut,
                    {.begin = [&](const OrgToExport& org) { return begin(org); },
                     .row = [&](const std::string& table, std::string_view row) { return add(table, row); }}));
    const auto digest = to_hex(as_view(digest_.so_far()));
    TRY(store_.note(org_, {.name = order_.name, .actor = order_.actor, .rows = rows_, .digest = digest}));
    Json tables = Json::object();
    for (const auto& [table, rows] : tables_) tables[table] = rows;
    return print_(Json{{"rows", rows_}, {"tables", std::move(tables)}, {"sha256", digest}}.dump());
  }

 private:
  Result<void> begin(const OrgToExport& org) {
    org_ = org.id;
    Json left_out = Json::array();
    for (const auto& one : kLeftOut) left_out.push_back({{"what", one.what}, {"why", one.why}});
    return put(Json{{"form", kExportForm},
                    {"version", kExportVersion},
                    {"schema", org.schema},
                    {"shards", org.shards},
                    {"organisation", {{"id", org.id.value}, {"name", order_.name}}},
                    {"exportedAt", format_rfc3339(org.now)},
                    {"actor", order_.actor},
                    {"program", built_version()},
                    {"leftOut", std::move(left_out)}}
                   .dump());
  }
  Result<void> add(const std::string& table, std::string_view row) {
    ++tables_[table];
    ++rows_;
    if (progress_) progress_(rows_);
    std::string line = "{\"table\":" + json_string(table) + ",\"row\":";
    line.append(row).append("}");
    return put(line);
  }
  Result<void> put(const std::string& json) {
    const auto line = ascii_json(json);
    digest_.add(line);
    digest_.add("\n");
    return print_(line);
  }

  ExportStore& store_;
  const ExportOrder& order_;
  const std::function<Result<void>(const std::string&)>& print_;
  const std::function<void(std::int64_t)>& progress_;
  OrgId org_{};
  RunningDigest digest_;
  std::int64_t rows_ = 0;
  std::map<std::string, std::int64_t> tables_;
};

}  // namespace

std::span<const LeftOut> left_out_of_exports() { return kLeftOut; }

Result<void> export_organisation(ExportStore& store, const ExportOrder& order,
                                 const std::function<Result<void>(const std::string& line)>& print,
                                 const std::function<void(std::int64_t rows)>& progress) {
  return Export(store, order, print, progress).run();
}

}  // namespace waybill

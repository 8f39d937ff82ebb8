// The rows behind `waybill reload` and what tells hosts with different registries apart.
#include "store/operations/host_registries.h"

#include "store/forms/form_loading.sql.h"
#include "store/pg/pg.h"

namespace waybill {

Result<std::int64_t> ask_reload(Connection& connection, const std::string& asked_by, std::span<const std::string> hosts) {
  ArrayText names;
  for (const auto& host : hosts) names.add(host);
  const auto asked = connection.run(sql::ask_reload, {asked_by, names.take()});
  TRY(asked);
  return asked->front().request_id();
}

Result<std::optional<ReloadRequest>> newest_reload(Connection& connection, const std::string& host) {
  const auto newest = connection.run(sql::newest_reload, {host});
  TRY(newest);
  if (newest->empty()) return std::nullopt;
  return ReloadRequest{newest->front().request_id(), std::string(newest->front().asked_by())};
}

Result<void> publish_registry(Connection& connection, HostId host, const RegistryReport& report) {
  TRY(connection.run(sql::publish_registry, {std::to_string(host.value), report.digest, std::to_string(report.request),
                                             report.verdict, report.remarks}));
  return {};
}

Result<std::vector<HostRegistry>> read_registries(Connection& connection) {
  const auto rows = connection.run(sql::registries);
  TRY(rows);
  std::vector<HostRegistry> all;
  for (const auto row : *rows) {
    HostRegistry host{{row.host_id()}, std::string(row.name()), std::nullopt, !row.can_tell()};
    if (row.digest())
      host.report = {text_or_empty(row.digest()), value_or_zero(row.request_id()), text_or_empty(row.verdict()),
                     text_or_empty(row.remarks())};
    all.push_back(std::move(host));
  }
  return all;
}

}  // namespace waybill

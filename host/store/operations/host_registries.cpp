// The rows behind `waybill reload` and what tells hosts with different registries apart.
#include "store/operations/host_registries.h"

#include "store/forms/form_loading.sql.h"
#include "store/submissions/read_rows.h"

namespace waybill {

Result<std::int64_t> ask_reload(Connection& connection, const std::string& asked_by, std::span<const std::string> hosts) {
  ArrayText names;
  for (const auto& host : hosts) names.add(host);
  const auto asked = connection.run(sql::ask_reload, {asked_by, names.take()});
  TRY(asked);
  return asked->number(0, 0);
}

Result<std::optional<ReloadRequest>> newest_reload(Connection& connection, const std::string& host) {
  const auto row = connection.run(sql::newest_reload, {host});
  TRY(row);
  if (row->size() == 0) return std::nullopt;
  return ReloadRequest{row->number(0, 0), text_of(*row, 0, 1)};
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
  for (std::size_t row = 0; row < rows->size(); ++row) {
    HostRegistry host{{rows->number(row, 0)}, text_of(*rows, row, 1), std::nullopt, !rows->flag(row, 6)};
    if (!rows->is_null(row, 2))
      host.report = {text_of(*rows, row, 2), rows->number(row, 3), text_of(*rows, row, 4), text_of(*rows, row, 5)};
    all.push_back(std::move(host));
  }
  return all;
}

}  // namespace waybill

// Acting as the tenant role for a transaction.
#include "store/pg/tenant_link.h"

#include "store/pg/roles.sql.h"

namespace waybill {
namespace {

constexpr const char* kReadTransaction = "BEGIN READ ONLY";
constexpr auto kLookAgain = std::chrono::seconds(5);  // for a role that was not there

std::string no_role(std::string_view name) {
  return "organisations are not kept apart in this database: role \"" + std::string(name) +
         "\" is not there, or this host may not act as it. Run `waybill roles` as an administrator of the database "
         "(docs/operations/roles.md)";
}

}  // namespace

Result<void> check_tenant_role(Link& link) {
  const auto rows = link.read(sql::tenant_role);
  TRY(rows);
  if (!rows->front().may_act()) return fail(Error::Kind::unavailable, no_role(rows->front().tenant_role()));
  return {};
}

Result<void> TenantLink::look_for_role() {
  const auto rows = link_.read(sql::tenant_role);
  TRY(rows);
  looked_ = std::chrono::steady_clock::now();
  const auto row = rows->front();
  role_ = row.may_act() ? row.tenant_role() : std::string_view{};
  if (role_.empty() && otherwise_ == WithoutTenantRole::refuse) {
    looked_ = {};
    return fail(Error::Kind::unavailable, no_role(row.tenant_role()));
  }
  return {};
}

Result<std::string> TenantLink::begin_as(OrgId org, const char* begin) {
  const bool is_known = looked_ != std::chrono::steady_clock::time_point{} &&
                        (!role_.empty() || std::chrono::steady_clock::now() - looked_ < kLookAgain);
  if (!is_known) TRY(look_for_role());
  std::string sql = begin;
  if (!role_.empty()) sql += "; SET LOCAL ROLE " + quoted_identifier(role_);
  return sql + "; SET LOCAL waybill.org TO '" + std::to_string(org.value) + "'";
}

Result<Rows> TenantLink::read(OrgId org, const Statement& statement, const Parameters& parameters) {
  const auto once = [&] {
    return transact(
        org, [&](Connection& connection) { return connection.run(statement, parameters); }, kReadTransaction);
  };
  auto rows = once();
  return !rows && link_.was_dead(rows.error()) ? once() : std::move(rows);
}

}  // namespace waybill

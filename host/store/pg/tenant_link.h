// Transactions of one organisation: the database shows them its rows only, whatever their statements say
// (schema/functions/guard_rows.sql).
#pragma once

#include <chrono>
#include <string>

#include "base/id.h"
#include "store/pg/pg.h"

namespace waybill {

// Begins a transaction that only reads, and sees one moment.
inline constexpr const char* kReadOnlySnapshot = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

// In a database without a tenant role that the host may act as: refuse (Error::unavailable, with what to do), or rely on what
// each statement says about its organisation.
enum class WithoutTenantRole { refuse, rely_on_statements };

// On the sessions of `link`, which must outlive it: role and organisation last for one transaction. One thread at a time.
class TenantLink {
 public:
  TenantLink(Link& link, WithoutTenantRole otherwise) : link_(link), otherwise_(otherwise) {}

  // For one read-only statement: a dead session is replaced, and the statement is run again at once.
  Result<Rows> read(OrgId org, const Statement& statement, const Parameters& parameters = {});
  template <class OneRow>
  Result<RowsOf<OneRow>> read(OrgId org, const Query<OneRow>& query, const Parameters& parameters = {}) {
    return read(org, static_cast<const Statement&>(query), parameters).map(as_rows<OneRow>);
  }

  // As Link::transact(). `begin` begins the transaction.
  template <class Work>
  std::invoke_result_t<Work, Connection&> transact(OrgId org, Work work, const char* begin = "BEGIN") {
    const auto beginning = begin_as(org, begin);
    TRY(beginning);
    auto answer = link_.transact(std::move(work), beginning->c_str());
    if (!answer) looked_ = {};  // the role may have gone
    return answer;
  }

 private:
  Result<std::string> begin_as(OrgId org, const char* begin);
  Result<void> look_for_role();

  Link& link_;
  const WithoutTenantRole otherwise_;
  std::string role_;  // "": there is none that this session may act as
  std::chrono::steady_clock::time_point looked_{};
};

// Whether the database has a tenant role that the host may act as. Error::unavailable says what to do if not.
Result<void> check_tenant_role(Link& link);

}  // namespace waybill

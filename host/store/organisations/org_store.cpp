// Organisations on PostgreSQL.
#include "store/organisations/org_store.h"

#include "domain/organisation.h"
#include "store/organisations/organisations.sql.h"
#include "store/pg/tenant_link.h"
#include "store/pg_stores.h"
#include "store/submissions/read_rows.h"

namespace waybill {
namespace {

OrgView read_org(const Rows& rows, std::size_t row) {
  return {.id = {rows.number(row, 0)},
          .name = text_of(rows, row, 1),
          .created = rows.time(row, 2),
          .disabled = time_of(rows, row, 3),
          .weight = static_cast<std::uint32_t>(rows.number(row, 4)),
          .tokens = rows.number(row, 5)};
}

class PgOrgStore final : public OrgStore {
 public:
  explicit PgOrgStore(const DatabaseAddress& address) : link_(address, "organisations") {}

  Result<OrgView> create(const std::string& name) override {
    if (!is_organisation_name(name))
      return fail(Error::Kind::invalid, "the name of an organisation is " + std::string(kOrganisationNames));
    TRY(check_tenant_role(link_));
    auto made = link_.run(sql::create_org, {name});
    TRY(made);
    if (made->size() == 0) return fail(Error::Kind::conflict, "there is an organisation \"" + name + "\" already");
    auto found = find(name);
    TRY(found);
    return **found;
  }

  Result<OrgPage> list(const std::string& after, std::size_t most) override {
    auto rows = link_.read(sql::organisations, {after, std::to_string(most + 1)});
    TRY(rows);
    OrgPage page;
    for (std::size_t row = 0; row < std::min(rows->size(), most); ++row) page.organisations.push_back(read_org(*rows, row));
    if (rows->size() > most) page.next = page.organisations.back().name;
    return page;
  }

  Result<std::optional<OrgView>> find(const std::string& name) override {
    auto rows = link_.read(sql::show_org, {name});
    TRY(rows);
    return rows->size() == 0 ? std::nullopt : std::optional(read_org(*rows, 0));
  }

  Result<std::optional<OrgView>> set_disabled(const std::string& name, bool disabled) override {
    if (disabled && name == kDefaultOrgName)
      return fail(Error::Kind::conflict, "the organisation \"default\" cannot be disabled: its owners operate the installation");
    TRY(link_.run(sql::disable_org, {name, std::string(disabled ? "true" : "false")}));
    return find(name);
  }

  Result<std::optional<OrgView>> set_weight(const std::string& name, std::uint32_t weight) override {
    TRY(link_.run(sql::weigh_org, {name, std::to_string(weight)}));
    return find(name);
  }

 private:
  Link link_;
};

}  // namespace

std::unique_ptr<OrgStore> make_org_store(const DatabaseAddress& address) { return std::make_unique<PgOrgStore>(address); }

}  // namespace waybill

// Organisations on PostgreSQL.
#include "store/organisations/org_store.h"

#include <algorithm>

#include "domain/organisation.h"
#include "store/organisations/organisations.sql.h"
#include "store/pg/tenant_link.h"
#include "store/pg_stores.h"

namespace waybill {
namespace {

template <class OneRow>
OrgView read_org(const OneRow& row) {
  return {.id = {row.org_id()},
          .name = std::string(row.name()),
          .created = row.created(),
          .disabled = row.disabled(),
          .weight = static_cast<std::uint32_t>(row.weight()),
          .tokens = row.tokens()};
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
    if (made->empty()) return fail(Error::Kind::conflict, "there is an organisation \"" + name + "\" already");
    auto found = find(name);
    TRY(found);
    return **found;
  }

  Result<OrgPage> list(const std::string& after, std::size_t most) override {
    auto rows = link_.read(sql::organisations, {after, std::to_string(most + 1)});
    TRY(rows);
    OrgPage page;
    for (std::size_t at = 0; at < std::min(rows->size(), most); ++at) page.organisations.push_back(read_org((*rows)[at]));
    if (rows->size() > most) page.next = page.organisations.back().name;
    return page;
  }

  Result<std::optional<OrgView>> find(const std::string& name) override {
    auto rows = link_.read(sql::show_org, {name});
    TRY(rows);
    return rows->empty() ? std::nullopt : std::optional(read_org(rows->front()));
  }

  Result<std::optional<OrgView>> set_disabled(const std::string& name, bool disabled) override {
    if (disabled && name == kDefaultOrgName)
      return fail(Error::Kind::conflict, "the organisation \"default\" cannot be disabled: its owners operate the installation");
    if (!disabled) {
      const auto erased = link_.run(sql::is_being_erased, {name});
      TRY(erased);
      if (erased->front().is_being_erased())
        return fail(Error::Kind::conflict,
                    "organisation \"" + name + "\" is being erased: run `waybill org erase` again until it is gone");
    }
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

// The commands on organisations.
#include "cli/orgs.h"

#include <functional>
#include <nlohmann/json.hpp>

#include "api/org_json.h"
#include "base/printing.h"
#include "cli/json_output.h"
#include "store/pg_stores.h"

namespace waybill {
namespace {

int with_orgs(const GlobalOptions& options, const std::function<int(OrgStore&)>& act) {
  const auto config = configuration(options);
  if (!config) return 1;
  Log log = quiet_log();
  const auto database = fit_database(*config, log);
  if (!database) return failed(database.error().what);
  return act(*make_org_store(database->address));
}

void print_org(const OrgView& org) {
  const std::string state = org.disabled ? "disabled " + format_rfc3339(*org.disabled) : "enabled";
  print_text("%-32s %-38s created %s, weight %u, %lld live token(s)\n", org.name.c_str(), state.c_str(),
             format_rfc3339(org.created).c_str(), org.weight, static_cast<long long>(org.tokens));
}

int print_found(const GlobalOptions& options, const Result<std::optional<OrgView>>& org, const std::string& name) {
  if (!org) return failed(org.error().what);
  if (!*org) return failed("there is no organisation \"" + name + "\"");
  if (options.json)
    print_json(org_json(**org));
  else
    print_org(**org);
  return 0;
}

}  // namespace

int list_orgs(const GlobalOptions& options) {
  return with_orgs(options, [&](OrgStore& store) {
    OrgPage all;
    do {
      auto page = store.list(all.next, kMaxOrgsListed);
      if (!page) return failed(page.error().what);
      all.next = page->next;
      for (auto& org : page->organisations) all.organisations.push_back(std::move(org));
    } while (!all.next.empty());
    if (options.json)
      print_json(org_page_json(all).at("items"));
    else
      for (const auto& org : all.organisations) print_org(org);
    return 0;
  });
}

int create_org(const GlobalOptions& options, const std::string& name) {
  return with_orgs(options, [&](OrgStore& store) {
    const auto made = store.create(name);
    if (!made) return failed(made.error().what);
    return print_found(options, std::optional(*made), name);
  });
}

int show_org(const GlobalOptions& options, const std::string& name) {
  return with_orgs(options, [&](OrgStore& store) { return print_found(options, store.find(name), name); });
}

int weigh_org(const GlobalOptions& options, const std::string& name, const std::string& text) {
  const auto weight = read_org_weight(text);
  if (!weight) return failed(weight.error().what);
  return with_orgs(options, [&](OrgStore& store) { return print_found(options, store.set_weight(name, *weight), name); });
}

int disable_org(const GlobalOptions& options, const std::string& name) {
  return with_orgs(options, [&](OrgStore& store) { return print_found(options, store.set_disabled(name, true), name); });
}

int enable_org(const GlobalOptions& options, const std::string& name) {
  return with_orgs(options, [&](OrgStore& store) { return print_found(options, store.set_disabled(name, false), name); });
}

}  // namespace waybill

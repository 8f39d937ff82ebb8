// API tokens: only their hashes are kept.
#include "store/pg_stores.h"
#include "store/read_rows.h"
#include "store/sql/tokens.h"

namespace waybill {
namespace {

constexpr Statement kFindToken = sql::find_token;
constexpr Statement kFindOrg = sql::find_org;
constexpr Statement kCreateToken = sql::create_token;
constexpr Statement kRevokeToken = sql::revoke_token;

class PgTokenStore final : public TokenStore {
 public:
  explicit PgTokenStore(const DatabaseAddress& address) : link_(address, "tokens") {}

  Result<std::optional<TokenView>> find(const Sha256& hash) override {
    auto rows = link_.read(kFindToken, {bytea(as_view(hash))});
    TRY(rows);
    if (rows->size() == 0) return std::nullopt;
    return TokenView{{rows->number(0, 0)},
                     std::string(rows->text(0, 1)),
                     std::string(rows->text(0, 2)),
                     std::string(rows->text(0, 3)),
                     rows->flag(0, 4)};
  }

  Result<void> create(const std::string& org, const std::string& name, const std::string& role, const Sha256& hash) override {
    auto found = link_.run(kFindOrg, {org});
    TRY(found);
    if (found->size() == 0) return fail(Error::Kind::not_found, "there is no organisation \"" + org + "\"");
    auto made = link_.run(kCreateToken, {std::string(found->text(0, 0)), name, role, bytea(as_view(hash))});
    TRY(made);
    if (made->size() == 0)
      return fail(Error::Kind::conflict,
                  "there is a live token \"" + name + "\" already; revoke it first or choose another name");
    return {};
  }

  Result<bool> revoke(const std::string& org, const std::string& name) override {
    auto rows = link_.run(kRevokeToken, {org, name});
    TRY(rows);
    return rows->size() > 0;
  }

 private:
  Link link_;
};

}  // namespace

std::unique_ptr<TokenStore> make_token_store(const DatabaseAddress& address) { return std::make_unique<PgTokenStore>(address); }

}  // namespace waybill

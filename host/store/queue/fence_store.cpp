// The fence after a restore on PostgreSQL.
#include "store/queue/fence_store.h"

#include "store/queue/fence.sql.h"
#include "store/queue/history_rows.h"

namespace waybill {
namespace {

class PgFenceStore final : public FenceStore {
 public:
  explicit PgFenceStore(const DatabaseAddress& owner) : link_(owner, "fence") {}

  Result<FenceState> state() override {
    const auto rows = link_.run(sql::fence_state);
    TRY(rows);
    const auto row = rows->front();
    return FenceState{row.now(), row.newest(), std::string(row.living())};
  }

  Result<bool> begin(Timestamp restored_to, const std::string& actor) override {
    const auto rows = link_.run(sql::begin_fence, {std::to_string(restored_to.micros), actor, std::to_string(kIdsLeftOut)});
    TRY(rows);
    return rows->front().is_new();
  }

  Result<DoubtPage> in_doubt(Shard shard, Timestamp restored_to, DeliveryId after, std::size_t most) override {
    const auto rows = link_.run(sql::deliveries_in_doubt, place(shard, restored_to, after, most));
    TRY(rows);
    DoubtPage page;
    for (const auto row : *rows) {
      page.now = row.now();
      page.next = DeliveryId{row.delivery_id()};
      if (!row.in_doubt()) continue;
      page.items.push_back({.delivery = {.delivery = {row.delivery_id()},
                                         .token = {},
                                         .org = {row.org_id()},
                                         .route = {static_cast<int>(row.route_id())},
                                         .host = {},
                                         .kind = std::string(row.kind()),
                                         .client_ref = std::string(row.client_ref()),
                                         .action_order = static_cast<int>(row.action_order()),
                                         .claimed_at = restored_to,
                                         .created = row.created(),
                                         .history = read_history(row)},
                            .submission = {row.submission_id()},
                            .org = std::string(row.org()),
                            .target = std::string(row.target())});
    }
    return page;
  }

  Result<ClaimToken> new_token() override {
    const auto rows = link_.run(sql::new_fence_token);
    TRY(rows);
    return ClaimToken{rows->front().token()};
  }

  Result<std::vector<DeliveryId>> take(Shard shard, ClaimToken token, std::span<const DeliveryId> deliveries) override {
    ArrayText wanted;
    for (const auto id : deliveries) wanted.add(id.value);
    const auto ids = wanted.take();
    return link_.transact([&](Connection& connection) -> Result<std::vector<DeliveryId>> {
      TRY(connection.run(sql::free_for_fence, {std::to_string(shard), ids}));
      const auto rows = connection.run(sql::take_for_fence, {std::to_string(shard), ids, std::to_string(token.value)});
      TRY(rows);
      std::vector<DeliveryId> taken;
      for (const auto row : *rows) taken.push_back({row.delivery_id()});
      return taken;
    });
  }

  Result<DoubtNoted> note_doubt(Shard shard, Timestamp restored_to, DeliveryId after, std::size_t most, bool dry_run) override {
    auto parameters = place(shard, restored_to, after, most);
    parameters.emplace_back(std::string(dry_run ? "true" : "false"));
    const auto rows = link_.run(sql::note_doubt, parameters);
    TRY(rows);
    if (rows->empty()) return DoubtNoted{};
    return DoubtNoted{rows->front().noted(), DeliveryId{rows->front().last()}};
  }

  Result<void> end(Timestamp restored_to, const std::string& actor, std::int64_t ended, std::int64_t noted) override {
    TRY(link_.run(sql::end_fence, {std::to_string(restored_to.micros), actor, std::to_string(ended), std::to_string(noted)}));
    return {};
  }

 private:
  static Parameters place(Shard shard, Timestamp restored_to, DeliveryId after, std::size_t most) {
    return {std::to_string(shard), std::to_string(restored_to.micros), std::to_string(after.value), std::to_string(most)};
  }

  Link link_;
};

}  // namespace

std::unique_ptr<FenceStore> make_fence_store(const DatabaseAddress& owner) { return std::make_unique<PgFenceStore>(owner); }

}  // namespace waybill

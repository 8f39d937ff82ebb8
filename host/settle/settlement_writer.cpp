// From one statement for all down to the least that can be written of one.
#include "settle/settlement_writer.h"

#include <unordered_set>
#include <utility>

#include "settle/settlement.h"

namespace waybill {
namespace {

// The database will not take it, however often it is tried.
bool is_refused(const Error& error) { return error.kind == Error::Kind::bug; }

struct Writing {
  std::function<Result<SettleResult>(std::size_t first, std::size_t count)> all;
  std::function<Result<SettleResult>(std::size_t at, const Error& why)> less;  // of one that `all` was refused for
  const SettlementWriter::Listener& listener;
};

Result<void> write(const Writing& writing, std::size_t first, std::size_t count) {
  auto written = writing.all(first, count);
  if (!written && is_refused(written.error())) {
    if (count > 1) {
      for (std::size_t at = first; at < first + count; ++at) TRY(write(writing, at, 1));
      return {};
    }
    written = writing.less(first, written.error());
    if (!written && is_refused(written.error())) {
      writing.listener.refused(first);
      return {};
    }
  }
  TRY(written);
  writing.listener.written(first, count, *written);
  return {};
}

}  // namespace

Result<void> SettlementWriter::settle(Shard shard, std::span<Settlement> batch, const Listener& listener) {
  if (batch.empty()) return {};
  const Writing writing{[&](std::size_t first, std::size_t count) { return settle_once(shard, batch.subspan(first, count)); },
                        [&](std::size_t at, const Error& why) { return settle_less(shard, batch[at], why, listener.about(at)); },
                        listener};
  return write(writing, 0, batch.size());
}

Result<SettleResult> SettlementWriter::settle_once(Shard shard, std::span<Settlement> batch) {
  auto settled = store_.settle(shard, batch);
  TRY(settled);
  for (const auto& state : settled->form_states) metrics_.submission(state);
  for (const auto& move : settled->moves) metrics_.pipeline_moved(move.pipeline, move.to, move.took, move.metrics);
  const std::unordered_set<DeliveryId> handled(settled->handled.begin(), settled->handled.end());
  if (!handled.empty())
    for (auto& settlement : batch) settlement.dead_letter &= !handled.contains(settlement.delivery);
  return settled;
}

Result<SettleResult> SettlementWriter::settle_less(Shard shard, Settlement& refused, Error why, const About& about) {
  if (refused.of_stage && refused.status != Status::due) {  // it, or what its pipeline does next
    log_.error("settle.halted", {{"delivery", refused.delivery.value},
                                 {"submission", about.submission},
                                 {"error", why.what},
                                 {"remedy", "its submission is blocked; it is tried again twice a minute whether it can go on"}});
    refused.halts = true;
    auto settled = settle_once(shard, {&refused, 1});
    if (settled || !is_refused(settled.error())) return settled;
    why = settled.error();
  }
  log_.error("settle.detail_refused", {{"delivery", refused.delivery.value}, {"error", why.what}, {"detail", about.detail}});
  refused = minimal(std::move(refused));  // its end matters more than the texts about it
  auto settled = settle_once(shard, {&refused, 1});
  if (!settled && is_refused(settled.error()))
    log_.error("settle.refused_by_database", {{"delivery", refused.delivery.value},
                                              {"error", settled.error().what},
                                              {"remedy", "its lease runs out and it is tried again"}});
  return settled;
}

Result<void> SettlementWriter::save_artifacts(Shard shard, std::span<const ComposeRow> batch, const Listener& listener) {
  const auto save = [&](std::size_t first, std::size_t count) -> Result<SettleResult> {
    const auto held = store_.save_artifacts(shard, batch.subspan(first, count));
    TRY(held);
    const std::unordered_set<DeliveryId> kept(held->begin(), held->end());
    SettleResult result;
    for (const auto& one : batch.subspan(first, count)) {
      if (!kept.contains(one.delivery)) continue;
      result.held.push_back(one.delivery);
      result.tokens.push_back(one.token);
    }
    return result;
  };
  const auto refuse = [&](std::size_t at, const Error& why) -> Result<SettleResult> {
    log_.error(
        "settle.refused_by_database",
        {{"delivery", batch[at].delivery.value}, {"error", why.what}, {"remedy", "its lease runs out and it is tried again"}});
    return tl::unexpected(why);
  };
  if (batch.empty()) return {};
  return write({save, refuse, listener}, 0, batch.size());
}

}  // namespace waybill

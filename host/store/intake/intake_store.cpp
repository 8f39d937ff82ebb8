// Submissions on their way in: one statement, one commit, for a whole group.
#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "store/intake/intake.sql.h"
#include "store/intake/submit.h"
#include "store/pg_stores.h"
#include "store/queue/routes.h"
#include "store/submissions/read_rows.h"

namespace waybill {
namespace {

std::string key_of(OrgId org, std::string_view kind, std::string_view client_ref) {
  std::string key = std::to_string(org.value);
  key.append(1, '\0').append(kind).append(1, '\0').append(client_ref);
  return key;
}

// A group of items as the parameters of sql::submit.
class Group {
 public:
  explicit Group(std::span<const NewSubmission> items) {
    std::size_t bytes = 0;
    for (const auto& item : items) bytes += item.payload.size() + 1;
    payloads_.reserve(bytes);
    hashes_.reserve(2 + 64 * items.size());
    for (const auto& item : items) add(item);
    add_turns(items);
    add_traces(items);
    add_terms(items);
  }

  Parameters take(Shard shard, const std::optional<InsertClaim>& claim) {
    Parameters all;
    all.reserve(22);
    all.emplace_back(std::to_string(shard));
    for (auto* array : {&org_, &kind_, &pipeline_, &target_, &route_, &sort_, &client_ref_, &first_byte_, &bytes_})
      all.emplace_back(array->take());
    all.emplace_back(std::move(payloads_));
    all.emplace_back(std::move(hashes_));
    if (claim)
      for (const auto value : {claim->token.value, claim->host.value, std::int64_t{claim->lease.count()}})
        all.emplace_back(std::to_string(value));
    all.resize(15);
    all.emplace_back(cooldown_key_.take());
    all.emplace_back(turn_.take());
    all.emplace_back(has_trace_ ? std::optional(trace_.take()) : std::nullopt);
    for (auto* array : {&not_before_, &expires_, &producer_, &handed_in_})
      all.emplace_back(has_terms_ ? std::optional(array->take()) : std::nullopt);
    return all;
  }

 private:
  using Sort = std::tuple<std::int64_t, std::int64_t, std::string_view, std::string_view, std::string_view>;

  void add(const NewSubmission& item) {
    sort_.add(sort_of(item));
    client_ref_.add(item.client_ref);
    first_byte_.add(static_cast<std::int64_t>(payloads_.size() + 1));
    bytes_.add(static_cast<std::int64_t>(item.payload.size()));
    payloads_.append(item.payload).append(1, '\n');  // so that no half a character meets its other half in the next payload
    hashes_ += to_hex(as_view(item.payload_hash));
  }

  void add_traces(std::span<const NewSubmission> items) {
    has_trace_ = std::any_of(items.begin(), items.end(), [](const auto& item) { return item.trace != nullptr; });
    if (!has_trace_) return;
    for (const auto& item : items) item.trace ? trace_.add(stored_trace(*item.trace)) : trace_.add_null();
  }

  void add_terms(std::span<const NewSubmission> items) {
    has_terms_ = std::any_of(items.begin(), items.end(), [](const auto& item) { return item.terms || item.handed_in; });
    if (!has_terms_) return;
    const auto add = [](ArrayText& array, const std::optional<Timestamp>& time) {
      time ? array.add(time->micros) : array.add_null();
    };
    for (const auto& item : items) {
      add(not_before_, item.terms ? item.terms->not_before : std::nullopt);
      add(expires_, item.terms ? item.terms->expires : std::nullopt);
      add(handed_in_, item.handed_in);
      item.terms && !item.terms->producer.empty() ? producer_.add(item.terms->producer) : producer_.add_null();
    }
  }

  // The place of each among the keys in their order.
  void add_turns(std::span<const NewSubmission> items) {
    std::vector<std::size_t> by_key(items.size());
    std::iota(by_key.begin(), by_key.end(), std::size_t{0});
    const auto key = [&](std::size_t i) { return std::tie(items[i].org, items[i].kind, items[i].client_ref); };
    std::sort(by_key.begin(), by_key.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
    std::vector<std::int64_t> turns(items.size());
    for (std::size_t turn = 0; turn < by_key.size(); ++turn) turns[by_key[turn]] = static_cast<std::int64_t>(turn);
    for (const auto turn : turns) turn_.add(turn);
  }

  // Counted from 1.
  std::int64_t sort_of(const NewSubmission& item) {
    const auto number = static_cast<std::int64_t>(sorts_.size() + 1);
    const auto [at, is_new] =
        sorts_.try_emplace(Sort{item.org.value, item.route.value, item.kind, item.pipeline, item.target}, number);
    if (!is_new) return at->second;
    org_.add(item.org.value);
    kind_.add(item.kind);
    pipeline_.add(item.pipeline);
    target_.add(item.target);
    cooldown_key_.add(item.cooldown_key);
    route_.add(item.route.value);
    return number;
  }

  std::map<Sort, std::int64_t> sorts_;
  ArrayText org_, kind_, pipeline_, target_, cooldown_key_, route_;  // an element for each sort
  // An element for each item.
  ArrayText sort_, client_ref_, first_byte_, bytes_, turn_, trace_, not_before_, expires_, producer_, handed_in_;
  bool has_trace_ = false, has_terms_ = false;
  std::string payloads_, hashes_ = "\\x";
};

// What was not inserted is there already: the same submission again, or another one under its key.
template <class Session>
Result<void> compare_with_existing(Session& session, Shard shard, std::span<const NewSubmission> items,
                                   std::vector<SubmitResult>& answers) {
  std::unordered_map<std::string, std::size_t> places;
  ArrayText org, kind, client_ref;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (answers[i].view.id != SubmissionId{}) continue;
    places.emplace(key_of(items[i].org, items[i].kind, items[i].client_ref), i);
    org.add(items[i].org.value);
    kind.add(items[i].kind);
    client_ref.add(items[i].client_ref);
  }
  auto rows = session.run(sql::existing, {std::to_string(shard), org.take(), kind.take(), client_ref.take()});
  TRY(rows);
  if (rows->size() != places.size()) return fail(Error::Kind::unavailable, "a submission neither was inserted nor is there");
  for (const auto row : *rows) {
    SubmissionView view = read_submission(row);
    const std::size_t i = places.at(key_of(view.org, row.kind(), view.client_ref));
    const bool same = view.target == items[i].target && row.payload_hash() == to_hex(as_view(items[i].payload_hash));
    answers[i] = {same ? SubmitResult::How::existing : SubmitResult::How::conflict, std::move(view)};
  }
  return {};
}

template <class Session>
Result<std::vector<SubmitResult>> submit_in(Session& session, Shard shard, std::span<const NewSubmission> items,
                                            const std::optional<InsertClaim>& claim) {
  for (const auto& item : items)  // it would end the payloads of the group
    if (item.payload.find('\0') != std::string::npos) return fail(Error::Kind::bug, "a payload holds a NUL byte");
  auto fresh = session.run(sql::submit, Group(items).take(shard, claim));
  TRY(fresh);
  std::vector<SubmitResult> answers(items.size());
  for (const auto row : *fresh) {
    const auto i = static_cast<std::size_t>(row.place() - 1);
    const NewSubmission& item = items[i];
    answers[i] = {SubmitResult::How::created,
                  {.id = {row.submission_id()},
                   .org = item.org,
                   .client_ref = item.client_ref,
                   .target = item.target,
                   .state = item.state,
                   .created = row.created(),
                   .terms = item.terms},
                  row.is_claimed(),
                  row.stored(),
                  row.is_later()};
  }
  if (fresh->size() < items.size()) TRY(compare_with_existing(session, shard, items, answers));
  return answers;
}

class PgIntakeStore final : public IntakeStore {
 public:
  explicit PgIntakeStore(const DatabaseAddress& address) : link_(address, "intake") {}

  Result<RouteId> route(OrgId org, const Contract& contract) override {
    return link_.use([&](Connection& connection) { return route_of(connection, org, contract); });
  }

  Result<std::vector<SubmitResult>> submit(Shard shard, std::span<const NewSubmission> items,
                                           const std::optional<InsertClaim>& claim) override {
    return submit_in(link_, shard, items, claim);
  }

 private:
  Link link_;
};

}  // namespace

Result<std::vector<SubmitResult>> submit_on(Connection& connection, Shard shard, std::span<const NewSubmission> items) {
  return submit_in(connection, shard, items, std::nullopt);
}

std::unique_ptr<IntakeStore> make_intake_store(const DatabaseAddress& address) {
  return std::make_unique<PgIntakeStore>(address);
}

}  // namespace waybill

// The commands on what failed for good: what they print, and what they refuse before they ask the database.
#include "cli/failed.h"

#include <nlohmann/json.hpp>

#include "api/dead_json.h"
#include "api/failed_json.h"
#include "api/query.h"
#include "base/printing.h"
#include "cli/columns.h"
#include "cli/database_command.h"
#include "cli/dead.h"
#include "cli/given.h"
#include "cli/json_output.h"
#include "cli/progress_line.h"

namespace waybill {
namespace {

// What acting on failed deliveries begins with.
struct FailedSession {
  OrgId org;
  FailedStore& store;
  PublicIds ids;  // as the API shows them; numbers are taken as well
};

int with_failed(const GlobalOptions& options, const FailedOptions& wanted, const std::function<int(const FailedSession&)>& act) {
  return on_organisation(options, wanted.org, [&](const Config& config, const Reading& reading) {
    const auto store = make_failed_store(reading.database.address, config.replay_rate);
    return act({reading.org, *store, ids_in_commands(reading.database.address)});
  });
}

Result<FailedFilter> filter_of(const FailedOptions& wanted, const PublicIds& ids) {
  FailedFilter filter;
  for (const auto& [option, field, text] : {std::tuple{"--reference", "reference", &wanted.reference},
                                            {"--target", "target", &wanted.target},
                                            {"--kind", "kind", &wanted.kind},
                                            {"--form", "formId", &wanted.form},
                                            {"--pipeline", "pipeline", &wanted.pipeline},
                                            {"--channel", "channel", &wanted.channel},
                                            {"--reason", "reason", &wanted.reason},
                                            {"--status", "status", &wanted.status},
                                            {"--since", "since", &wanted.since},
                                            {"--until", "until", &wanted.until}}) {
    if (text->empty()) continue;
    if (const auto set = set_failed_field(filter, field, *text); !set)
      return fail(Error::Kind::invalid, std::string(option) + ": " + set.error().what);
  }
  for (const auto& text : wanted.ids) {
    const auto id = delivery_id(text, ids);
    if (!id) return fail(Error::Kind::invalid, "\"" + text + "\" is not the id of a failed delivery");
    filter.ids.push_back(*id);
  }
  return filter;
}

std::string last_words(const FailedDelivery& one) {
  if (!one.tried) return "never tried";
  return one.error.empty() ? one.outcome : one.error;
}

void print_failed(const FailedPage& page) {
  std::vector<Line> lines{{"ID", "ENDED", "KIND", "TARGET", "REFERENCE", "STATUS", "TRIES", "LAST ERROR"}};
  for (const auto& one : page.items)
    lines.push_back({std::to_string(one.id.value), format_rfc3339(one.ended), one.kind, one.target, one.reference,
                     one.status + " (" + one.reason + ")" + (one.is_sent_again ? ", sent again" : ""),
                     std::to_string(one.attempts), last_words(one)});
  if (page.items.empty())
    print_line("nothing has failed");
  else
    print_columns(lines);
  if (page.next) print_line("there are more: give a larger --limit, or --until " + format_rfc3339(page.next->at));
}

}  // namespace

Result<Replays> resend_all(FailedStore& store, OrgId org, ResendOrder order, const std::function<void()>& progress) {
  Replays all;
  do {
    progress();
    auto done = store.resend(org, order);
    TRY(done);
    all.count += done->count;
    for (auto& item : done->items) {
      if (item.refused.empty() || all.items.size() < kMaxReplays)
        all.items.push_back(std::move(item));
      else
        all.more = true;
    }
    if (!order.filter.until) order.filter.until = done->asked;  // what fails while this goes on is left to the next time
    order.after = done->next;
  } while (order.after && all.count < kMaxReplays);
  all.more = all.more || order.after.has_value();
  return all;
}

int list_failed(const GlobalOptions& options, const FailedOptions& wanted) {
  return with_failed(options, wanted, [&](const FailedSession& session) {
    const auto filter = filter_of(wanted, session.ids);
    if (!filter) return failed(filter.error().what);
    FailedPage all;
    do {  // a page looks at so many deliveries, however few fit
      auto page = session.store.list(session.org, *filter, wanted.limit - all.items.size(), all.next);
      if (!page) return failed(page.error().what);
      all.next = page->next;
      for (auto& one : page->items) all.items.push_back(std::move(one));
    } while (all.next && all.items.size() < wanted.limit);
    if (options.json)
      print_json(our_json(failed_page_json(all)));
    else
      print_failed(all);
    return 0;
  });
}

int resend_failed(const GlobalOptions& options, const FailedOptions& wanted) {
  return with_failed(options, wanted, [&](const FailedSession& session) {
    auto filter = filter_of(wanted, session.ids);
    if (!filter) return failed(filter.error().what);
    if (!filter->any())
      return failed("say which failed deliveries: ids, or at least one of the filters of `waybill failed list`");
    ProgressLine progress(wanted.dry_run ? "looking for failed deliveries" : "sending failed deliveries again");
    const auto done = resend_all(session.store, session.org,
                                 {.filter = std::move(*filter),
                                  .actor = actor_of(wanted.actor),
                                  .dry_run = wanted.dry_run,
                                  .include_rejected = wanted.include_rejected,
                                  .include_maybe_sent = wanted.include_maybe_sent,
                                  .rate = wanted.rate},
                                 [&] { progress.show(); });
    progress.clear();
    if (!done) return failed(done.error().what);
    if (options.json)
      print_json(our_json(replays_json(*done, wanted.dry_run)));
    else
      print_replays(*done, wanted.dry_run);
    return done->count == done->items.size() ? 0 : 1;
  });
}

}  // namespace waybill

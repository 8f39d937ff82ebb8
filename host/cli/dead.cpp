// The commands on dead letters: what they print, and what they refuse before they ask the database.
#include "cli/dead.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "api/dead_json.h"
#include "api/json_envelope.h"
#include "api/query.h"
#include "base/json_document.h"
#include "base/json_writer.h"
#include "base/printing.h"
#include "cli/columns.h"
#include "cli/database_command.h"
#include "cli/given.h"
#include "cli/json_output.h"
#include "cli/progress_line.h"
#include "dead_letters/dead_letter_service.h"

namespace waybill {
namespace {

// What acting on letters begins with.
struct Service {
  const Config& config;
  OrgId org;
  DeadStore& store;
  std::string actor;
  PublicIds ids;  // as the API shows them
};

int with_service(const GlobalOptions& options, const DeadOptions& dead, const std::function<int(const Service&)>& act) {
  return on_organisation(options, dead.org, [&](const Config& config, const Reading& reading) {
    const auto& address = reading.database.address;
    const auto store = make_dead_store(address, reading.shards, config.replay_rate);
    return act({config, reading.org, *store, actor_of(dead.actor), ids_in_commands(address)});
  });
}

// A number, or what the API shows in its place.
Result<DeliveryId> read_id(const std::string& text, const PublicIds& ids) {
  if (const auto id = delivery_id(text, ids)) return *id;
  return fail(Error::Kind::invalid, "\"" + text + "\" is not the id of a dead letter");
}

Result<DeadFilter> filter_of(const DeadOptions& dead, const PublicIds& ids) {
  DeadFilter filter{.reference = dead.reference, .form_id = dead.form, .reason = dead.reason, .replayed = dead.replayed};
  for (const auto& [name, text, into] :
       {std::tuple{"--before", &dead.before, &filter.before}, {"--after", &dead.after, &filter.after}}) {
    if (text->empty()) continue;
    *into = parse_rfc3339(*text);
    if (!*into)
      return fail(Error::Kind::invalid, std::string(name) + ": \"" + *text + "\" is no time such as 2026-12-31T00:00:00Z");
  }
  for (const auto& text : dead.ids) {
    const auto id = read_id(text, ids);
    TRY(id);
    filter.ids.push_back(*id);
  }
  return filter;
}

std::string action_of(const DeadLetter& letter) { return std::to_string(letter.action_order) + " " + letter.action_type; }
std::string id_text(DeliveryId id) { return std::to_string(id.value); }

std::string marks_of(const DeadLetter& letter) {
  std::string marks;
  if (letter.fields_edited || letter.destination_edited) marks = "edited";
  if (letter.replayed) marks += (marks.empty() ? "replayed by " : ", replayed by ") + letter.replayed_by;
  return marks;
}

void print_view(const DeadLetterView& view) {
  const DeadLetter& letter = view.letter;
  const auto json = our_json(dead_letter_json(view));
  print_line("dead letter " + id_text(letter.id) + ": " + letter.reason);
  print_columns({{"  " + letter.kind, letter.target},
                 {"  reference", letter.reference + " (" + view.state + ")"},
                 {"  action", action_of(letter)},
                 {"  died", format_rfc3339(letter.died)},
                 {"  destination", dump(json["destination"])},
                 {letter.kind == "form" ? "  fields" : "  payload", dump(json[letter.kind == "form" ? "fields" : "payload"])}});
  if (letter.replayed)
    print_line("  replayed by " + letter.replayed_by + " at " + format_rfc3339(*letter.replayed) + " as " +
               id_text(letter.replay));
  for (const auto& a : view.attempts)
    print_text("  attempt %u  %s  %s %s%s%s\n", a.number, format_rfc3339(a.started).c_str(), a.outcome.c_str(), a.reason.c_str(),
               a.reason.empty() || a.error.empty() ? "" : ": ", a.error.c_str());
  for (const auto& edit : json["edits"])
    print_line("  edit " + edit["editId"].get<std::string>() + "  " + edit["editedAt"].get<std::string>() + "  " +
               edit["actor"].get<std::string>() + "  " + edit["field"].get<std::string>() + ": " + dump(edit["before"]) + " -> " +
               dump(edit["after"]));
}

int print_letter(const GlobalOptions& options, const Service& service, DeliveryId id) {
  const auto view = service.store.show(service.org, id);
  if (!view) return failed(view.error().what);
  if (!*view) return failed(no_such_letter(id));
  if (options.json)
    print_json(our_json(dead_letter_json(**view)));
  else
    print_view(**view);
  return 0;
}

// Of the commands on one letter.
int with_letter(const GlobalOptions& options, const DeadOptions& dead,
                const std::function<int(const Service&, DeliveryId)>& act) {
  return with_service(options, dead, [&](const Service& service) {
    const auto id = read_id(dead.id, service.ids);
    return id ? act(service, *id) : failed(id.error().what);
  });
}

}  // namespace

void print_replays(const Replays& replays, bool dry_run) {
  std::vector<Line> lines{{"ID", "REFERENCE", "ACTION", dry_run ? "WOULD BE" : "IS"}};
  for (const auto& item : replays.items) {
    const bool known = !item.letter.reference.empty();
    lines.push_back({id_text(item.letter.id), known ? item.letter.reference : "-", known ? action_of(item.letter) : "-",
                     !item.refused.empty() ? "refused: " + item.refused
                     : dry_run             ? "replayed"
                                           : "replayed as " + id_text(item.replay) + ", due " + format_rfc3339(item.due)});
  }
  if (!replays.items.empty()) print_columns(lines);
  print_text("%zu of %zu %s\n", replays.count, replays.items.size(),
             dry_run ? "would be replayed; nothing was changed" : "replayed");
  if (replays.more) print_line("more letters match than one call takes: run it again for the rest");
}

int list_dead(const GlobalOptions& options, const DeadOptions& dead) {
  return with_service(options, dead, [&](const Service& service) {
    const auto filter = filter_of(dead, service.ids);
    if (!filter) return failed(filter.error().what);
    auto page = service.store.list(service.org, *filter, dead.limit, {});
    while (page && page->next && page->letters.size() < dead.limit) {  // a page looks at so many letters, however few fit
      auto more = service.store.list(service.org, *filter, dead.limit - page->letters.size(), page->next);
      if (!more) return failed(more.error().what);
      page->next = more->next;
      std::move(more->letters.begin(), more->letters.end(), std::back_inserter(page->letters));
    }
    if (!page) return failed(page.error().what);
    if (options.json) {
      print_json(our_json(dead_page_json(*page)));
      return 0;
    }
    std::vector<Line> lines{{"ID", "DIED", "FORM", "REFERENCE", "ACTION", "REASON", ""}};
    for (const auto& letter : page->letters)
      lines.push_back({id_text(letter.id), format_rfc3339(letter.died), letter.target, letter.reference, action_of(letter),
                       letter.reason, marks_of(letter)});
    if (page->letters.empty())
      print_line("no dead letters");
    else
      print_columns(lines);
    if (page->next) print_line("there are more: give a larger --limit, or --before " + format_rfc3339(page->next->at));
    return 0;
  });
}

int show_dead(const GlobalOptions& options, const DeadOptions& dead) {
  return with_letter(options, dead, [&](const Service& service, DeliveryId id) { return print_letter(options, service, id); });
}

int edit_dead(const GlobalOptions& options, const DeadOptions& dead) {
  DeadLetterEdit edit;
  if (!dead.fields.empty()) {
    auto text = read_whole(dead.fields);
    if (!text) return failed("--fields: " + text.error().what);
    if (const auto read = parse_json(*text, dead.fields == "-" ? "standard input" : dead.fields); !read)
      return failed("--fields: " + to_string(read.error().front()));
    edit.fields = std::move(*text);
  }
  if (!dead.destination.empty()) edit.destination = dead.destination;
  if (const auto fault = edit_fault(edit); !fault.empty()) return failed(fault);
  return with_letter(options, dead, [&](const Service& service, DeliveryId id) {
    const auto catalogue = Catalogue::load(service.config.plugin_folders(), service.config.senders, service.config.isolations);
    const auto edited = edit_letter(service.store, *catalogue, {service.org, id, service.actor}, edit);
    return edited ? print_letter(options, service, id) : failed(edited.error().what);
  });
}

int replay_dead(const GlobalOptions& options, const DeadOptions& dead) {
  const bool is_filtered = !dead.ids.empty() || !dead.reference.empty() || !dead.form.empty() || !dead.reason.empty() ||
                           !dead.before.empty() || !dead.after.empty();
  if (!is_filtered && !dead.all)
    return failed("say which letters: an id, --reference, --form, --reason, --before, --after, or --all");
  if (is_filtered && dead.all) return failed("--all means every letter: give no filter beside it");
  return with_service(options, dead, [&](const Service& service) {
    const auto filter = filter_of(dead, service.ids);
    if (!filter) return failed(filter.error().what);
    ProgressLine progress(dead.dry_run ? "looking for dead letters" : "replaying dead letters");
    progress.show();
    const auto replays = service.store.replay(service.org, *filter, service.actor, dead.dry_run);
    progress.clear();
    if (!replays) return failed(replays.error().what);
    if (options.json)
      print_json(our_json(replays_json(*replays, dead.dry_run)));
    else
      print_replays(*replays, dead.dry_run);
    return replays->count == replays->items.size() ? 0 : 1;
  });
}

int clone_dead(const GlobalOptions& options, const DeadOptions& dead) {
  if (const auto fault = reference_fault("the new reference", dead.new_reference); !fault.empty()) return failed(fault);
  return with_letter(options, dead, [&](const Service& service, DeliveryId id) {
    const LoadedInstallation contents = load_installation(service.config, MissingPluginPolicy::tolerate);
    if (!contents.registry) {
      print(contents.problems);
      return failed("the registry cannot be read");
    }
    const auto cloned = clone_letter(service.store, *contents.registry, *contents.catalogue, {service.org, id, service.actor},
                                     dead.new_reference);
    if (!cloned) return failed(cloned.error().what);
    if (options.json)
      print_json(our_json(cloned_json(*cloned)));
    else
      print_line(cloned->reference + ": " + cloned->state);
    return 0;
  });
}

}  // namespace waybill

// The registry's history is in the database; only a rollback touches the folder.
#include "cli/registry.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "api/json_answer.h"
#include "api/registry_json.h"
#include "app/registry_rollback.h"
#include "base/printing.h"
#include "cli/database_command.h"
#include "cli/json_output.h"
#include "registry/registry_history.h"

namespace waybill {
namespace {

int with_versions(const GlobalOptions& options, const std::function<int(const Config&, RegistryVersionStore&)>& act) {
  return on_database(options, [&](const Config& config, const DatabaseAddress& address) {
    return act(config, *make_registry_version_store(address));
  });
}

Result<RegistryEvent> newest(RegistryVersionStore& store) {
  auto events = store.events(0, 1);
  TRY(events);
  if (events->items.empty()) return fail(Error::Kind::not_found, "no host has noted a registry yet: it does so when it starts");
  return std::move(events->items.front());
}

// 0: the one that came into force last.
Result<RegistryVersion> version_of(RegistryVersionStore& store, int version) {
  if (version != 0) return store.find(version);
  const auto event = newest(store);
  TRY(event);
  return store.find(event->version);
}

void print(const RegistryEvent& event) {
  const auto& [added, changed, removed] = event.targets;
  const auto by = event.by.trigger == "start" ? "start of " + event.by.host : event.by.actor + ", " + event.by.trigger;
  print_text(Ink::bold, "version %d", event.version);
  print_line("  " + event.digest + "  " + format_rfc3339(event.at) + "  " + by + "  targets: " + std::to_string(added) +
             " added, " + std::to_string(changed) + " changed, " + std::to_string(removed) + " removed");
}

void print_lines(const char* mark, const std::optional<std::string>& text) {
  if (!text) return;
  for (std::size_t at = 0; at < text->size();) {
    const auto end = std::min(text->find('\n', at), text->size());
    print_line(mark + text->substr(at, end - at));
    at = end + 1;
  }
}

void print(const std::vector<RegistryDifference>& all) {
  for (const auto& one : all) {
    const auto of_target = one.target.empty() ? "" : ": target " + one.target;
    print_text(Ink::bold, "%s", (one.file + of_target + (one.field.empty() ? "" : ": " + one.field)).c_str());
    print_line(one.before ? one.after ? "" : " (removed)" : " (added)");
    print_lines("  - ", one.before);
    print_lines("  + ", one.after);
  }
  if (all.empty()) print_line("nothing differs");
}

// Why the files must not be overwritten; "" if they are those in force.
std::string edited(RegistryVersionStore& store, const RegistryFiles& files, const Config& config) {
  const auto event = newest(store);
  if (!event) return event.error().what;
  if (digest_of(files) == event->digest) return {};
  return "the files in " + config.registry.string() + " are not those of version " + std::to_string(event->version) +
         ", which came into force last: somebody has edited them";
}

// What a rollback has come to.
struct Rollback {
  int version;
  std::vector<RegistryDifference> differences;
  std::string backup;  // "": nothing was written
};

void print(const GlobalOptions& options, const RegistryOptions& wanted, const Rollback& done) {
  if (options.json)
    return print_json({{"version", done.version},
                       {"dryRun", wanted.dry_run},
                       {"differences", differences_json(done.differences)},
                       {"backup", text_or_null(done.backup)}});
  print(done.differences);
  if (done.differences.empty()) return print_line("the files are those of version " + std::to_string(done.version) + " already");
  if (done.backup.empty()) return print_line("it is good; nothing was written (--dry-run)");
  print_line("the files are those of version " + std::to_string(done.version) + " now; those of before are in " + done.backup);
  print_line("now `waybill reload`; on other machines put the same files in place, and reload there too");
}

Result<std::string> put_in_place(const Config& config, const RegistryVersion& version, bool dry_run) {
  auto staged = StagedRegistry::make(config.registry, version.files);
  TRY(staged);
  auto tried = config;
  tried.registry = staged->path();
  if (const auto harm = harm_of(tried); !harm.empty()) return fail(Error::Kind::invalid, harm);
  const auto installation = load_installation(tried);
  if (!installation.problems.empty()) {
    print(installation.problems);
    return fail(Error::Kind::invalid,
                "version " + std::to_string(version.version) + " does not pass `waybill check` any more; nothing was written");
  }
  if (dry_run) return std::string();
  const auto backup = staged->put_in_place();
  TRY(backup);
  return backup->string();
}

}  // namespace

int log_registry(const GlobalOptions& options, const RegistryOptions& wanted) {
  return with_versions(options, [&](const Config&, RegistryVersionStore& store) {
    const auto page = store.events(0, wanted.limit);
    if (!page) return failed(page.error().what);
    if (options.json) {
      print_json(events_json(*page));
      return 0;
    }
    for (const auto& event : page->items) print(event);
    if (page->items.empty()) print_line("no host has noted a registry yet");
    if (page->next != 0) print_line("there are more: see --limit");
    return 0;
  });
}

int show_registry(const GlobalOptions& options, const RegistryOptions& wanted) {
  return with_versions(options, [&](const Config&, RegistryVersionStore& store) {
    auto version = version_of(store, wanted.version);
    if (!version) return failed(version.error().what);
    if (!wanted.file.empty()) std::erase_if(version->files, [&](const auto& file) { return file.first != wanted.file; });
    if (version->files.empty()) return failed("version " + std::to_string(version->version) + " has no file " + wanted.file);
    if (options.json) {
      print_json(version_json(*version));
    } else if (!wanted.file.empty()) {
      print_text("%s", version->files.begin()->second.c_str());
    } else {
      print_line("version " + std::to_string(version->version) + "  " + version->digest + "  first in force " +
                 format_rfc3339(version->at));
      for (const auto& [path, content] : version->files)
        print_line("  " + path + "  " + std::to_string(content.size()) + " bytes");
    }
    return 0;
  });
}

int diff_registry(const GlobalOptions& options, const RegistryOptions& wanted) {
  return with_versions(options, [&](const Config&, RegistryVersionStore& store) {
    const auto before = version_of(store, wanted.version), after = version_of(store, wanted.other);
    if (!before || !after) return failed(before ? after.error().what : before.error().what);
    const auto all = differences(before->files, after->files);
    if (options.json)
      print_json({{"from", before->version}, {"to", after->version}, {"differences", differences_json(all)}});
    else
      print(all);
    return 0;
  });
}

int roll_registry_back(const GlobalOptions& options, const RegistryOptions& wanted) {
  return with_versions(options, [&](const Config& config, RegistryVersionStore& store) {
    const auto version = store.find(wanted.version);
    if (!version) return failed(version.error().what);
    const auto files = read_registry_files(config.registry);
    if (!files) return failed(files.error());
    Rollback done{.version = version->version, .differences = differences(*files, version->files), .backup = {}};
    if (done.differences.empty()) {
      print(options, wanted, done);
      return 0;
    }
    if (const auto why = edited(store, *files, config); !why.empty() && !wanted.force && !wanted.dry_run)
      return failed(why + "; `waybill reload` puts them in force first, --force overwrites them (a copy is kept)");
    const auto backup = put_in_place(config, *version, wanted.dry_run);
    if (!backup) return failed(backup.error().what);
    done.backup = *backup;
    print(options, wanted, done);
    return 0;
  });
}

}  // namespace waybill

// Lists what is archived, and shows one with everything that is known of it.
#include "cli/archive.h"

#include <nlohmann/json.hpp>

#include "base/printing.h"
#include "cli/database_command.h"
#include "cli/json_output.h"

namespace waybill {

int list_archive(const GlobalOptions& options, const ArchiveOptions& archive) {
  return on_organisation(options, archive.org, [&](const Config&, const Reading& reading) {
    const auto found = make_archive_store(reading.database.address)
                           ->list(reading.org,
                                  {.pipeline = archive.pipeline,
                                   .state = archive.state,
                                   .reference = archive.reference,
                                   .submission = archive.submission},
                                  archive.limit);
    if (!found) return failed(found.error().what);
    Json list = Json::array();
    for (const auto& one : *found) {
      if (!options.json) {
        print_text("%-28s %-20s %-20s %-20s %s\n", format_rfc3339(one.archived).c_str(), one.pipeline.c_str(), one.state.c_str(),
                   one.reference.c_str(), one.submission.c_str());
        continue;
      }
      Json json{{"submissionId", one.submission},
                {"pipeline", one.pipeline},
                {"state", one.state},
                {"reference", nullptr},
                {"createdAt", format_rfc3339(one.created)},
                {"blockedAt", nullptr},
                {"endedAt", nullptr},
                {"archivedAt", format_rfc3339(one.archived)}};
      if (!one.reference.empty()) json["reference"] = one.reference;
      if (one.blocked) json["blockedAt"] = format_rfc3339(*one.blocked);
      if (one.ended) json["endedAt"] = format_rfc3339(*one.ended);
      list.push_back(std::move(json));
    }
    if (options.json) print_json({{"submissions", list}});
    return 0;
  });
}

int show_archived(const GlobalOptions& options, const ArchiveOptions& archive) {
  return on_organisation(options, archive.org, [&](const Config&, const Reading& reading) {
    const auto records = make_archive_store(reading.database.address)->records(reading.org, archive.submission);
    if (!records) return failed(records.error().what);
    if (records->empty())
      return failed("organisation \"" + archive.org + "\" has no archived submission \"" + archive.submission + "\"");
    Json all = Json::array();
    for (const auto& record : *records) all.push_back(our_json(record));
    print_json(options.json ? Json{{"submissions", all}} : all.size() == 1 ? all.front() : all);
    return 0;
  });
}

}  // namespace waybill

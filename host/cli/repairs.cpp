// The commands that repair blocked submissions of pipelines.
#include "cli/repairs.h"

#include "api/json_envelope.h"
#include "api/pipeline_json.h"
#include "base/json_document.h"
#include "base/printing.h"
#include "cli/database_command.h"
#include "cli/given.h"
#include "cli/json_output.h"

namespace waybill {
namespace {

// The JSON of a file, as it stands there; "": no file was named.
Result<std::string> json_of_file(const char* option, const std::string& name) {
  if (name.empty()) return std::string();
  auto text = read_whole(name);
  if (!text) return fail(Error::Kind::invalid, std::string(option) + ": " + text.error().what);
  if (const auto read = parse_json(*text, name == "-" ? "standard input" : name); !read)
    return fail(Error::Kind::invalid, std::string(option) + ": " + to_string(read.error().front()));
  return text;
}

std::optional<std::string> unless_empty(const std::string& text) { return text.empty() ? std::nullopt : std::optional(text); }

Result<RepairFilter> filter_of(const RepairOptions& repair) {
  RepairFilter filter{.ids = repair.ids,
                      .pipeline = repair.pipeline,
                      .state = unless_empty(repair.from),
                      .reference = unless_empty(repair.reference),
                      .reason = unless_empty(repair.reason)};
  const bool filters = filter.state || filter.reference || filter.reason;
  if (!filter.ids.empty()) {
    if (!repair.pipeline.empty() || repair.all || filter.reference || filter.reason)
      return fail(Error::Kind::invalid, "give ids, or --pipeline with a filter, not both");
    if (filter.ids.size() > kMaxRepairs) return fail(Error::Kind::invalid, "at most " + std::to_string(kMaxRepairs) + " ids");
    return filter;
  }
  if (repair.pipeline.empty() || filters == repair.all)
    return fail(Error::Kind::invalid,
                "say which submissions: their ids, or --pipeline with --from, --reference, --reason, or --all alone");
  return filter;
}

Result<PipelineRepair> order_of(const RepairOptions& repair, PipelineRepair::Kind kind) {
  PipelineRepair order{.kind = kind,
                       .from = repair.from,
                       .state = repair.state,
                       .action = repair.action,
                       .comment = repair.comment,
                       .actor = actor_of(repair.actor),
                       .dry_run = repair.dry_run};
  auto input = json_of_file("--input", repair.input);
  TRY(input);
  order.input = unless_empty(*input);
  if (!order.action.empty() && !order.input)
    return fail(Error::Kind::invalid, "--action says whose input it is: --input is missing");
  auto result = json_of_file("--result", repair.result);
  TRY(result);
  order.result = std::move(*result);
  return order;
}

void print_repairs(const Repairs& repairs, bool dry_run) {
  for (const auto& item : repairs.items)
    print_line(item.client_ref + ": " +
               (!item.refused.empty() ? "refused: " + item.refused : (dry_run ? "would be " : "is ") + item.state));
  print_text("%zu of %zu %s\n", repairs.count, repairs.items.size(),
             dry_run ? "would be repaired; nothing was changed" : "repaired");
  if (repairs.more) print_line("more submissions match than one call takes: run it again for the rest");
}

}  // namespace

int repair_pipelines(const GlobalOptions& options, const RepairOptions& repair, PipelineRepair::Kind kind) {
  const auto filter = filter_of(repair);
  if (!filter) return failed(filter.error().what);
  const auto order = order_of(repair, kind);
  if (!order) return failed(order.error().what);
  return on_organisation(options, repair.org, [&](const Config&, const Reading& reading) {
    const auto repairs = make_pipeline_store(reading.database.address, reading.shards)->repair(reading.org, *filter, *order);
    if (!repairs) return failed(repairs.error().what);
    if (options.json)
      print_text("%s\n", repairs_json(*repairs, order->dry_run).c_str());
    else
      print_repairs(*repairs, order->dry_run);
    return repairs->count == repairs->items.size() ? 0 : 1;
  });
}

}  // namespace waybill

// docs/pipelines-shipped.md is drawn from the pipelines of registry/ and registry/staged-jobs/: this test holds the page against
// them.  P1 P2
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/duration.h"
#include "domain/pipeline_reader.h"

namespace waybill {
namespace {

constexpr const char* kUpdate = "WAYBILL_TEST_UPDATE_DOCS";

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::vector<Pipeline> shipped() {
  std::vector<Pipeline> all;
  for (const auto* folder : {"/registry/pipelines", "/registry/staged-jobs/pipelines"})
    for (const auto& file : std::filesystem::directory_iterator(std::string(WAYBILL_SOURCE_DIR) + folder)) {
      auto pipeline = read_pipeline(text_of(file.path()), file.path().filename().string());
      if (!pipeline)
        ADD_FAILURE() << to_string(pipeline.error().front());
      else
        all.push_back(std::move(*pipeline));
    }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

void write_numbers(std::ostream& text, const Pipeline& p) {
  if (!p.levels.empty()) {
    text << "\n| promise | from | to | target | p95 |\n| --- | --- | --- | --- | --- |\n";
    for (const auto& level : p.levels) {
      std::string to, except;
      for (const auto& state : level.to) to += (to.empty() ? "" : ", ") + state;
      for (const auto& state : level.except) except += (except.empty() ? " (without those that were in " : ", ") + state;
      text << "| " << level.name << " | " << (level.from.empty() ? "the beginning" : level.from) << " | "
           << (to.empty() ? "leaving it" : to) << (except.empty() ? "" : except + ")") << " | " << format_duration(level.target)
           << " | " << format_duration(level.p95) << " |\n";
    }
    text << "\n`GET /v1/stats` shows the share that was within the target, the measured p95, and what is under way now.\n";
  }
  if (p.metrics.empty()) return;
  text << "\n| metric | meaning |\n| --- | --- |\n";
  for (const auto& metric : p.metrics)
    text << "| `" << metric.name << "` | "
         << (metric.kind == PipelineMetric::Kind::duration ? "histogram of the milliseconds spent in "
                                                           : "share of the last day's submissions that came to ")
         << metric.state << " |\n";
}

std::string shipped_pipelines_page() {
  std::ostringstream text;
  text << "# The shipped pipelines\n\n"
          "Generated from `registry/pipelines/` and `registry/staged-jobs/pipelines/`; do not edit. A test compares this page "
          "with the files. With `"
       << kUpdate << "=1` in its\nenvironment it rewrites the page (`" << kUpdate
       << "=1 build/dev/tests/unit_domain`). `waybill pipeline show NAME` draws any pipeline. [pipelines.md](pipelines.md)\n"
          "says how to write one; [state-machine.md](state-machine.md) has Waybill's own.\n";
  for (const auto& p : shipped()) {
    text << "\n## " << p.name << "\n\n" << p.description << ".";
    if (!p.path.empty()) text << " Each `POST " << p.path << "` begins one.";
    text << "\n\n```mermaid\n"
         << diagram_of(p) << "```\n\n| from | to | trigger | by | when |\n| --- | --- | --- | --- | --- |\n";
    for (const auto& move : p.transitions)
      text << "| " << move.from << " | " << move.to << " | " << move.trigger << " | "
           << (move.actor == ActorKind::admin ? "a person, role " + move.role : std::string(to_string(move.actor))) << " | "
           << (move.otherwise          ? "otherwise"
               : move.when.is_always() ? (move.on_failure ? "failed" : "")
                                       : "`" + to_text(move.when) + "`")
           << " |\n";
    write_numbers(text, p);
  }
  return text.str();
}

TEST(ShippedPipelinesPage, SaysWhatTheFilesSay) {  // P1 P2
  const std::string file = WAYBILL_SOURCE_DIR "/docs/pipelines-shipped.md";
  if (const char* update = std::getenv(kUpdate); update != nullptr && std::string_view(update) == "1")
    std::ofstream(file) << shipped_pipelines_page();
  EXPECT_EQ(text_of(file), shipped_pipelines_page())
      << "docs/pipelines-shipped.md does not say what the files say. Run this test with " << kUpdate << "=1 to write it anew.";
}

}  // namespace
}  // namespace waybill

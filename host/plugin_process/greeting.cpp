// Greets a plugin's process.
#include "plugin_process/greeting.h"

#include <future>

#include "base/json_check.h"
#include "base/utf8.h"
#include "base/version.h"
#include "plugin_protocol/plugin_text.h"

namespace waybill::plugin_process {
namespace {

// With how the process ended, if that is why.
Error told(Error error, Process& process) {
  constexpr Millis kSoon{2000};
  if (error.kind != Error::Kind::unavailable || !process.wait_for_end(kSoon)) return error;
  std::string words;
  std::promise<std::string> ended;
  auto told = ended.get_future();
  process.listen({.answer = {}, .line = {}, .ended = [&](const Exit& exit) { ended.set_value(exit.words()); }});
  error.what = "its process " + told.get();
  process.stop_listening();
  return error;
}

template <class Message>
Result<Message> expect(HostStream& stream, Millis within) {
  for (;;) {
    const auto frame = stream.read(within);
    TRY(frame);
    if (frame->kind == static_cast<std::uint32_t>(Kind::log)) continue;
    Message message;
    constexpr auto kWanted = static_cast<std::uint32_t>(Message::kKind);
    const bool is_wanted = frame->kind == kWanted;
    if (!is_wanted || !take_message(frame->body, message))
      return fail(Error::Kind::invalid,
                  "its process does not keep to the protocol: " +
                      (is_wanted ? "its message of kind " + std::to_string(kWanted) + " has not the fields of that kind"
                                 : "it sends kind " + std::to_string(frame->kind) + ", not " + std::to_string(kWanted)) +
                      "\nsee docs/plugin-protocol.md");
    return message;
  }
}

}  // namespace

Problems problems_of(const std::vector<ReportedProblem>& reported) {
  Problems problems;
  for (const auto& problem : reported) {
    if (problems.size() >= kMaxProblems) break;
    problems.push_back({"", 0, dotted_path(clean_text(view_of(problem.path), kMaxMessageBytes)),
                        clean_text(view_of(problem.message), kMaxMessageBytes)});
  }
  return problems;
}

Result<ReadyProcess> start_process(const ProcessSpec& spec, Millis within) {
  auto process = Process::start(spec);
  TRY(process);
  HostStream stream((*process)->stream());
  const auto failed = [&](Error error) { return tl::unexpected(told(std::move(error), **process)); };
  stream.put(Welcome{.version = built_version()});
  const auto sandboxed = expect<Sandboxed>(stream, within);
  if (!sandboxed) return failed(sandboxed.error());
  std::vector<std::string> missing;
  for (const auto& one : sandboxed->missing) missing.push_back(clean_text(view_of(one), kMaxMessageBytes));
  const auto hello = expect<Hello>(stream, within);
  if (!hello) return failed(hello.error());
  if (hello->major != kProtocolMajor)
    return fail(Error::Kind::invalid, "it speaks version " + std::to_string(hello->major) +
                                          " of the protocol; this host speaks " + std::to_string(kProtocolMajor) +
                                          "\nbuild it for this version");
  if (!hello->refusal.empty()) return fail(Error::Kind::invalid, std::string(hello->refusal));
  std::string descriptor(hello->descriptor);
  return ReadyProcess{std::move(*process), std::move(stream), std::move(descriptor), std::move(missing), hello->again != 0};
}

Result<Problems> ask_opinion(ReadyProcess& ready, std::uint32_t what, std::string_view action_type, std::string_view json,
                             Millis within) {
  ready.stream.put(Check{.what = what, .action_type = action_type, .json = json});
  const auto checked = expect<Checked>(ready.stream, within);
  if (!checked) return tl::unexpected(told(checked.error(), *ready.process));
  auto problems = problems_of(checked->problems);
  if (checked->count != 0 && problems.empty()) problems.push_back({"", 0, "", "refused by the plugin, which does not say why"});
  return problems;
}

}  // namespace waybill::plugin_process

// Checks of the file and of what happens while it is loaded.
#include <cxxabi.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>

#include "check.h"
#include "elf_symbols.h"
#include "library.h"
#include "measures.h"

namespace waybill::conformance {
namespace {

constexpr std::chrono::milliseconds kMaxLoadTime{100};
constexpr int kTries = 3;

std::string readable(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  return name ? name.get() : symbol;
}

void symbols(Subject& subject) {
  const auto names = exported_symbols(subject.file);
  if (!names) return subject.findings.found(names.error());
  bool has_entry = false;
  for (const auto& name : *names) {
    constexpr std::string_view kFamily = "wb_plugin_v";
    if (name == kEntry)
      has_entry = true;
    else if (name.compare(0, kFamily.size(), kFamily) == 0)
      subject.findings.found("it exports " + name + ", which is another major version; this host has major " +
                             std::to_string(WB_ABI_MAJOR));
    else
      subject.findings.found("it exports " + readable(name));
  }
  if (!has_entry) subject.findings.found("it does not export wb_plugin_v1");
}

struct LoadTime {
  std::chrono::milliseconds computed, waited;
  std::chrono::milliseconds longer() const { return std::max(computed, waited); }
};

// Loads it in a process forked for that, since a process loads a library once. None if that process failed.
std::optional<LoadTime> time_to_load(const std::filesystem::path& file) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  const auto child = fork();
  if (child == 0) {
    const Stopwatch watch;
    const auto library = load_library(file);
    const LoadTime time{watch.computed(), watch.waited()};
    if (!library || write(ends[1], &time, sizeof time) < 0) _exit(1);
    _exit(0);
  }
  close(ends[1]);
  LoadTime time{};
  const bool whole = child > 0 && read(ends[0], &time, sizeof time) == sizeof time;
  close(ends[0]);
  int status = 0;
  if (child > 0) waitpid(child, &status, 0);
  return whole ? std::optional(time) : std::nullopt;
}

// A machine may be busy with something else for a while: what is slow every time is slow.
void loads(Subject& subject) {
  subject.findings.doing("the library was loaded");
  std::optional<LoadTime> best;
  for (int i = 0; i < kTries && (!best || best->longer() > kMaxLoadTime); ++i) {
    const auto time = time_to_load(subject.file);
    if (!time) break;
    if (!best || time->longer() < best->longer()) best = time;
  }
  if (!best) {
    if (const auto library = load_library(subject.file); !library) subject.findings.found(library.error());
    return;
  }
  const auto slow = [&](const char* how, std::chrono::milliseconds time) {
    if (time > kMaxLoadTime)
      subject.findings.found("loading it " + std::string(how) + " for " + std::to_string(time.count()) + " ms; at most " +
                             std::to_string(kMaxLoadTime.count()) + " are allowed");
  };
  slow("computed", best->computed);
  slow("waited", best->waited);
}

void loads_quietly(Subject& subject) {
  subject.findings.doing("the library was loaded");
  const SideEffects effects;
  const auto library = load_library(subject.file);
  if (!library) return subject.findings.skipped(library.error());
  if (const auto left = effects.left(); !left.empty()) subject.findings.found("loading it " + left);
}

void entry(Subject& subject) {
  const auto function = open_library(subject.file);
  if (!function) return subject.findings.skipped(function.error());
  subject.findings.doing("wb_plugin_v1");
  const auto first = descriptor_of(*function);
  if (!first) return subject.findings.found(first.error());
  for (int i = 0; i < 3; ++i)
    if (const auto again = descriptor_of(*function); !again || *again != *first)
      return subject.findings.found("wb_plugin_v1 returned another pointer when it was called again");
}

constexpr Check kChecks[] = {
    {"symbols", "the library exports wb_plugin_v1 and nothing else",
     "build it with waybill_add_plugin, or link with a version script that has `global: wb_plugin_v1; local: *;`", Needs::file,
     &symbols},
    {"loads", "it loads with everything it needs, within 100 ms",
     "link what it needs into it; keep constructors of global objects small", Needs::file, &loads},
    {"loads_quietly", "loading it starts no thread and leaves nothing open", "begin nothing before the first sender is made",
     Needs::file, &loads_quietly},
    {"entry", "wb_plugin_v1 returns the same descriptor each time, and throws nothing", "return the address of one constant",
     Needs::file, &entry},
};

}  // namespace

std::span<const Check> file_checks() { return kChecks; }

}  // namespace waybill::conformance

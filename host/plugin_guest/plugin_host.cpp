// A plugin's process from its first instruction to the plugin's.
#include "plugin_guest/plugin_host.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/printing.h"
#include "plugin_guest/guest.h"
#include "plugin_guest/sandbox.h"
#include "plugin_protocol/isolation_words.h"
#include "plugin_protocol/messages.h"

namespace waybill::plugin_process {
namespace {

constexpr int kWrongCall = 2;
constexpr int kCannotStart = 126;

struct Wanted {
  std::string plugin;
  pid_t host = 0;
  Isolation isolation;
  std::string folder;
  std::vector<std::string> command;  // runs there; empty: a shared library
};

std::optional<Wanted> read_wanted(const std::vector<std::string>& words) {
  const auto end = std::find(words.begin(), words.end(), "--");
  if (end == words.end() || end - words.begin() < 2) return std::nullopt;
  Wanted wanted{.plugin = words[0], .host = std::atoi(words[1].c_str()), .isolation = {}, .folder = {}, .command = {}};
  if (end + 1 != words.end()) {
    wanted.folder = end[1];
    wanted.command.assign(end + 2, words.end());
    if (wanted.command.empty()) return std::nullopt;
  }
  if (!read_words({words.begin() + 2, end}, wanted.isolation)) return std::nullopt;
  return wanted;
}

bool is_started_by_a_host() {
  int type = 0;
  socklen_t size = sizeof type;
  return getsockopt(kStreamDescriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
         getsockopt(kQuestionDescriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && fcntl(kPageDescriptor, F_GETFD) >= 0;
}

void send_all(const std::string& bytes) {
  for (std::string_view left = bytes; !left.empty();) {
    const auto sent = send(kStreamDescriptor, left.data(), left.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) _exit(EXIT_SUCCESS);  // the host is gone
    if (sent > 0) left.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void begin_anew(const std::vector<std::string>& words) {
  std::vector<std::string> all{"waybill-plugin-host"};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (auto& word : all) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv("/proc/self/exe", arguments.data());
}

[[noreturn]] void become(const std::string& folder, std::vector<std::string> command) {
  std::vector<char*> arguments;
  for (auto& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  if (chdir(folder.c_str()) != 0) {
    print_error("waybill-plugin-host: %s cannot be entered: %s\n", folder.c_str(), std::strerror(errno));
    _exit(kCannotStart);
  }
  execv(arguments[0], arguments.data());
  print_error("waybill-plugin-host: %s cannot be started: %s\n", arguments[0], std::strerror(errno));
  _exit(kCannotStart);
}

[[noreturn]] void serve(const OpenPlugin& open) {
  void* const page = mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, kPageDescriptor, 0);
  if (page == MAP_FAILED) _exit(kCannotStart);
  const auto opened = open("/proc/self/fd/" + std::to_string(kLibraryDescriptor));
  std::string hello;
  put_frame(hello, opened ? Hello{.descriptor = opened->descriptor, .refusal = {}}
                          : Hello{.descriptor = {}, .refusal = opened.error().what});
  send_all(hello);
  if (!opened) _exit(EXIT_SUCCESS);
  Guest guest(*opened->plugin, *static_cast<Page*>(page));
  guest.serve();
}

}  // namespace

int run_plugin_host(const std::vector<std::string>& words, const OpenPlugin& open) {
  auto wanted = read_wanted(words);
  if (!wanted || !is_started_by_a_host()) {
    print_error("waybill-plugin-host: a host starts this program, for a plugin with a process of its own\n");
    return kWrongCall;
  }
  // The host ends it: who ends the host, by Ctrl-C or as a service with all its processes, lets it finish what it has.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_IGN);
  const bool runs_command = !wanted->command.empty();
  const auto missing = enter_sandbox(wanted->isolation, runs_command, [&words] { begin_anew(words); });
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);           // after the sandbox: a change of credentials takes it back
  if (getppid() != wanted->host) return EXIT_SUCCESS;  // it died before that
  Sandboxed sandboxed;
  for (const auto& one : missing) sandboxed.missing.push_back({one.data(), one.size()});
  std::string told;
  put_frame(told, sandboxed);
  send_all(told);
  if (runs_command) become(wanted->folder, std::move(wanted->command));
  serve(open);
}

}  // namespace waybill::plugin_process

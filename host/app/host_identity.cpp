// Names and places.
#include "app/host_identity.h"

#include <unistd.h>

namespace waybill {

namespace {
std::string machine_name() {
  char machine[256] = "";
  gethostname(machine, sizeof machine - 1);
  return machine;
}
}  // namespace

std::string host_name() { return machine_name() + ":" + std::to_string(getpid()); }

std::string quarantine_name() { return host_name() + "/quarantine"; }

std::string lasting_name(const Config& config) { return config.host_name.empty() ? machine_name() : config.host_name; }

sigset_t block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  return signals;
}

BreadcrumbFolder::Place breadcrumb_place(const Config& config) {
  const auto& database = config.database;
  return {.base = config.breadcrumbs,
          .embedded = database.embedded,
          .installation =
              (database.url.empty() ? database.embedded.lexically_normal().string() : database.url) + "\n" + database.schema};
}

std::filesystem::path plugin_file(const Config& config, const Catalogue& catalogue, const std::string& action_type) {
  const auto* plugin = catalogue.plugin_of(action_type);
  return plugin == nullptr ? std::filesystem::path() : config.plugins / plugin->file;
}

}  // namespace waybill

// Asking this machine.
#include "cli/doctor_machine.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <chrono>
#include <set>

#include "app/installation.h"
#include "cli/machine_rules.h"

namespace waybill {
namespace {

using Level = Finding::Level;
namespace fs = std::filesystem;

Timestamp machine_now() {
  return {std::chrono::duration_cast<Micros>(std::chrono::system_clock::now().time_since_epoch()).count()};
}

// What is said of a secret has its own findings.
bool is_of_secrets(const Problem& problem) { return problem.field.starts_with("secrets"); }

Findings judge_installation(const Config& config, const LoadedInstallation& installation) {
  Findings all;
  const auto tell = [&](Level level, const char* what, std::string message, std::string remedy, std::string subject = {}) {
    all.push_back({level, what, std::move(message), std::move(remedy), std::move(subject)});
  };
  for (const auto& problem : installation.problems)
    if (!is_of_secrets(problem))
      tell(Level::problem, "configuration", to_string(problem) + ": a host that starts now refuses it", "`waybill check`",
           problem.field);
  for (const auto& warning : installation.warnings)
    tell(Level::warning, "configuration", to_string(warning), "`waybill check`", warning.field);
  if (all.empty()) tell(Level::ok, "configuration", "configuration and registry are good", "");
  const auto before = all.size();
  for (const auto& plugin : installation.catalogue->refused())
    tell(Level::problem, "plugins", (config.plugins / plugin.file).string() + " is refused: " + plugin.reason, plugin.remedy,
         plugin.file);
  for (const auto& absent : installation.absent)
    tell(Level::problem, "plugins", to_string(absent) + ": its work waits",
         "put the plugin there, then restart or `waybill reload`", absent.field);
  if (all.size() == before)
    tell(Level::ok, "plugins", std::to_string(installation.catalogue->loaded().size()) + " plugin(s), none refused or missing",
         "");
  return all;
}

// Each reference by itself: one that cannot be read hides none of the others.
Findings judge_secrets(const Config& config) {
  Findings all;
  for (const auto& [name, references] : config.secrets)
    for (const auto& reference : references) {
      const bool in_file = reference.kind == SecretReference::Kind::file;
      const auto secret = Secrets::resolve({{name, {reference}}}, config.file.string());
      if (!secret) {
        all.push_back({in_file ? Level::problem : Level::unknown, "secrets",
                       "secret " + name + ": " + secret.error().front().message +
                           (in_file ? "" : ", here; a host may have it in its own environment"),
                       in_file ? "see that the host's user can read it (docs/operations/disaster-recovery.md#lost-secrets)"
                               : "run `waybill doctor` with the host's environment",
                       name});
        continue;
      }
      struct stat found {};
      if (in_file && stat(reference.name.c_str(), &found) == 0 && (found.st_mode & S_IROTH) != 0)
        all.push_back(
            {Level::note, "secrets", "secret " + name + ": everybody on this machine can read " + reference.name, "", name});
    }
  if (all.empty()) all.push_back({Level::ok, "secrets", std::to_string(config.secrets.size()) + " secret(s) can be read", ""});
  return all;
}

void add(std::vector<CertificateFile>& all, const std::string& whose, const TransportRules& rules) {
  if (!rules.client_certificate.empty()) all.push_back({whose + " client_certificate", rules.client_certificate, false});
  if (!rules.ca_file.empty()) all.push_back({whose + " ca_file", rules.ca_file, true});
}

Findings judge_certificates(const Config& config, const Registry* registry) {
  std::vector<CertificateFile> files;
  if (!config.tls.certificate.empty()) files.push_back({"tls.certificate", config.tls.certificate, false});
  if (!config.tls.client_ca.empty()) files.push_back({"tls.client_ca", config.tls.client_ca, true});
  for (const auto& [type, rules] : config.transports) add(files, "senders." + type, rules);
  for (const auto& [name, client] : config.oauth2) add(files, "oauth2." + name, client.transport);
  if (registry != nullptr)
    for (const auto& [target, transport] : registry->transports())
      if (transport.rules) add(files, "target " + target, *transport.rules);
  Findings all;
  for (const auto& file : files) all.push_back(judge_certificate(file, certificate_ends(file.file), machine_now()));
  if (all.empty()) all.push_back({Level::ok, "certificates", "none is configured", ""});
  return all;
}

}  // namespace

InstalledFiles look_at_files(const Config& config) {
  InstalledFiles files;
  if (auto secrets = Secrets::resolve(config.secrets, config.file.string()))
    files.secrets = std::make_shared<const Secrets>(std::move(*secrets));
  const auto take = [&](Findings more) {
    files.findings.insert(files.findings.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  };
  take(judge_secrets(config));
  files.registry_digest = digest_on_disk(config);
  if (auto harm = harm_of(config); !harm.empty()) {
    files.findings.push_back({Level::problem, "plugins", std::move(harm), "`waybill plugin check FILE` finds out which one"});
    take(judge_certificates(config, nullptr));
    return files;
  }
  const auto installation = load_installation(config, MissingPluginPolicy::tolerate);
  take(judge_installation(config, installation));
  take(judge_certificates(config, installation.registry ? &*installation.registry : nullptr));
  return files;
}

Findings look_at_disks(const Config& config, const std::string& data_directory) {
  std::vector<std::pair<fs::path, const char*>> places;
  if (!config.database.embedded.empty() && config.database.url.empty())
    places.emplace_back(config.database.embedded, "the private database");
  else if (!data_directory.empty())
    places.emplace_back(data_directory, "the database");
  if (!config.breadcrumbs.empty()) places.emplace_back(config.breadcrumbs, "breadcrumbs");
  Findings all;
  for (const auto& [folder, holds] : places) {
    struct statvfs found {};
    if (statvfs(folder.c_str(), &found) != 0) continue;
    const auto block = static_cast<std::int64_t>(found.f_frsize);
    all.push_back(judge_disk({.folder = folder,
                              .holds = holds,
                              .free = static_cast<std::int64_t>(found.f_bavail) * block,
                              .size = static_cast<std::int64_t>(found.f_blocks) * block,
                              .files_free = static_cast<std::int64_t>(found.f_favail),
                              .files = static_cast<std::int64_t>(found.f_files)}));
  }
  if (places.empty() || places.front().second == std::string_view("breadcrumbs"))
    all.push_back({Level::note, "disk", "the database's disk is not seen from here: watch it on its own machine", ""});
  return all;
}

std::int64_t machine_memory() {
  const auto pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? std::int64_t{pages} * size : 0;
}

}  // namespace waybill

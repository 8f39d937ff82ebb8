// Writes the demo's files, and starts and ends its host.
#include "demo/installation.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <stdexcept>

#include "support/daemon.h"
#include "support/http_client.h"
#include "support/service_account.h"
#include "support/temp_folder.h"

namespace waybill::testing {

namespace fs = std::filesystem;

fs::path reachable(const fs::path& wanted) {
  if (geteuid() != 0) return wanted;
  for (fs::path parent = wanted; parent != parent.root_path(); parent = parent.parent_path()) {
    struct stat facts {};
    if (stat(parent.c_str(), &facts) == 0 && (facts.st_mode & S_IXOTH) == 0)
      return "/var/tmp/waybill-run-" + std::to_string(std::hash<std::string>{}(wanted.string()));
  }
  return wanted;
}

void write_installation(const fs::path& folder, const fs::path& sample, const DemoServices& services) {
  fs::remove_all(folder / "registry");
  fs::copy(sample, folder / "registry", fs::copy_options::recursive);
  std::string targets = read_file(sample / "targets.json");
  for (const char* address : {"http://localhost:9080", "http://localhost:9081", "http://localhost:9082"})
    for (std::size_t at; (at = targets.find(address)) != std::string::npos;)
      targets.replace(at, std::strlen(address), services.gateway);
  write_file(folder / "registry/targets.json", targets);
  write_file(folder / "links.json", service_account().json());
  fs::permissions(folder / "links.json", fs::perms::owner_read | fs::perms::owner_write);
  write_file(folder / "waybill.yaml",
             "listen: 127.0.0.1:0\nport_file: ./port\nauth: none\ndatabase: { embedded: ./pg }\nregistry: ./registry\nplugins: " +
                 built_plugin("sms").parent_path().string() + "\nsenders:\n  email_template: { relay: \"" + services.relay +
                 "\", from: \"Forms <forms@example.org>\" }\nsecrets:\n  orders: { env: WAYBILL_SECRET_ORDERS }\n" +
                 "  links: { file: ./links.json }\nlinks: { key: links }\nretry: { default: { kind: fixed, delay: 1s }, "
                 "email_raw: { kind: fixed, delay: 1s } }\n");
}

DemoHost::DemoHost(const fs::path& folder) : folder_(folder) {
  fs::remove(folder_ / "port");
  process_ = std::make_unique<Process>(
      Command{.arguments = {waybill_program().string(), "serve", "--config", (folder_ / "waybill.yaml").string()},
              .environment = {{"WAYBILL_SECRET_ORDERS", "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"}},
              .folder = folder_,
              .out = log(),
              .err = log(),
              .signal_if_orphaned = SIGTERM});
  const bool up = eventually([&] {
    port_ = static_cast<std::uint16_t>(std::atoi(read_file(folder_ / "port").c_str()));
    if (port_ == 0) return !process_->running();
    const auto ready = HttpClient(port_).try_request("GET", "/readyz");
    return ready && ready->status == 200;
  });
  if (!up || !process_->running()) throw std::runtime_error("the host did not start; its log:\n" + read_file(log()));
}

bool DemoHost::stop() {
  process_->signal(SIGTERM);
  const auto code = process_->wait();
  if (code != 0) std::cerr << "the host ended with " << (code ? std::to_string(*code) : "nothing") << "; see " << log() << "\n";
  return code == 0;
}

}  // namespace waybill::testing

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
  // The sample's targets, and those of its staged jobs.
  const fs::path staged = sample / "staged-jobs";
  for (const auto& file : fs::directory_iterator(staged / "pipelines")) fs::copy(file, folder / "registry/pipelines");
  for (const auto& file : fs::directory_iterator(folder / "registry/pipelines")) {  // nobody wants to wait for half a minute
    std::string text = read_file(file.path());
    for (std::size_t at; (at = text.find("\"delay\": \"30s\"")) != std::string::npos;) text.replace(at, 14, "\"delay\": \"1s\" ");
    write_file(file.path(), text);
  }
  const auto all_lines = [](const fs::path& file) {
    const std::string text = read_file(file), begin = "\"targets\": [";
    const auto from = text.find(begin) + begin.size();
    return text.substr(from, text.rfind(']') - from);
  };
  std::string targets = "{\"targets\": [" + all_lines(sample / "targets.json") + "," + all_lines(staged / "targets.json") + "]}";
  for (const char* address :
       {"http://localhost:9080", "http://localhost:9081", "http://localhost:9082", "http://localhost:9083",
        "http://localhost:9000", "https://api.notifications.service.gov.uk", "https://email.eu-west-2.amazonaws.com"})
    for (std::size_t at; (at = targets.find(address)) != std::string::npos;)
      targets.replace(at, std::strlen(address), services.gateway);
  write_file(folder / "registry/targets.json", targets);
  write_file(folder / "links.json", service_account().json());
  fs::permissions(folder / "links.json", fs::perms::owner_read | fs::perms::owner_write);
  write_file(folder / "master-key", "the demo's own: anybody may know it\n");
  write_file(
      folder / "waybill.yaml",
      "listen: 127.0.0.1:0\nport_file: ./port\nauth: none\ndatabase: { embedded: ./pg }\nregistry: ./registry\nplugins: " +
          built_plugin("sms").parent_path().string() + "\nsenders:\n  email_template: { relay: \"" + services.relay +
          "\", from: \"Forms <forms@example.org>\" }\n"
          "  govuk_notify: { service_id: 26785a09-ab16-4eb0-8407-a37497a57506, key_secret: notify }\n"
          "  ses: { region: eu-west-2, access_key_secret: aws_id, secret_key_secret: aws_key, "
          "from: \"Forms <forms@example.org>\", to: team@example.org }\nsecrets:\n  orders: { env: WAYBILL_SECRET_ORDERS }\n" +
          "  notify: { env: WAYBILL_SECRET_NOTIFY }\n  aws_id: { env: WAYBILL_SECRET_AWS_ID }\n"
          "  aws_key: { env: WAYBILL_SECRET_AWS_KEY }\n"
          "  links: { file: ./links.json }\n  master: { file: ./master-key }\nlinks: { key: links }\n"
          "notify: { key: master, debounce: 1s }\negress: { allow: [\"127.0.0.1/32\"] }\n"
          "retry: { default: { kind: fixed, delay: 1s }, email_raw: { kind: fixed, delay: 1s }, "
          "webhook: { kind: fixed, delay: 1s } }\n");
}

DemoHost::DemoHost(const fs::path& folder) : folder_(folder) {
  fs::remove(folder_ / "port");
  process_ = std::make_unique<Process>(
      Command{.arguments = {waybill_program().string(), "serve", "--config", (folder_ / "waybill.yaml").string()},
              .environment = {{"WAYBILL_SECRET_ORDERS", "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"},
                              {"WAYBILL_SECRET_NOTIFY", "3d844edf-8d35-48ac-975b-e847b4f122b0"},
                              {"WAYBILL_SECRET_AWS_ID", "AKIDEXAMPLE"},
                              {"WAYBILL_SECRET_AWS_KEY", "an-example-of-a-key"}},
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

// The real waybill program in a folder of its own: configuration, registry, plugins, and the process that serves.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "support/http_client.h"
#include "support/process.h"
#include "support/temp_folder.h"

namespace waybill::testing {

struct HostSetup {
  std::string database_url;                      // of a database that exists, or
  std::string owner_url;                         // database.owner_url; "" for none
  std::filesystem::path embedded;                // a folder for the host's private database
  std::string registry;                          // text of targets.json
  std::map<std::string, std::string> forms;      // file name -> text, of registry/forms
  std::map<std::string, std::string> templates;  // the same of registry/templates
  std::map<std::string, std::string> pipelines;  // the same of registry/pipelines
  std::vector<std::string> plugins{"sms", "push", "webhook"};
  std::string auth = "none";
  std::string listen = "127.0.0.1:0";
  std::string retry = "{kind: fixed, delay: 100ms}";  // of retry.default, short so that tests are; "" for the host's own default
  std::string plugin_isolation = "in_process";        // of plugins that are not Waybill's own; "": nobody says
  std::string breadcrumbs = "./breadcrumbs";          // hosts that shall pass for being on one machine name one folder
  std::string more;  // further YAML: whole top-level keys, each on lines of its own; timeouts as `timeouts: {...}`
};

// Everything that `waybill --config` needs, in a temporary folder. One thread at a time.
class Installation {
 public:
  explicit Installation(const HostSetup& setup);

  const std::filesystem::path& folder() const { return folder_.path(); }
  std::filesystem::path config() const { return folder() / "waybill.yaml"; }
  std::filesystem::path registry_file() const { return folder() / "registry/targets.json"; }
  std::filesystem::path plugin_folder() const { return folder() / "plugins"; }
  void write_registry(const std::string& text) const { write_file(registry_file(), text); }
  void write_form(const std::string& file, const std::string& text) const;
  void write_template(const std::string& file, const std::string& text) const;
  void write_pipeline(const std::string& file, const std::string& text) const;
  void add_plugin(const std::filesystem::path& library) const;  // a copy that only its owner may write
  void remove_plugin(const std::string& name) const;

  // `waybill <arguments...> --config <ours>`, to its end. What it prints with --json must fit its schema.
  CommandResult command(std::vector<std::string> arguments, const std::map<std::string, std::string>& environment = {}) const;

 private:
  TempFolder folder_;
};

// A running host. Killed by its process id at the end; its log is printed when the test has failed. One thread at a time.
class Daemon {
 public:
  enum class Until { ready, accepting };  // accepting: the port is open, though /readyz may say 503
  explicit Daemon(const Installation& installation, Until until = Until::ready);
  ~Daemon();

  std::uint16_t port() const { return port_; }
  HttpClient client() const { return HttpClient(port_); }
  pid_t pid() const { return process_->pid(); }
  bool running() { return process_->running(); }
  void signal(int number) { process_->signal(number); }
  void kill_hard();                // SIGKILL, and gone when this returns
  std::optional<int> terminate();  // SIGTERM; the exit code, none if it did not end
  std::optional<int> wait(std::chrono::milliseconds bound = kBound) { return process_->wait(bound); }
  std::string log() const { return read_file(log_file_); }
  bool wait_for_log(std::string_view text) const;  // until the log holds this text

 private:
  std::filesystem::path log_file_;
  std::unique_ptr<Process> process_;
  std::uint16_t port_ = 0;
};

std::filesystem::path waybill_program();
std::filesystem::path built_plugin(const std::string& name);
std::filesystem::path built_example(const std::string& name);  // of plugin-api/examples

// A target for the registry, and a registry of such targets. `limit` is maxAcceptanceSeconds or maxAttempts.
nlohmann::json target(const std::string& name, const std::string& type, const std::string& url, const std::string& policy,
                      int limit, const std::vector<std::string>& terminal);
std::string registry_of(const std::vector<nlohmann::json>& targets);

}  // namespace waybill::testing

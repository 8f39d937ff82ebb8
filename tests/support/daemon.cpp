// Generated configuration, copied plugins, and the start and end of the host.
#include "support/daemon.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "support/command_schema.h"

namespace waybill::testing {
namespace {

namespace fs = std::filesystem;

fs::path from_environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

constexpr std::size_t kLogShown = 12'000;

}  // namespace

fs::path waybill_program() { return from_environment("WAYBILL_PROGRAM", WAYBILL_TEST_PROGRAM); }

fs::path built_plugin(const std::string& name) {
  return from_environment("WAYBILL_PLUGIN_FOLDER", WAYBILL_TEST_PLUGINS) / (name + ".so");
}

fs::path built_example(const std::string& name) { return fs::path(WAYBILL_TEST_EXAMPLES) / (name + ".so"); }

// Mail has a timing of its own from the start: here it is as fast as the others.
static std::string retry_of(const HostSetup& setup) {
  if (setup.retry.empty()) return {};
  const auto all = setup.retry.substr(0, setup.retry.find('\n'));
  std::string text = "retry:\n";
  for (const std::string name : {"email_raw", "email_template"})
    if (std::find(setup.plugins.begin(), setup.plugins.end(), name) != setup.plugins.end())
      text += "  " + name + ": " + all + "\n";
  return text + "  default: " + setup.retry + "\n";
}

// Whoever tests metrics asks without a token, unless the test says who may.
std::string metrics_of(const HostSetup& setup) {
  const bool is_said = setup.more.starts_with("metrics:") || setup.more.find("\nmetrics:") != std::string::npos;
  return is_said ? "" : "metrics: { access: open }\n";
}

// What a gateway holds back must not time out on a slow machine, unless the test says when. The lease is longer still.
std::string with_long_attempts(const std::string& more) {
  constexpr std::string_view kSection = "\ntimeouts: {";
  std::string text = "\n" + more;
  const auto at = text.find(kSection);
  if (at == std::string::npos) return text + "timeouts: { attempt: 1m, lease: 5m }\n";
  const auto section = text.substr(at, text.find('}', at) - at);
  if (section.find("attempt:") != std::string::npos) return text;
  const auto lease = section.find("lease:") == std::string::npos ? " lease: 5m," : "";
  return text.insert(at + kSection.size(), std::string(" attempt: 1m,") + lease);
}

Installation::Installation(const HostSetup& setup) {
  fs::create_directory(folder() / "registry");
  fs::create_directory(plugin_folder());
  ::chmod(plugin_folder().c_str(), 0755);
  for (const auto& name : setup.plugins) add_plugin(built_plugin(name));
  write_registry(setup.registry);
  for (const auto& [file, text] : setup.forms) write_form(file, text);
  for (const auto& [file, text] : setup.templates) write_template(file, text);
  for (const auto& [file, text] : setup.pipelines) write_pipeline(file, text);
  const auto database =
      setup.embedded.empty() ? "  url: \"" + setup.database_url + "\"\n" : "  embedded: " + setup.embedded.string() + "\n";
  const auto owner = setup.owner_url.empty() ? "" : "  owner_url: \"" + setup.owner_url + "\"\n";
  write_file(config(), "listen: \"" + setup.listen + "\"\nport_file: ./port\nauth: " + setup.auth + "\ndatabase:\n" + database +
                           owner + "registry: ./registry\nplugins: ./plugins\n" +
                           (setup.plugin_isolation.empty() ? "" : "plugin_isolation: " + setup.plugin_isolation + "\n") +
                           "breadcrumbs: " + setup.breadcrumbs + "\nlog: {level: debug, format: json}\n" + metrics_of(setup) +
                           retry_of(setup) + with_long_attempts(setup.more));
}

void Installation::write_form(const std::string& file, const std::string& text) const {
  fs::create_directories(folder() / "registry/forms");
  write_file(folder() / "registry/forms" / file, text);
}

void Installation::write_pipeline(const std::string& file, const std::string& text) const {
  fs::create_directories(folder() / "registry/pipelines");
  write_file(folder() / "registry/pipelines" / file, text);
}

void Installation::write_template(const std::string& file, const std::string& text) const {
  fs::create_directories(folder() / "registry/templates");
  write_file(folder() / "registry/templates" / file, text);
}

void Installation::add_plugin(const fs::path& library) const {
  const auto copy = plugin_folder() / library.filename();
  fs::copy_file(library, copy);
  ::chmod(copy.c_str(), 0755);
}

void Installation::remove_plugin(const std::string& name) const { fs::remove(plugin_folder() / (name + ".so")); }

CommandResult Installation::command(std::vector<std::string> arguments,
                                    const std::map<std::string, std::string>& environment) const {
  arguments.insert(arguments.begin(), waybill_program().string());
  arguments.insert(arguments.end(), {"--config", config().string()});
  const auto result = run({.arguments = arguments, .environment = environment, .folder = folder()});
  arguments.erase(arguments.begin());
  EXPECT_EQ(schema_fault(arguments, result), "") << arguments.front();
  return result;
}

Daemon::Daemon(const Installation& installation, Until until) {
  static std::atomic<int> started{0};
  log_file_ = installation.folder() / ("log-" + std::to_string(++started));
  const auto port_file = installation.folder() / "port";
  fs::remove(port_file);
  process_ = std::make_unique<Process>(
      Command{.arguments = {waybill_program().string(), "serve", "--config", installation.config().string()},
              .folder = installation.folder(),
              .out = log_file_,
              .err = log_file_});
  const auto up = [&] {
    if (!process_->running()) return true;
    if (port_ == 0) port_ = static_cast<std::uint16_t>(std::atoi(read_file(port_file).c_str()));
    if (port_ == 0 || until == Until::accepting) return port_ != 0;
    const auto ready = client().try_request("GET", "/readyz");
    return ready && ready->status == 200;
  };
  if (!eventually(up) || !process_->running()) throw std::runtime_error("the host did not come up:\n" + log());
}

Daemon::~Daemon() {
  const bool failed = ::testing::Test::HasFailure();
  if (failed) {
    const auto text = log();
    std::cerr << "---- log of host " << pid() << (process_->running() ? "" : " (ended)") << "\n"
              << text.substr(text.size() > kLogShown ? text.size() - kLogShown : 0) << "----\n";
  }
}

void Daemon::kill_hard() {
  process_->signal(SIGKILL);
  process_->wait();
}

std::optional<int> Daemon::terminate() {
  process_->signal(SIGTERM);
  return process_->wait();
}

bool Daemon::wait_for_log(std::string_view text) const {
  return eventually([&] { return log().find(text) != std::string::npos; });
}

nlohmann::json target(const std::string& name, const std::string& type, const std::string& url, const std::string& policy,
                      int limit, const std::vector<std::string>& terminal) {
  nlohmann::json made{
      {"submissionTarget", name}, {"gatewayType", type}, {"gatewayUrl", url}, {"policy", policy}, {"terminalOutcomes", terminal}};
  if (policy == "deadline") made["maxAcceptanceSeconds"] = limit;
  if (policy == "max_attempts") made["maxAttempts"] = limit;
  return made;
}

std::string registry_of(const std::vector<nlohmann::json>& targets) {
  return nlohmann::json{{"targets", targets}}.dump(2) + "\n";
}

}  // namespace waybill::testing

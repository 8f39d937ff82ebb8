// A configuration, a registry and a secret in a folder of their own, and the process that serves them.
#include "bench/host.h"

#include <signal.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>

#include "bench/interrupt.h"

namespace waybill::bench {
namespace {

constexpr std::chrono::minutes kStart{5};  // with a registry of 100,000 targets
constexpr std::size_t kLogShown = 4000;
constexpr auto kSecret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";  // no secret: it signs for a receiver on loopback

constexpr auto kForChannels = "notify: { key: master }\negress: { allow: [\"127.0.0.1/32\"] }\n";

std::string variable_of(const std::string& key) {
  std::string name = "WAYBILL_";
  for (const char c : key) name += c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

nlohmann::json target(const std::string& name, const std::string& type, std::uint16_t port) {
  nlohmann::json target{
      {"submissionTarget", name}, {"gatewayType", type}, {"gatewayUrl", "http://127.0.0.1:" + std::to_string(port) + "/hook"},
      {"policy", "max_attempts"}, {"maxAttempts", 5},    {"terminalOutcomes", {"gone"}}};
  if (type == "webhook") target["destination"] = {{"secret", "bench"}};
  return target;
}

std::string registry(const Serving& serving) {
  auto targets = nlohmann::json::array({target(kTarget, serving.type, serving.port)});
  for (std::size_t i = 1; i < serving.targets; ++i)
    targets.push_back(target(kTarget + ("-" + std::to_string(i)), serving.type, serving.port));
  if (serving.newcomer_port != 0) targets.push_back(target(kNewcomer, serving.type, serving.newcomer_port));
  return nlohmann::json{{"targets", std::move(targets)}}.dump(1) + "\n";
}

}  // namespace

const Settings& default_settings() {
  static const Settings settings{{"limits.in_flight", "2048"},      {"limits.per_target", "2048"},  {"limits.per_org", "2048"},
                                 {"limits.per_host_name", "512"},   {"limits.claim_batch", "1000"}, {"log.level", "warn"},
                                 {"plugin_isolation", "in_process"}};
  return settings;
}

Host::Host(const HostProgram& program, const std::string& database_url, const Serving& serving) : program_(program.program) {
  const auto& plugins = serving.type == "webhook" ? program.plugins : program.bench_plugins;
  if (!std::filesystem::exists(program.program))
    throw std::runtime_error("there is no " + program.program.string() + ": build it, or say --program");
  if (!std::filesystem::exists(plugins / (serving.type + ".so")) &&
      !std::filesystem::exists(plugins / (serving.type + ".plugin")))
    throw std::runtime_error("there is no " + serving.type + ".so in " + plugins.string() + ": build it");
  std::filesystem::create_directory(folder_.path() / "registry");
  testing::write_file(folder_.path() / "registry/targets.json", registry(serving));
  testing::write_file(folder_.path() / "secret", kSecret);
  testing::write_file(folder_.path() / "master", kMasterKey);
  testing::write_file(folder_.path() / "waybill.yaml",
                      "listen: 127.0.0.1:0\nport_file: ./port\nauth: none\ndatabase: { url: \"" + database_url +
                          "\" }\nregistry: ./registry\nplugins: \"" + plugins.string() +
                          "\"\nsecrets: { bench: { file: ./secret }, master: { file: ./master } }\n" +
                          (serving.channels ? kForChannels : ""));
  Settings environment;
  for (const auto* settings : {&default_settings(), &serving.settings, &program.settings})
    for (const auto& [key, value] : *settings) environment[variable_of(key)] = value;
  const auto log = folder_.path() / "log";
  process_ = std::make_unique<testing::Process>(
      testing::Command{.arguments = {program.program, "serve", "--config", folder_.path() / "waybill.yaml"},
                       .environment = environment,
                       .folder = folder_.path(),
                       .out = log,
                       .err = log});
  const auto up = [&] {
    if (!process_->running()) return true;
    if (port_ == 0) port_ = static_cast<std::uint16_t>(std::atoi(testing::read_file(folder_.path() / "port").c_str()));
    if (port_ == 0) return false;
    const auto ready = testing::HttpClient(port_).try_request("GET", "/readyz");
    return ready && ready->status == 200;
  };
  const bool in_time = wait_until(up, kStart, std::chrono::milliseconds(20));
  check_running();
  if (!in_time) throw std::runtime_error("the host did not get ready:\n" + log_end());
}

Host::~Host() { stop(); }

std::uint64_t Host::accepted() {
  constexpr std::string_view kCount = R"(submission_intents_total{status="accepted"} )";
  if (!metrics_) metrics_ = std::make_unique<testing::HttpClient>(port_);
  const auto text = metrics_->get("/metrics").body;
  const auto at = text.find(kCount);
  return at == std::string::npos ? 0 : static_cast<std::uint64_t>(std::strtod(text.c_str() + at + kCount.size(), nullptr));
}

void Host::check_running() const {
  if (!process_->running()) throw std::runtime_error("the host has ended by itself:\n" + log_end());
}

std::string Host::make_token(const std::string& org) {
  const auto config = folder_.path() / "waybill.yaml";
  const auto command = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), program_);
    arguments.insert(arguments.end(), {"--config", config});
    const auto made = testing::run({.arguments = std::move(arguments)});
    if (made.exit_code != 0) throw std::runtime_error("no token was made:\n" + made.err);
    return made;
  };
  if (org != "default") command({"org", "create", org});
  const auto made = command({"token", "create", "bench", "--org", org});
  return made.out.substr(0, made.out.find('\n'));
}

void Host::stop() {
  process_->signal(SIGTERM);
  if (!process_->wait(std::chrono::seconds(30))) process_->signal(SIGKILL);
}

std::string Host::log_end() const {
  const auto text = testing::read_file(folder_.path() / "log");
  return text.substr(text.size() > kLogShown ? text.size() - kLogShown : 0);
}

}  // namespace waybill::bench

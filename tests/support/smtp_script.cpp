// The script as a file that is replaced whole and read by the server at each step.
#include "support/smtp_script.h"

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "support/temp_folder.h"

namespace waybill::testing {

using nlohmann::json;

static void to_json(json& to, const SmtpStep& step) {
  static constexpr const char* kCuts[] = {"never", "before", "after"};
  to = {{"say", step.say}, {"held", step.held}, {"cut", kCuts[static_cast<std::size_t>(step.cut)]}};
}

namespace {

Command server_command(const std::string& name, const std::filesystem::path& folder) {
  auto command = python_script(name, folder);
  command.err = folder / "errors";
  return command;
}

}  // namespace

SmtpScript::SmtpScript(std::filesystem::path folder) : folder_(std::move(folder)) { write(); }

void SmtpScript::at(const std::string& moment, std::vector<SmtpStep> steps) {
  moments_[moment] = {.number = ++lists_, .steps = std::move(steps)};
  write();
}

void SmtpScript::release() {
  released_ = true;
  write();
}

std::size_t SmtpScript::count(const std::string& moment) const {
  std::size_t times = 0;
  for (const auto& note : notes()) times += json::parse(note).value("moment", "") == moment ? 1 : 0;
  return times;
}

std::vector<std::string> SmtpScript::notes() const {
  std::vector<std::string> lines;
  auto text = read_file(folder_ / "notes");
  text.erase(text.rfind('\n') + 1);  // what is being written just now
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

void SmtpScript::write() const {
  auto moments = json::object();
  for (const auto& [moment, list] : moments_) moments[moment] = {{"list", list.number}, {"steps", list.steps}};
  write_file(folder_ / "script", json{{"released", released_}, {"moments", moments}}.dump());
}

Command python_script(const std::string& name, const std::filesystem::path& argument) {
  // -EsB: no environment's and no user's modules, and no bytecode beside the sources
  return {.arguments = {"/usr/bin/python3", "-EsB", std::string(WAYBILL_TEST_SCRIPTS) + "/" + name, argument.string()}};
}

PythonServer::PythonServer(const std::string& name, const std::filesystem::path& folder)
    : process_(server_command(name, folder)) {
  eventually([&] {
    port_ = static_cast<std::uint16_t>(std::atoi(read_file(folder / "port").c_str()));
    return port_ != 0 || !process_.running();
  });
  if (port_ == 0) throw std::runtime_error(name + " did not start: " + read_file(folder / "errors"));
}

}  // namespace waybill::testing

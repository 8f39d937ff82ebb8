// `./dev run`: the real host on its private PostgreSQL with the sample registry, and a local gateway that accepts, refuses and
// fails as the story needs. Submits one of each, shows every timeline, and says whether all ended as expected.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>

#include "support/daemon.h"
#include "support/fake_gateway.h"
#include "support/http_client.h"
#include "support/process.h"

namespace {

namespace fs = std::filesystem;
using namespace waybill::testing;

struct Story {
  const char* id;
  const char* target;
  const char* payload;
  const char* expected;  // status
  const char* tale;
  std::vector<Reply> replies;
};

std::vector<Story> stories() {
  return {
      {"demo-sms",
       "sms.realtime",
       R"({"to":"+15550100","message":"Your parcel is here"})",
       "accepted",
       "the gateway takes it at once",
       {Reply::accept()}},
      {"demo-sms-refused",
       "sms.realtime",
       R"({"to":"nobody","message":"Hello"})",
       "rejected",
       "the gateway says invalid_recipient, which the contract calls final",
       {Reply::reject("invalid_recipient")}},
      {"demo-push-retried",
       "push.realtime",
       R"({"token":"device-7","title":"Parcel","body":"It is here"})",
       "accepted",
       "the gateway is down, then talks nonsense, then takes it",
       {Reply::http_error(503), Reply::not_json(), Reply::accept()}},
      {"demo-otp",
       "sms.otp",
       R"({"to":"+15550101","message":"Code 4711"})",
       "exhausted",
       "a one-shot whose gateway fails is never tried again",
       {Reply::http_error(500)}},
      {"demo-webhook",
       "orders.webhook",
       R"({"type":"order.paid","data":{"order":4711}})",
       "accepted",
       "signed by Standard Webhooks",
       {Reply::accept()}},
  };
}

// The sample registry, with the gateway's address in place of the sample's.
std::string registry_with(const fs::path& source, const std::string& gateway) {
  std::string text = read_file(source / "targets.json");
  for (const char* sample : {"http://localhost:9080", "http://localhost:9081", "http://localhost:9082"})
    for (std::size_t at; (at = text.find(sample)) != std::string::npos;) text.replace(at, std::strlen(sample), gateway);
  return text;
}

// Root's PostgreSQL runs as user postgres, who must be able to reach the folder.
fs::path reachable(const fs::path& wanted) {
  if (geteuid() != 0) return wanted;
  for (fs::path parent = wanted; parent != parent.root_path(); parent = parent.parent_path()) {
    struct stat facts {};
    if (stat(parent.c_str(), &facts) == 0 && (facts.st_mode & S_IXOTH) == 0)
      return "/var/tmp/waybill-run-" + std::to_string(std::hash<std::string>{}(wanted.string()));
  }
  return wanted;
}

void write_installation(const fs::path& folder, const fs::path& source, const std::string& gateway) {
  fs::create_directories(folder / "registry");
  write_file(folder / "registry/targets.json", registry_with(source, gateway));
  write_file(folder / "waybill.yaml",
             "listen: 127.0.0.1:0\nport_file: ./port\nauth: none\ndatabase: { embedded: ./pg }\nregistry: ./registry\nplugins: " +
                 built_plugin("sms").parent_path().string() +
                 "\nsecrets: { orders: { env: WAYBILL_SECRET_ORDERS } }\nretry: { default: { kind: fixed, delay: 1s } }\n");
}

double seconds_between(const std::string& from, const std::string& to) {
  const auto parse = [](const std::string& text) {
    tm utc{};
    const char* rest = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &utc);
    return static_cast<double>(timegm(&utc)) + (rest ? std::atof(rest) : 0.0);
  };
  return parse(to) - parse(from);
}

bool show(const Story& story, const nlohmann::json& history) {
  const auto& intent = history.at("intent");
  const std::string status = intent.at("status"), created = intent.at("createdAt");
  const bool good = status == story.expected;
  std::printf("%s %-18s %-15s %s (%s)\n", good ? "ok  " : "BAD ", story.id, story.target, status.c_str(), story.tale);
  for (const auto& attempt : history.at("attempts")) {
    std::string words = attempt.at("outcomeStatus");
    for (const char* field : {"outcomeReason", "error"})
      if (attempt.at(field).is_string()) words += "  " + attempt.at(field).get<std::string>();
    std::printf("       %+8.3f s  attempt %d  %s\n", seconds_between(created, attempt.at("startedAt")),
                attempt.at("attemptNumber").get<int>(), words.c_str());
  }
  if (intent.contains("completedAt"))
    std::printf("       %+8.3f s  %s\n", seconds_between(created, intent.at("completedAt")),
                (status + " " + intent.value("rejectedReason", intent.value("exhaustedReason", ""))).c_str());
  return good;
}

void wait_for_interrupt() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  int caught = 0;
  sigwait(&signals, &caught);
}

int play(const fs::path& folder, const fs::path& source, bool once) {
  FakeGateway gateway;
  const std::string run = std::to_string(getpid());  // every run has ids of its own: the database outlives it
  write_installation(folder, source, gateway.url());
  fs::remove(folder / "port");
  Process host(Command{.arguments = {waybill_program().string(), "serve", "--config", (folder / "waybill.yaml").string()},
                       .environment = {{"WAYBILL_SECRET_ORDERS", "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"}},
                       .folder = folder,
                       .out = folder / "log",
                       .err = folder / "log",
                       .signal_if_orphaned = SIGTERM});
  std::uint16_t port = 0;
  const bool up = eventually([&] {
    port = static_cast<std::uint16_t>(std::atoi(read_file(folder / "port").c_str()));
    if (port == 0) return !host.running();
    const auto ready = HttpClient(port).try_request("GET", "/readyz");
    return ready && ready->status == 200;
  });
  if (!up || !host.running()) {
    std::cerr << "the host did not start; its log:\n" << read_file(folder / "log");
    return 1;
  }
  std::printf("\nhost     http://127.0.0.1:%u   (PostgreSQL in %s)\ngateway  %s\n\n", port, (folder / "pg").c_str(),
              gateway.url().c_str());

  HttpClient client(port);
  bool good = true;
  std::vector<Story> told = stories();
  std::vector<std::string> ids;
  for (const auto& story : told) {
    ids.push_back(std::string(story.id) + "-" + run);
    gateway.script(ids.back(), story.replies);
    const auto answer = client.request(
        "POST", "/v1/intents",
        R"({"intentId":")" + ids.back() + R"(","submissionTarget":")" + story.target + R"(","payload":)" + story.payload + "}",
        {{"Content-Type", "application/json"}});
    if (answer.status != 200) std::cerr << story.id << " was not taken: " << answer.body << "\n";
  }
  for (std::size_t i = 0; i < told.size(); ++i) {
    nlohmann::json history;
    eventually([&] {
      history = client.get("/v1/intents/" + ids[i] + "/history").json();
      return history.contains("intent") && history["intent"]["status"] != "pending";
    });
    good &= history.contains("intent") && show(told[i], history);
  }
  std::printf("\n%s\n", good ? "all ended as expected" : "NOT all ended as expected");
  if (!once) {
    std::printf(
        "still running; try\n  curl -s http://127.0.0.1:%u/v1/intents?waitSeconds=5 -d "
        "'{\"intentId\":\"mine-1\",\"submissionTarget\":\"sms.realtime\","
        "\"payload\":{\"to\":\"+15550100\",\"message\":\"hello\"}}'\n  curl -s http://127.0.0.1:%u/metrics\nlog: %s\nCtrl-C ends "
        "it\n",
        port, port, (folder / "log").c_str());
    std::fflush(stdout);
    wait_for_interrupt();
  }
  host.signal(SIGTERM);
  const auto code = host.wait();
  if (code != 0)
    std::cerr << "the host ended with " << (code ? std::to_string(*code) : "nothing") << "; see " << (folder / "log") << "\n";
  return good && code == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  bool once = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--once") != 0) {
      std::cerr << "usage: ./dev run [--once]\n";
      return 2;
    }
    once = true;
  }
  sigset_t signals;  // for sigwait, in every thread
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  try {
    const fs::path folder = reachable(fs::current_path() / "var/run");
    fs::create_directories(folder);
    return play(folder, fs::current_path() / "registry", once);
  } catch (const std::exception& e) {
    std::cerr << "demo: " << e.what() << "\n";
    return 1;
  }
}

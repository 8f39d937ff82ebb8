// `./dev run`: the real host on its private PostgreSQL with the sample registry, and a local gateway and mail server that do what
// the stories need. Submits one of each, shows every timeline, and says whether all ended as expected.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>

#include "demo/forms.h"
#include "demo/installation.h"
#include "demo/intents.h"
#include "demo/mailbox.h"
#include "demo/notifications.h"
#include "demo/pipelines.h"

namespace {

namespace fs = std::filesystem;
using namespace waybill::testing;

sigset_t interrupts() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

constexpr const char* kToTry = R"(still running; try an intent
  curl -s 'URL/v1/intents?waitSeconds=5' --json '{"intentId":"mine-RUN","submissionTarget":"sms.realtime",
    "payload":{"to":"+15550100","message":"hello"}}'
a form, whose mail shows up here
  curl -s URL/v1/submissions --json '{"submissionId":"form-RUN","formId":"contact","finalize":true,
    "fields":{"name":"Ada","email":"ada@example.net","message":"hello"}}'
  curl -s URL/v1/submissions/form-RUN
one that waits for its attachment's scan
  curl -s URL/v1/submissions --json '{"submissionId":"plan-RUN","formId":"contact","finalize":true,
    "fields":{"name":"Ada","email":"ada@example.net","message":"see the plan"},
    "attachments":[{"attachmentId":"file-RUN","name":"plan.pdf","contentType":"application/pdf","size":1234,
      "objectUri":"gs://example-uploads/plan.pdf"}]}'
  curl -s URL/v1/attachments/file-RUN/scan-result --json '{"clamavStatus":"clean"}'
a skill to be verified
  curl -s URL/v1/pipelines/verification/submissions --json '{"submissionId":"skill-RUN",
    "payload":{"repoUrl":"https://github.com/ada/skills"}}'
  curl -s URL/v1/submissions/skill-RUN
and the numbers
  curl -s URL/v1/stats
  curl -s URL/metrics
)";

std::string with(std::string text, const std::string& word, const std::string& value) {
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += value.size())
    text.replace(at, word.size(), value);
  return text;
}

void say_what_to_try(const DemoHost& host, const std::string& run) {
  std::printf("%slog: %s\nCtrl-C ends it\n", with(with(kToTry, "URL", host.url()), "RUN", run).c_str(), host.log().c_str());
  std::fflush(stdout);
}

// Mail of what is tried by hand is told of as it comes.
void stay_up(Mailbox& mailbox) {
  const sigset_t signals = interrupts();
  const timespec pause{.tv_sec = 0, .tv_nsec = 250'000'000};
  while (sigtimedwait(&signals, nullptr, &pause) < 0)
    if (mailbox.show_new() > 0) std::fflush(stdout);
}

int play(const fs::path& folder, const fs::path& sample, bool once) {
  FakeGateway gateway;
  Mailbox mailbox(folder / "mail");
  const std::string run = std::to_string(getpid());  // every run has ids of its own: the database outlives it
  write_installation(folder, sample, {.gateway = gateway.url(), .relay = mailbox.relay()});
  DemoHost host(folder);
  std::printf("\nhost     %s   (PostgreSQL in %s)\ngateway  %s\nrelay    %s   (mail in %s)\n\n", host.url().c_str(),
              (folder / "pg").c_str(), gateway.url().c_str(), mailbox.relay().c_str(), (folder / "mail").c_str());
  HttpClient client(host.port());
  bool good = show_intents(client, gateway, run);
  good &= show_forms(client, mailbox, run);
  good &= show_notifications(client, gateway, run);
  good &= show_pipelines(client, gateway, run);
  std::printf("\n%s\n", good ? "all ended as expected" : "NOT all ended as expected");
  if (!once) {
    say_what_to_try(host, run);
    stay_up(mailbox);
  }
  return host.stop() && good ? 0 : 1;
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
  const sigset_t signals = interrupts();  // for sigtimedwait, in every thread
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

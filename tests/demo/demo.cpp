// `./dev run`: the real host on its private PostgreSQL with the sample registry, and a local gateway and mail server that do what
// the stories need. Submits one of each, shows every timeline, and says whether all ended as expected.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <iostream>

#include "demo/forms.h"
#include "demo/installation.h"
#include "demo/intents.h"
#include "demo/mailbox.h"

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

void say_what_to_try(const DemoHost& host) {
  const std::string address = host.url();
  const char* url = address.c_str();
  std::printf(
      "still running; try an intent\n"
      "  curl -s '%s/v1/intents?waitSeconds=5' -d '{\"intentId\":\"mine-1\",\"submissionTarget\":\"sms.realtime\","
      "\"payload\":{\"to\":\"+15550100\",\"message\":\"hello\"}}'\n"
      "a form, whose mail shows up here\n"
      "  curl -s %s/v1/submissions -d '{\"submissionId\":\"mine-2\",\"formId\":\"contact\",\"fields\":{\"name\":\"Ada\","
      "\"email\":\"ada@example.net\",\"message\":\"hello\"},\"finalize\":true}'\n"
      "  curl -s %s/v1/submissions/mine-2\n"
      "one that waits for its attachment's scan\n"
      "  curl -s %s/v1/submissions -d '{\"submissionId\":\"mine-3\",\"formId\":\"contact\",\"fields\":{\"name\":\"Ada\","
      "\"email\":\"ada@example.net\",\"message\":\"see "
      "attached\"},\"finalize\":true,\"attachments\":[{\"attachmentId\":\"file-1\","
      "\"name\":\"plan.pdf\",\"contentType\":\"application/pdf\",\"size\":1234,\"objectUri\":\"gs://example-uploads/"
      "plan.pdf\"}]}'\n"
      "  curl -s %s/v1/attachments/file-1/scan-result -d '{\"clamavStatus\":\"clean\"}'\n"
      "and the numbers\n"
      "  curl -s %s/metrics\n"
      "log: %s\nCtrl-C ends it\n",
      url, url, url, url, url, url, host.log().c_str());
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
  std::printf("\n%s\n", good ? "all ended as expected" : "NOT all ended as expected");
  if (!once) {
    say_what_to_try(host);
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

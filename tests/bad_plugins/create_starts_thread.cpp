// Starts a thread when a sender is made; joins it with the sender.
#include <semaphore.h>

#include <thread>

#include "poster.h"

namespace {
struct Starter : kit::Poster {
  explicit Starter(const wb_host* host) : Poster(host) {
    sem_init(&end, 0, 0);
    thread = std::thread([this] {
      while (sem_wait(&end) != 0) {
      }
    });
  }
  ~Starter() override {
    sem_post(&end);
    thread.join();
    sem_destroy(&end);
  }
  sem_t end;
  std::thread thread;
};
}  // namespace

KIT_PLUGIN(Starter, "create_starts_thread");

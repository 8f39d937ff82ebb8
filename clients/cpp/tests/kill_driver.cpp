// Submits what tests/live_host.py --kill counts, by eight threads that share one client: half of it one by one, half in batches.
// Q8
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "waybill/client.hpp"

namespace {

constexpr int kBatch = 5;

waybill::client::NewIntent intent_of(int number) {
  waybill::client::NewIntent intent;
  intent.submission_target = "hook";
  intent.payload = waybill::client::Json{"{\"number\":" + std::to_string(number) + "}"};
  return intent;
}

void tell(int number, const std::string& id) {
  std::fputs(("acknowledged " + std::to_string(number) + " " + id + "\n").c_str(), stdout);
  std::fflush(stdout);
}

void submit(waybill::client::Client& client, int first, int end) {
  if (first / kBatch % 2 == 0) {
    for (int number = first; number < end; ++number) tell(number, client.submit(intent_of(number)).intent_id);
    return;
  }
  std::vector<waybill::client::NewIntent> batch;
  for (int number = first; number < end; ++number) batch.push_back(intent_of(number));
  for (const auto& outcome : client.submit_batch(batch)) {
    if (!outcome.intent) throw std::runtime_error(outcome.message);
    tell(first++, outcome.id);
  }
}

}  // namespace

int main() {
  waybill::client::Options options;
  options.timeout = std::chrono::minutes(1);
  options.time_limit = std::chrono::minutes(10);
  waybill::client::Client client(std::getenv("WAYBILL_URL"), std::getenv("WAYBILL_TOKEN"), options);
  const int count = std::atoi(std::getenv("WAYBILL_COUNT"));
  std::atomic<int> next{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      for (int first; (first = next.fetch_add(kBatch)) < count;) submit(client, first, std::min(first + kBatch, count));
    });
  for (auto& thread : threads) thread.join();
}

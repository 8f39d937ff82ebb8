// Strangers at the door: what good clients feel of them, and what memory they take.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bench/interrupt.h"
#include "bench/load.h"
#include "bench/measures.h"
#include "bench/progress.h"
#include "bench/usage.h"
#include "support/http_client.h"

namespace waybill::bench {
namespace {

using namespace std::chrono_literals;

// Connections from an address of their own that are opened anew when the host ends them.
class Crowd {
 public:
  // `address`: the last number of 127.0.0.x. Each connection says `first`, and `drip` again and again.
  Crowd(std::uint16_t port, int address, std::size_t count, std::string first, std::string drip, std::chrono::milliseconds pause)
      : port_(port), address_(address), first_(std::move(first)), drip_(std::move(drip)), sockets_(count, -1) {
    for (auto& socket : sockets_) socket = open();
    thread_ = std::jthread([this, pause](std::stop_token stop) {
      while (!stop.stop_requested()) {
        for (auto& socket : sockets_) keep(socket);
        std::this_thread::sleep_for(pause);
      }
    });
  }
  ~Crowd() {
    thread_ = {};
    for (const int socket : sockets_) ::close(socket);
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

 private:
  int open() const {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK + static_cast<unsigned>(address_ - 1));
    sockaddr_in host = own;
    host.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    host.sin_port = htons(port_);
    if (socket < 0 || ::bind(socket, reinterpret_cast<sockaddr*>(&own), sizeof own) != 0 ||
        ::connect(socket, reinterpret_cast<sockaddr*>(&host), sizeof host) != 0)
      throw std::runtime_error("a hostile client could not connect");
    ::fcntl(socket, F_SETFL, O_NONBLOCK);
    ::send(socket, first_.data(), first_.size(), MSG_NOSIGNAL);
    return socket;
  }
  void keep(int& socket) const {
    char waste[4096];
    const auto got = ::recv(socket, waste, sizeof waste, 0);
    const bool has_ended = got == 0 || (got < 0 && errno != EAGAIN);
    if (!has_ended && (drip_.empty() || ::send(socket, drip_.data(), drip_.size(), MSG_NOSIGNAL) >= 0 || errno == EAGAIN)) return;
    ::close(socket);
    socket = open();
  }

  const std::uint16_t port_;
  const int address_;
  const std::string first_, drip_;
  std::vector<int> sockets_;
  std::jthread thread_;
};

testing::HttpResponse ask(testing::HttpClient& client, const std::string& token, const std::string& method,
                          const std::string& path, const std::string& body = {}) {
  return client.request(method, path, body, {{"Content-Type", "application/json"}, {"Authorization", "Bearer " + token}});
}

// A member of another organisation than the good client's, whose connections each post one batch of bad items after the other:
// small items and large ones in turn, 30 KB and almost 1 MB.
class BadBatches {
 public:
  BadBatches(std::uint16_t port, const std::string& token, int connections) {
    const auto small = batch_of("{}"), large = batch_of(R"({"intentId":")" + std::string(80, 'i') + R"("})");
    for (int i = 0; i < connections; ++i)
      threads_.emplace_back([port, token, small, large](std::stop_token stop) {
        testing::HttpClient client(port);
        for (bool is_large = false; !stop.stop_requested(); is_large = !is_large)
          static_cast<void>(ask(client, token, "POST", "/v1/intents:batch", is_large ? large : small));
      });
  }

 private:
  static constexpr std::size_t kItems = 10'000;
  static std::string batch_of(const std::string& item) {
    std::string body = "[" + item;
    for (std::size_t i = 1; i < kItems; ++i) body += "," + item;
    return body + "]";
  }
  std::vector<std::jthread> threads_;
};

std::string head(const std::string& more) { return "POST /v1/intents HTTP/1.1\r\nHost: localhost\r\n" + more + "\r\n"; }

class Door {
 public:
  explicit Door(const Bench& bench)
      : sizes_(bench.sizes),
        database_(bench.postgres.create_database()),
        host_(bench.program, database_.url(), {.type = "noop", .settings = {{"auth", "tokens"}}}),
        token_(host_.make_token()),
        other_token_(host_.make_token("other")) {}

  // ms to the durable answer, p99, of one good client after the other.
  double good_clients(const std::string& name) {
    testing::HttpClient client(host_.port());
    std::vector<double> times;
    for (std::size_t i = 0; i < sizes_.hostile_timed; ++i) {
      check_interrupted();
      const auto body = intent(name + std::to_string(i), sizes_.body_bytes);
      times.push_back(timed([&] { return ask(client, token_, "POST", "/v1/intents", body); }));
    }
    return quantile(std::move(times), 0.99);
  }
  // ms to the answer, p99, of a good client that hands in an intent and looks at it, again and again.
  double good_readers(const std::string& name) {
    testing::HttpClient client(host_.port());
    std::vector<double> times;
    for (std::size_t i = 0; i < sizes_.hostile_timed; i += 2) {
      check_interrupted();
      const auto id = name + std::to_string(i);
      const auto body = intent(id, sizes_.body_bytes);
      times.push_back(timed([&] { return ask(client, token_, "POST", "/v1/intents", body); }));
      times.push_back(timed([&] { return ask(client, token_, "GET", "/v1/intents/" + id); }));
    }
    return quantile(std::move(times), 0.99);
  }
  std::uint16_t port() const { return host_.port(); }
  const std::string& token() const { return token_; }
  const std::string& other_token() const { return other_token_; }  // of another organisation
  double peak_mb() const { return peak_resident_mb(host_.pid()); }
  void check_running() const { host_.check_running(); }

 private:
  template <class Ask>
  double timed(Ask ask) {
    const auto from = std::chrono::steady_clock::now();
    const auto answer = ask();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - from;
    if (answer.status != 200) throw std::runtime_error("a good client was refused: " + answer.body);
    std::this_thread::sleep_for(5ms);
    return took.count();
  }

  const Sizes& sizes_;
  Database database_;
  Host host_;
  std::string token_, other_token_;
};

}  // namespace

void measure_hostile(const Bench& bench) {
  const auto& sizes = bench.sizes;
  Figures p99{.name = "hostile", .unit = "ms to a good client's answer beside strangers, p99", .runs = {}};
  Figures batches{
      .name = "hostile_batches", .unit = "ms to a good client's answer beside another's bad batches, p99", .runs = {}};
  std::vector<double> beside_many;
  Figures memory{.name = "hostile_memory", .unit = "MB resident at most beside strangers", .runs = {}};
  Figures bodies{
      .name = "hostile_bodies", .unit = "MB resident at most, all with a token and a body that does not end", .runs = {}};
  for (int round = 0; round < bench.rounds; ++round) {
    tell_round("hostile", round, bench.rounds);
    Door door(bench);
    const double quiet = door.good_clients("quiet-");
    p99.compare("quiet", "ms p99", quiet);
    batches.compare("quiet", "ms p99", door.good_readers("quiet-reads-"));
    {
      const Crowd slow(door.port(), 2, sizes.hostile_slow, "POST /v1/intents HTTP/1.1\r\nHost: localhost\r\nX: ", "x", 500ms);
      const Crowd strangers(door.port(), 3, sizes.hostile_strangers, head("Content-Length: 1000000\r\n"),
                            std::string(16'384, 'x'), 500ms);
      p99.runs.push_back(door.good_clients("beside-"));
    }
    memory.runs.push_back(door.peak_mb());
    {
      const auto with_token = head("Authorization: Bearer " + door.token() + "\r\nContent-Length: 1000000\r\n");
      const Crowd members(door.port(), 4, sizes.hostile_strangers, with_token, std::string(65'536, 'x'), 50ms);
      static_cast<void>(door.good_clients("members-"));
    }
    bodies.runs.push_back(door.peak_mb());
    {
      const BadBatches member(door.port(), door.other_token(), sizes.hostile_batches);
      batches.runs.push_back(door.good_readers("batches-"));
    }
    {
      const BadBatches member(door.port(), door.other_token(), sizes.hostile_many_batches);
      beside_many.push_back(door.good_readers("many-batches-"));
    }
    door.check_running();
  }
  p99.detail("slow clients", static_cast<double>(sizes.hostile_slow));
  p99.detail("senders of bodies without a token", static_cast<double>(sizes.hostile_strangers));
  batches.detail("connections that send batches", sizes.hostile_batches);
  batches.detail("ms p99 beside " + std::to_string(sizes.hostile_many_batches) + " of them", median(std::move(beside_many)));
  for (auto* figures : {&p99, &batches, &memory, &bodies}) bench.report.add(std::move(*figures));
}

}  // namespace waybill::bench

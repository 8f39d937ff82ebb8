// Asynchronous HTTP for plugins: who may begin, who is carried out, who is told.
#include "services/http_client.h"

#include <deque>
#include <unordered_map>
#include <vector>

#include "services/curl_easy.h"
#include "services/curl_multi.h"
#include "services/http_transfer.h"

namespace waybill {
namespace {

constexpr std::size_t kPooledTransfers = 4096;
constexpr std::size_t kRememberedHosts = 4096;
// For each request curl walks over all connections that its multi handle has to that host, so many requests go to several
// handles. The first ones are filled first: their connections are the ones that are kept in use.
constexpr std::size_t kOpenInMulti = 32;

}  // namespace

struct HttpClient::Engine {
  struct Host {
    std::size_t open = 0;
    std::deque<std::uint64_t> waiting;  // an id that is gone from `requests` is skipped
  };
  struct Open {
    std::unique_ptr<HttpTransfer> transfer;  // null once it is given up
    Done done;
    Host* host = nullptr;
    std::size_t multi = 0;  // which one has the handle
    bool running = false;
    EventLoop::TimerId queue_timer = 0;
  };
  struct EarlyEnd {
    std::uint64_t id;
    HttpResponse response;
  };

  Engine(EventLoop& event_loop, const Clock& time, std::shared_ptr<const Secrets> names, HttpClientSettings limits)
      : loop(event_loop), clock(time), secrets(std::move(names)), settings(std::move(limits)) {}

  ~Engine() {
    loop.cancel(given_up_timer);
    for (auto& [id, open] : requests) {
      loop.cancel(open.queue_timer);
      if (open.running) remove(open);
    }
  }

  struct Multi {
    std::size_t open = 0;
    std::unique_ptr<CurlMulti> curl;
  };

  bool add(Open& request) {
    auto& at = request.multi;
    while (free_multi < multis.size() && multis[free_multi].open >= kOpenInMulti) ++free_multi;
    at = free_multi;
    if (at == multis.size()) {
      const auto kept = at == 0 ? settings.kept_connections : std::min(kOpenInMulti, settings.kept_connections);
      const auto ended_one = [this](void* easy, int code) {
        ended(static_cast<HttpTransfer*>(CurlEasy::owner_of(easy))->id, code);
      };
      multis.push_back({0, std::make_unique<CurlMulti>(loop, kept, ended_one)});
    }
    if (!multis[at].curl->add(request.transfer->easy())) return false;
    ++multis[at].open;
    return true;
  }

  void remove(Open& request) {
    --multis[request.multi].open;
    free_multi = std::min(free_multi, request.multi);
    multis[request.multi].curl->remove(request.transfer->easy());
  }

  void ended(std::uint64_t id, int code) {
    auto node = requests.extract(id);
    auto& open = node.mapped();
    remove(open);
    auto response = open.transfer->finish(code, clock.unix_seconds());
    recycle(std::move(open.transfer));
    leave(*open.host);
    open.done(id, std::move(response));
  }

  // A place is free: the next in line begin.
  void leave(Host& host) {
    --host.open;
    while (!host.waiting.empty() && host.open < settings.per_host_name) {
      const auto id = host.waiting.front();
      host.waiting.pop_front();
      const auto found = requests.find(id);
      if (found != requests.end() && found->second.transfer) begin(id, found->second);
    }
  }

  void begin(std::uint64_t id, Open& open) {
    loop.cancel(std::exchange(open.queue_timer, 0));
    const auto& request = open.transfer->request();
    const auto left = std::chrono::ceil<Millis>(request.deadline - clock.now());
    if (left <= Millis::zero()) return give_up(id, open, NetError::timeout, "no time was left to begin");
    open.transfer->limit_time(request.timeout > Millis::zero() ? std::min(request.timeout, left) : left);
    if (!add(open)) return give_up(id, open, NetError::refused, "the request could not begin");
    ++open.host->open;
    open.running = true;
  }

  // Ends a request before its answer; `done` comes in a later turn of the loop.
  void give_up(std::uint64_t id, Open& open, NetError error, std::string text) {
    HttpResponse response;
    response.error = error;
    response.error_text = std::move(text);
    loop.cancel(std::exchange(open.queue_timer, 0));
    if (open.running) {
      response.reach = open.transfer->reach();
      remove(open);
    }
    recycle(std::move(open.transfer));
    given_up.push_back({id, std::move(response)});
    if (given_up_timer == 0) given_up_timer = loop.after({}, [this] { tell_given_up(); });
    if (std::exchange(open.running, false)) leave(*open.host);
  }

  void tell_given_up() {
    given_up_timer = 0;
    for (auto& [id, response] : std::exchange(given_up, {})) {
      auto node = requests.extract(id);
      node.mapped().done(id, std::move(response));
    }
  }

  void recycle(std::unique_ptr<HttpTransfer> transfer) {
    if (pool.size() >= kPooledTransfers) return;
    transfer->clear();
    pool.push_back(std::move(transfer));
  }

  Host& host_of(const std::string& endpoint) {
    if (hosts.size() >= kRememberedHosts)
      std::erase_if(hosts, [](const auto& entry) { return entry.second.open == 0 && entry.second.waiting.empty(); });
    return hosts[endpoint];
  }

  EventLoop& loop;
  const Clock& clock;
  std::shared_ptr<const Secrets> secrets;
  HttpClientSettings settings;
  std::vector<Multi> multis;
  std::size_t free_multi = 0;  // none before it has room
  EventLoop::TimerId given_up_timer = 0;
  std::uint64_t last_id = 0;
  std::unordered_map<std::uint64_t, Open> requests;
  std::vector<EarlyEnd> given_up;
  std::unordered_map<std::string, Host> hosts;  // nodes do not move
  std::vector<std::unique_ptr<HttpTransfer>> pool;
};

HttpClient::HttpClient(EventLoop& loop, const Clock& clock, std::shared_ptr<const Secrets> secrets, HttpClientSettings settings)
    : engine_(std::make_unique<Engine>(loop, clock, std::move(secrets), std::move(settings))) {}

HttpClient::~HttpClient() = default;

std::size_t HttpClient::open() const { return engine_->requests.size(); }

std::uint64_t HttpClient::fetch(HttpRequest request, Done done) {
  auto& engine = *engine_;
  const auto id = ++engine.last_id;
  std::unique_ptr<HttpTransfer> transfer;
  if (engine.pool.empty()) {
    transfer = std::make_unique<HttpTransfer>(engine.settings.allow, engine.settings.user_agent);
  } else {
    transfer = std::move(engine.pool.back());
    engine.pool.pop_back();
  }
  transfer->id = id;
  const auto prepared = transfer->prepare(std::move(request), *engine.secrets);
  auto& open = engine.requests[id];
  open.transfer = std::move(transfer);
  open.done = std::move(done);
  if (!prepared) {
    engine.give_up(id, open, NetError::refused, prepared.error().what);
    return id;
  }
  auto& host = engine.host_of(open.transfer->endpoint());
  open.host = &host;
  if (host.open < engine.settings.per_host_name && host.waiting.empty()) {
    engine.begin(id, open);
    return id;
  }
  host.waiting.push_back(id);
  open.queue_timer = engine.loop.after(open.transfer->request().deadline - engine.clock.now(), [&engine, id] {
    auto& late = engine.requests.at(id);
    late.queue_timer = 0;
    engine.give_up(id, late, NetError::timeout, "the limit of open requests to this host left no time to begin");
  });
  return id;
}

void HttpClient::cancel(std::uint64_t id) {
  const auto found = engine_->requests.find(id);
  if (found == engine_->requests.end() || !found->second.transfer) return;
  engine_->give_up(id, found->second, NetError::cancelled, "cancelled");
}

}  // namespace waybill

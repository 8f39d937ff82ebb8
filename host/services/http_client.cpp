// Asynchronous HTTP for plugins: who may begin, who is carried out, who is notified.
#include "services/http_client.h"

#include <array>
#include <deque>
#include <unordered_map>
#include <vector>

#include "egress/tenant_url.h"
#include "services/curl_easy.h"
#include "services/curl_multi.h"
#include "services/http_transfer.h"
#include "services/stand_in.h"

namespace waybill {
namespace {

constexpr std::size_t kPooledTransfers = 4096;
constexpr std::size_t kRememberedHosts = 4096;
// For each request curl walks over all connections that its multi handle has to that host, so many requests go to several
// handles. The first ones are filled first: their connections are the ones that are kept in use.
constexpr std::size_t kOpenInMulti = 32;
constexpr std::size_t kMaxOfTenantsToHost = 50;  // open requests of all tenants to one host

}  // namespace

struct HttpClient::Engine {
  struct Host {
    std::size_t most = 0;
    std::size_t open = 0;
    std::deque<std::uint64_t> waiting;  // an id that is gone from `requests` is skipped
  };
  struct Open {
    std::unique_ptr<HttpTransfer> transfer;  // null once it is given up
    Done done;
    Host* host = nullptr;
    std::size_t multi = 0;  // which one of its trust has the handle
    bool running = false;
    EventLoop::TimerId queue_timer = 0;
  };
  struct EarlyEnd {
    std::uint64_t id;
    HttpResponse response;
  };

  Engine(EventLoop& event_loop, const Clock& time, std::shared_ptr<const LiveSecrets> names, HttpClientSettings limits)
      : loop(event_loop),
        clock(time),
        secrets(std::move(names)),
        settings(std::move(limits)),
        guard(loop, settings.egress, settings.resolver) {}

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

  // Connections, and what curl remembers of names, are not shared between the operator's destinations and tenants'.
  struct Multis {
    TlsSessions sessions;
    std::vector<Multi> all;
    std::size_t free = 0;  // none before it has room
  };
  Multis& multis_of(const Open& request) { return multis[static_cast<std::size_t>(request.transfer->request().trust)]; }

  bool add(Open& request) {
    auto& [sessions, all, free] = multis_of(request);
    auto& at = request.multi;
    while (free < all.size() && all[free].open >= kOpenInMulti) ++free;
    at = free;
    if (at == all.size()) {
      const auto kept = at == 0 ? settings.kept_connections : std::min(kOpenInMulti, settings.kept_connections);
      const auto ended_one = [this](void* easy, int code) {
        ended(static_cast<HttpTransfer*>(CurlEasy::owner_of(easy))->id, code);
      };
      all.push_back({0, std::make_unique<CurlMulti>(loop, kept, ended_one, sessions)});
    }
    if (!all[at].curl->add(request.transfer->easy())) return false;
    ++all[at].open;
    return true;
  }

  void remove(Open& request) {
    auto& [sessions, all, free] = multis_of(request);
    --all[request.multi].open;
    free = std::min(free, request.multi);
    all[request.multi].curl->remove(request.transfer->easy());
  }

  void ended(std::uint64_t id, int code) {
    auto node = requests.extract(id);
    auto& open = node.mapped();
    remove(open);
    auto response = open.transfer->finish(code, clock.unix_seconds());
    if (response.retry_after) response.retry_after = std::min(*response.retry_after, settings.max_retry_after);
    recycle(std::move(open.transfer));
    leave(*open.host);
    open.done(id, std::move(response));
  }

  // A place is free: the next in line begin.
  void leave(Host& host) {
    --host.open;
    while (!host.waiting.empty() && host.open < host.most) {
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
  void give_up(std::uint64_t id, Open& open, NetError error, std::string text, std::optional<AddressRefusal> refusal = {}) {
    HttpResponse response;
    response.error = error;
    response.error_text = std::move(text);
    response.refusal = std::move(refusal);
    loop.cancel(std::exchange(open.queue_timer, 0));
    if (open.running) {
      response.reach = open.transfer->reach();
      remove(open);
    }
    recycle(std::move(open.transfer));
    given_up.push_back({id, std::move(response)});
    if (given_up_timer == 0) given_up_timer = loop.after({}, [this] { report_given_up(); });
    if (std::exchange(open.running, false)) leave(*open.host);
  }

  void report_given_up() {
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

  Host& host_of(const std::string& endpoint, Trust trust) {
    auto& hosts = hosts_of_trust[static_cast<std::size_t>(trust)];
    if (hosts.size() >= kRememberedHosts)
      std::erase_if(hosts, [](const auto& entry) { return entry.second.open == 0 && entry.second.waiting.empty(); });
    const auto most = trust == Trust::tenant ? std::min(kMaxOfTenantsToHost, settings.per_host_name) : settings.per_host_name;
    auto& host = hosts[endpoint];
    host.most = most;
    return host;
  }

  // A tenant's request waits until its destination was judged.
  void judge(std::uint64_t id, Open& open) {
    const auto& request = open.transfer->request();
    if (!check_tenant_url(request.url, *settings.egress)) return refuse(id, open, guard.refusal_of(open.transfer->endpoint()));
    await(id, open, request.timeout, "nobody said in time what the host's address is");
    guard.judge(open.transfer->endpoint(), [this, id](AddressGuard::Judgement judgement) {
      const auto found = requests.find(id);
      if (found == requests.end() || !found->second.transfer) return;
      auto& judged = found->second;
      loop.cancel(std::exchange(judged.queue_timer, 0));
      if (judgement.refusal) return refuse(id, judged, std::move(*judgement.refusal));
      if (judgement.addresses.empty())
        return give_up(id, judged, NetError::resolve,
                       judged.transfer->endpoint() + ": nobody could say what the host's address is");
      judged.transfer->connect_only_to(std::move(judgement.addresses));
      enter(id, judged);
    });
  }

  void refuse(std::uint64_t id, Open& open, AddressRefusal refusal) {
    auto text = refusal.endpoint + ": " + std::string(kAddressNotAllowed);
    give_up(id, open, NetError::refused, std::move(text), std::move(refusal));
  }

  // Begins a request, or puts it in line.
  void enter(std::uint64_t id, Open& open) {
    auto& host = host_of(open.transfer->endpoint(), open.transfer->request().trust);
    open.host = &host;
    if (host.open < host.most && host.waiting.empty()) return begin(id, open);
    host.waiting.push_back(id);
    await(id, open, {}, "the limit of open requests to this host left no time to begin");
  }

  // Gives the request up with a timeout when it has waited so long (0: no limit), at its deadline at the latest.
  void await(std::uint64_t id, Open& open, Millis most, const char* why) {
    auto left = open.transfer->request().deadline - clock.now();
    if (most > Millis::zero()) left = std::min<Clock::Monotonic::duration>(left, most);
    open.queue_timer = loop.after(left, [this, id, why] {
      auto& late = requests.at(id);
      late.queue_timer = 0;
      give_up(id, late, NetError::timeout, why);
    });
  }

  EventLoop& loop;
  const Clock& clock;
  std::shared_ptr<const LiveSecrets> secrets;
  const Secrets no_secrets;  // what a tenant's request may name
  HttpClientSettings settings;
  AddressGuard guard;
  std::array<Multis, 2> multis;  // by trust
  EventLoop::TimerId given_up_timer = 0;
  std::uint64_t last_id = 0;
  std::unordered_map<std::uint64_t, Open> requests;
  std::vector<EarlyEnd> given_up;
  std::array<std::unordered_map<std::string, Host>, 2> hosts_of_trust;  // nodes do not move
  std::vector<std::unique_ptr<HttpTransfer>> pool;
};

HttpClient::HttpClient(EventLoop& loop, const Clock& clock, std::shared_ptr<const LiveSecrets> secrets,
                       HttpClientSettings settings)
    : engine_(std::make_unique<Engine>(loop, clock, std::move(secrets), std::move(settings))) {}

HttpClient::~HttpClient() = default;

std::size_t HttpClient::open() const { return engine_->requests.size(); }

std::uint64_t HttpClient::fetch(HttpRequest request, Done done) {
  auto& engine = *engine_;
  const auto id = ++engine.last_id;
  if (const auto& stand_in = engine.settings.stand_in) {
    engine.loop.post([id, done = std::move(done), response = stand_in->http(request)] { done(id, response); });
    return id;
  }
  std::unique_ptr<HttpTransfer> transfer;
  if (engine.pool.empty()) {
    transfer = std::make_unique<HttpTransfer>(*engine.settings.egress, engine.settings.user_agent);
  } else {
    transfer = std::move(engine.pool.back());
    engine.pool.pop_back();
  }
  transfer->id = id;
  const bool tenant = request.trust == Trust::tenant;
  const auto prepared =
      transfer->prepare(std::move(request), tenant ? engine.no_secrets : *engine.secrets->current(), engine.clock.unix_seconds());
  auto& open = engine.requests[id];
  open.transfer = std::move(transfer);
  open.done = std::move(done);
  if (!prepared) {
    engine.give_up(id, open, NetError::refused, prepared.error().what);
    return id;
  }
  if (tenant)
    engine.judge(id, open);
  else
    engine.enter(id, open);
  return id;
}

void HttpClient::cancel(std::uint64_t id) {
  const auto found = engine_->requests.find(id);
  if (found == engine_->requests.end() || !found->second.transfer) return;
  engine_->give_up(id, found->second, NetError::cancelled, "cancelled");
}

}  // namespace waybill

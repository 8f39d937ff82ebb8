// The listening socket, the event loops, and the end of both.
#include "http/server.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <unordered_set>

#include "http/server_connection.h"

namespace waybill::http {
namespace asio = boost::asio;
namespace {

using asio::ip::tcp;
using boost::system::error_code;

constexpr int kBacklog = 4096;
constexpr unsigned kMaxLoops = 8;           // one for each core, up to this
constexpr std::size_t kMaxTurnedAway = 64;  // at one time with an answer; the others are just closed
constexpr Millis kAcceptPause{100};
constexpr Seconds kAcceptLogPause{5};

// One thread, and the connections that live on it.
struct Loop {
  Loop(Millis period_, unsigned number) : period(period_), pulse("http-" + std::to_string(number)) {}
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
  asio::steady_timer ticker{context};
  Millis period;
  Pulse pulse;  // beats with each tick
  std::unordered_set<ServerConnection*> connections;
  std::thread thread;

  void tick() {
    pulse.beat();
    ticker.expires_after(period);
    ticker.async_wait([this](error_code error) {
      if (error) return;
      const auto now = std::chrono::steady_clock::now();
      for (auto* connection : connections) connection->keep_deadline(now);
      tick();
    });
  }
};

Result<tcp::endpoint> resolve(const ListenAddress& listen) {
  error_code error;
  std::string host = listen.host;
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  const auto address = asio::ip::make_address(host, error);
  if (!error) return tcp::endpoint(address, listen.port);
  asio::io_context context;
  const auto found = tcp::resolver(context).resolve(host, std::to_string(listen.port), tcp::resolver::passive, error);
  if (error || found.empty()) return fail(Error::Kind::invalid, "cannot listen on " + listen.host + ": " + error.message());
  return found.begin()->endpoint();
}

class BeastServer final : public Server {
 public:
  BeastServer(const Config& config, std::vector<Route> routes, Authenticate authenticate, Log& log, Metrics& metrics)
      : serving_{.router = Router(std::move(routes)),
                 .authenticate = std::move(authenticate),
                 .limits = config.limits,
                 .timeouts = config.timeouts,
                 .allowed_hosts = config.allowed_hosts,
                 .trusted_proxies = config.trusted_proxies,
                 .log = log,
                 .metrics = metrics,
                 .peers = Peers({.bytes = config.limits.http_bytes_per_address, .bytes_in_all = config.limits.http_bytes})} {
    const auto shortest = std::min({config.timeouts.request_read, config.timeouts.idle, Millis(1'000)});
    const unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1u, kMaxLoops);
    for (unsigned i = 0; i < threads; ++i) loops_.push_back(std::make_unique<Loop>(std::max(shortest / 4, Millis(5)), i));
    acceptor_.emplace(loops_.front()->context);
    accept_pause_.emplace(loops_.front()->context);
  }
  ~BeastServer() override { stop(Millis(0)); }

  Result<void> open(const ListenAddress& listen, const ListenTls& tls, OwnedDescriptor inherited) {
    if (!tls.certificate.empty()) {
      auto files = TlsFiles::open(tls);
      TRY(files);
      serving_.tls = std::move(*files);
    }
    return inherited.get() < 0 ? bind(listen) : take_over(listen, std::move(inherited));
  }

  std::uint16_t port() const override { return port_; }
  std::optional<std::time_t> certificate_expires() const override {
    return serving_.tls ? std::optional(serving_.tls->current()->expires()) : std::nullopt;
  }
  Result<bool> renew_tls() override { return serving_.tls ? serving_.tls->renew() : false; }
  std::vector<const Pulse*> pulses() const override {
    std::vector<const Pulse*> all;
    for (const auto& loop : loops_) all.push_back(&loop->pulse);
    return all;
  }

  void start() override {
    running_ = 1;  // the accepting coroutine
    asio::co_spawn(loops_.front()->context, accept(), asio::detached);
    for (auto& loop : loops_) {
      asio::post(loop->context, [&loop = *loop] { loop.tick(); });
      loop->thread = std::thread([this, &loop = *loop] { run(loop); });
    }
  }

  void stop(Millis grace) override {
    if (stopped_) return;
    stopped_ = true;
    serving_.stopping = true;
    if (!loops_.front()->thread.joinable()) return;  // never started
    asio::post(loops_.front()->context, [this] {
      error_code ignored;
      acceptor_->close(ignored);
      accept_pause_->cancel();
    });
    on_every_connection(&ServerConnection::wind_down);
    if (!wait_for_end(grace)) {
      on_every_connection(&ServerConnection::abort);
      wait_for_end(Millis::max());
    }
    for (auto& loop : loops_) {
      loop->context.stop();
      loop->thread.join();
    }
  }

 private:
  Result<void> bind(const ListenAddress& listen) {
    auto endpoint = resolve(listen);
    TRY(endpoint);
    error_code error;
    const auto failed = [&] {
      const auto where = listen.host + ":" + std::to_string(listen.port);
      return fail(Error::Kind::unavailable, "cannot listen on " + where + ": " + error.message());
    };
    if (acceptor_->open(endpoint->protocol(), error)) return failed();
    if (acceptor_->set_option(tcp::acceptor::reuse_address(true), error)) return failed();
    if (acceptor_->bind(*endpoint, error)) return failed();
    if (acceptor_->listen(kBacklog, error)) return failed();
    port_ = acceptor_->local_endpoint(error).port();
    if (error) return failed();
    return {};
  }

  Result<void> take_over(const ListenAddress& listen, OwnedDescriptor inherited) {
    error_code error;
    const bool is_v6 = listen.host.find(':') != std::string::npos;
    if (acceptor_->assign(is_v6 ? tcp::v6() : tcp::v4(), inherited.release(), error))
      return fail(Error::Kind::unavailable, "the socket of the service manager cannot be used: " + error.message());
    port_ = listen.port;
    return {};
  }

  void run(Loop& loop) {
    for (;;) {
      try {
        loop.context.run();
        return;
      } catch (const std::exception& error) {
        serving_.log.error("http.loop_failed", {{"error", error.what()}});
      }
    }
  }

  asio::awaitable<void> accept() {
    std::size_t next = 0;
    std::chrono::steady_clock::time_point last_logged{};
    while (!serving_.stopping) {
      auto& loop = *loops_[next++ % loops_.size()];
      auto [error, socket] = co_await acceptor_->async_accept(loop.context, asio::as_tuple(asio::use_awaitable));
      if (!error) {
        admit(loop, std::move(socket));  // also while it stops: its client has a connection and may have sent a request
        continue;
      }
      if (serving_.stopping) break;
      if (error == asio::error::connection_aborted) continue;
      if (const auto now = std::chrono::steady_clock::now(); now - last_logged > kAcceptLogPause) {
        last_logged = now;
        serving_.log.warn("http.accept_failed", {{"error", error.message()}});
      }
      accept_pause_->expires_after(kAcceptPause);  // out of descriptors or memory: trying at once would only spin
      co_await accept_pause_->async_wait(asio::as_tuple(asio::use_awaitable));
    }
    error_code ignored;
    acceptor_->close(ignored);
    ended();
  }

  void admit(Loop& loop, tcp::socket socket) {
    error_code gone;
    const auto peer = socket.remote_endpoint(gone);
    if (gone) return;
    auto connection = std::make_shared<ServerConnection>(std::move(socket), peer.address().to_string(), serving_);
    if (served_ < serving_.limits.http_connections && !connection->is_beyond_its_share()) {
      launch(loop, std::move(connection), served_, &ServerConnection::serve);
    } else if (turned_away_ < kMaxTurnedAway) {
      launch(loop, std::move(connection), turned_away_, &ServerConnection::turn_away);
    }
  }

  using Life = asio::awaitable<void> (ServerConnection::*)();

  void launch(Loop& loop, std::shared_ptr<ServerConnection> connection, std::atomic<std::size_t>& count, Life life) {
    ++count;
    ++running_;
    asio::co_spawn(loop.context, live(loop, std::move(connection), count, life), asio::detached);
  }

  asio::awaitable<void> live(Loop& loop, std::shared_ptr<ServerConnection> connection, std::atomic<std::size_t>& count,
                             Life life) {
    loop.connections.insert(connection.get());
    try {
      co_await ((*connection).*life)();
    } catch (const std::exception& error) {
      serving_.log.error("http.connection_failed", {{"error", error.what()}});
      connection->abort();
    }
    loop.connections.erase(connection.get());
    connection.reset();
    --count;
    ended();
  }

  void ended() {
    if (--running_ > 0 || !serving_.stopping) return;
    std::lock_guard lock(end_mutex_);
    end_.notify_all();
  }

  bool wait_for_end(Millis grace) {
    std::unique_lock lock(end_mutex_);
    const auto over = [this] { return running_ == 0; };
    if (grace != Millis::max()) return end_.wait_for(lock, grace, over);
    end_.wait(lock, over);
    return true;
  }

  void on_every_connection(void (ServerConnection::*action)()) {
    for (auto& loop : loops_)
      asio::post(loop->context, [&loop = *loop, action] {
        for (auto* connection : loop.connections) (connection->*action)();
      });
  }

  Serving serving_;
  std::vector<std::unique_ptr<Loop>> loops_;
  std::optional<tcp::acceptor> acceptor_;
  std::optional<asio::steady_timer> accept_pause_;
  std::uint16_t port_ = 0;
  bool stopped_ = false;
  std::atomic<std::size_t> served_ = 0;
  std::atomic<std::size_t> turned_away_ = 0;
  std::atomic<std::size_t> running_ = 0;  // coroutines
  std::mutex end_mutex_;
  std::condition_variable end_;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::listen(const Config& config, std::vector<Route> routes, Authenticate authenticate,
                                               Log& log, Metrics& metrics, OwnedDescriptor inherited) {
  auto server = std::make_unique<BeastServer>(config, std::move(routes), std::move(authenticate), log, metrics);
  TRY(server->open(config.listen, config.tls, std::move(inherited)));
  return server;
}

}  // namespace waybill::http

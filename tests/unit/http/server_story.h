// A server on a free loopback port with a few routes, for tests that talk to it through sockets.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "http/server.h"
#include "unit/http/server_client.h"

namespace waybill::http::stories {

// Keeps the names of events.
class EventLog final : public Log {
 public:
  void write(Level, std::string_view event, std::span<const Field>) override {
    std::lock_guard lock(mutex_);
    events_.emplace_back(event);
    changed_.notify_all();
  }
  bool wait_for(std::string_view event) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::milliseconds(kPatienceMs),
                             [&] { return std::find(events_.begin(), events_.end(), event) != events_.end(); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> events_;
};

// Replies that a route has been asked for and that the test gives when it likes.
class Held {
 public:
  void add(Reply reply) {
    std::lock_guard lock(mutex_);
    replies_.push_back(std::move(reply));
    changed_.notify_all();
  }
  // The next one, in the order of their arrival; null if none came.
  Reply take() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::milliseconds(kPatienceMs), [&] { return !replies_.empty(); })) return nullptr;
    auto reply = std::move(replies_.front());
    replies_.erase(replies_.begin());
    return reply;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Reply> replies_;
};

class ServerStory : public ::testing::Test {
 protected:
  ServerStory() { config_.listen = {.host = "127.0.0.1", .port = 0}; }

  Route open(std::string method, std::string path, RouteFunction handle) {
    return {.method = std::move(method), .path = std::move(path), .least_role = Role::none, .handle = std::move(handle)};
  }

  std::vector<Route> routes() {
    std::vector<Route> table;
    table.push_back(open("GET", "/hello", [](Request, Reply reply) { reply({.body = "{\"hello\":1}", .headers = {}}); }));
    table.push_back(open("POST", "/echo", [](Request request, Reply reply) {
      reply({.status = 201, .content_type = request.content_type, .body = std::move(request.body), .headers = {}});
    }));
    table.push_back(
        with_query(open("GET", "/things/{id}",
                        [](Request request, Reply reply) {
                          reply({.body = request.parameters.at("id") + "|" + request.path + "|" + request.query, .headers = {}});
                        }),
                   {"q"}));
    table.push_back(open("GET", "/held", [this](Request, Reply reply) { held_.add(std::move(reply)); }));
    table.push_back(open("GET", "/throws", [](Request, Reply) { throw std::runtime_error("secret detail"); }));
    table.push_back(open("GET", "/throws-int", [](Request, Reply) { throw 7; }));
    table.push_back(open("GET", "/drops", [](Request, Reply) {}));
    table.push_back(open("GET", "/twice", [](Request, Reply reply) {
      reply({.body = "first", .headers = {}});
      reply({.body = "second", .headers = {}});
    }));
    table.push_back(
        open("GET", "/big", [](Request, Reply reply) { reply({.body = std::string(64 << 20, 'x'), .headers = {}}); }));
    table.push_back(open("GET", "/odd-headers", [](Request, Reply reply) {
      reply({.status = 77,
             .content_type = "a\r\nb",
             .body = "x",
             .headers = {{"X-Bad", "1\r\nX-Injected: 2"}, {"Content-Length", "99"}, {"X-Good", "3"}}});
    }));
    table.push_back(
        open("GET", "/nothing", [](Request, Reply reply) { reply({.status = 204, .body = "ignored", .headers = {}}); }));
    for (const auto& [path, role] :
         {std::pair{"/for-members", Role::member}, {"/for-admins", Role::admin}, {"/for-owners", Role::owner}})
      table.push_back({.method = "GET", .path = path, .least_role = role, .handle = [](Request request, Reply reply) {
                         reply(
                             {.body = request.principal.name + "@" + std::to_string(request.principal.org.value), .headers = {}});
                       }});
    return table;
  }

  void start(Authenticate authenticate = nullptr) {
    auto server = Server::listen(config_, routes(), std::move(authenticate), log_, metrics_);
    ASSERT_TRUE(server) << server.error().what;
    server_ = std::move(*server);
    server_->start();
  }
  Client client() { return Client(server_->port()); }
  Answer ask(std::string_view request) { return client().exchange(request); }
  bool alive() { return ask("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n").status == 200; }

  Config config_;
  EventLog log_;
  Metrics metrics_;
  Held held_;
  std::unique_ptr<Server> server_;
};

}  // namespace waybill::http::stories

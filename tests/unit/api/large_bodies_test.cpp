// Where the body of a request is read.  T17
#include "api/large_bodies.h"

#include <gtest/gtest.h>

#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace waybill {
namespace {

class LargeBodies : public ::testing::Test {
 protected:
  struct Read {
    std::thread::id by;
    std::string body, path;
    int status;
  };
  Read ask(std::size_t bytes) {
    std::promise<http::Response> answered;
    Read read{};
    const auto route = read_in(pool,
                               {.method = "POST",
                                .path = "/things",
                                .handle =
                                    [&](http::Request request, http::Reply reply) {
                                      if (request.path == "/throws") throw std::runtime_error("no");
                                      read = {std::this_thread::get_id(), std::move(request.body), request.path, 0};
                                      reply({.status = 200, .body = {}});
                                    },
                                .large_body = least},
                               log);
    http::Request request;
    request.path = path;
    request.body.assign(bytes, 'x');
    route.handle(std::move(request), [&](http::Response response) { answered.set_value(std::move(response)); });
    read.status = answered.get_future().get().status;
    return read;
  }

  Log log{Log::Level::error, Log::Format::json};
  std::string path = "/things";
  std::size_t least = http::kLargeBody;
  BodyPool pool{std::vector<BodyReader>(2)};
};

// T17
TEST_F(LargeBodies, AreReadApartFromTheEventLoop) {
  pool.start();
  const auto small = ask(http::kLargeBody - 1), large = ask(http::kLargeBody);
  EXPECT_EQ(small.by, std::this_thread::get_id());
  EXPECT_NE(large.by, std::this_thread::get_id());
  EXPECT_EQ(large.body, std::string(http::kLargeBody, 'x')) << "as it came";
  EXPECT_EQ(large.path, path);
}

// T17
TEST_F(LargeBodies, ARouteThatFailsIsAnswered) {
  pool.start();
  path = "/throws";
  EXPECT_EQ(ask(http::kLargeBody).status, 500);
}

// T17
TEST_F(LargeBodies, ARouteSaysWhatIsLargeForIt) {
  pool.start();
  least = 1000;
  EXPECT_EQ(ask(999).by, std::this_thread::get_id());
  EXPECT_NE(ask(1000).by, std::this_thread::get_id());
}

// T17: whoever sends one large body after the other waits behind his own
TEST(TurnsOfLargeBodies, OrganisationsTakeTurns) {
  Log log{Log::Level::error, Log::Format::json};
  BodyPool pool{std::vector<BodyReader>(1)};
  std::mutex mutex;
  std::vector<std::int64_t> order;
  std::promise<void> done;
  const auto route = read_in(pool,
                             {.method = "POST",
                              .path = "/things",
                              .handle =
                                  [&](http::Request request, http::Reply) {
                                    const std::lock_guard lock(mutex);
                                    order.push_back(request.principal.org.value);
                                    if (order.size() == 5) done.set_value();
                                  }},
                             log);
  for (const int org : {7, 7, 7, 8, 8}) {
    http::Request request;
    request.principal.org = {org};
    request.body.assign(http::kLargeBody, 'x');
    route.handle(std::move(request), [](http::Response) {});
  }
  pool.start();
  done.get_future().wait();
  EXPECT_EQ(order, (std::vector<std::int64_t>{7, 8, 7, 8, 7}));
}

}  // namespace
}  // namespace waybill

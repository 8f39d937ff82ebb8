// Where the body of a request is read.  T17
#include "api/large_bodies.h"

#include <gtest/gtest.h>

#include <future>
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
                                    }},
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
  BodyPool pool{std::vector<BodyReader>(2)};
};

// T17
TEST_F(LargeBodies, AreReadApartFromTheEventLoop) {
  pool.start();
  const auto small = ask(kLargeBody - 1), large = ask(kLargeBody);
  EXPECT_EQ(small.by, std::this_thread::get_id());
  EXPECT_NE(large.by, std::this_thread::get_id());
  EXPECT_EQ(large.body, std::string(kLargeBody, 'x')) << "as it came";
  EXPECT_EQ(large.path, path);
}

// T17
TEST_F(LargeBodies, ARouteThatFailsIsAnswered) {
  pool.start();
  path = "/throws";
  EXPECT_EQ(ask(kLargeBody).status, 500);
}

}  // namespace
}  // namespace waybill

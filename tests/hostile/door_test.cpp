// Thousands of hostile requests against a running host: it answers each or hangs up, says nothing of an internal error, and
// carries out nothing that stands behind a refusal.  S1 S2 S3 S4 S5 S7
#include <sys/socket.h>

#include <mutex>
#include <set>
#include <thread>

#include "hostile/requests.h"
#include "support/socket.h"
#include "support/world.h"

namespace waybill::testing {
namespace {

using namespace std::chrono_literals;

constexpr auto kBound = 60s;
constexpr int kThreads = 3;

struct Answer {
  int status = 0;
  bool closes = false;
  std::string body;
};

struct Conversation {
  std::vector<Answer> answers;
  std::string rest;        // bytes that are no whole answer
  bool has_ended = false;  // the host closed
};

Conversation converse(std::uint16_t port, const std::string& bytes) {
  Conversation talk;
  auto socket = Socket::connect(port);
  socket.send(bytes);  // the host may close before it has taken all
  ::shutdown(socket.fd(), SHUT_WR);
  std::string got;
  for (;;) {
    const auto more = socket.receive(kBound);
    talk.has_ended = !more || more->empty();
    if (talk.has_ended) break;
    got += *more;
  }
  for (;;) {
    const auto end = got.find("\r\n\r\n");
    if (end == std::string::npos) break;
    const auto head = got.substr(0, end + 2);
    const auto size = std::stoul(header_value(head, "Content-Length").value_or("0"));
    if (got.size() < end + 4 + size) break;
    if (!head.starts_with("HTTP/1.1 100 "))
      talk.answers.push_back(
          {std::stoi(head.substr(9, 3)), header_value(head, "Connection") == "close", got.substr(end + 4, size)});
    got.erase(0, end + 4 + size);
  }
  talk.rest = got;
  return talk;
}

class HostileDoor : public World {
 protected:
  std::set<std::string> stored() {
    std::set<std::string> ids;
    for (const auto& row : sql().rows("SELECT client_ref FROM waybill.submissions")) ids.insert(row.at(0).value());
    return ids;
  }
};

std::string acknowledged_in(const Answer& answer) {
  if (answer.status != 200) return {};
  const auto json = nlohmann::json::parse(answer.body, nullptr, false);
  return json.is_object() ? word(json, "intentId") : "";
}

// S5: what was acknowledged is stored, and nothing else is: no request was seen where another reader would see none.
TEST_F(HostileDoor, CarriesOutWhatItAcknowledgesAndNothingBehindARefusal) {
  const int requests = all_rounds() ? 100'000 : 20'000;
  const auto port = host().port();
  std::mutex mutex;
  std::set<std::string> acknowledged;
  std::vector<std::string> wrong;
  std::map<int, int> statuses;
  const auto one = [&](int number) {
    const auto id = std::to_string(number);
    const auto request = hostile_request(static_cast<std::uint64_t>(number), "own-" + id, "hidden-" + id);
    const auto talk = converse(port, request.bytes + last_request("last-" + id));
    std::lock_guard lock(mutex);
    const auto complain = [&](const std::string& what) {
      wrong.push_back("request " + id + ": " + what + "\n" + ::testing::PrintToString(request.bytes.substr(0, 600)));
    };
    if (!talk.rest.empty()) complain("half an answer");
    std::size_t ids = 0;
    for (std::size_t i = 0; i < talk.answers.size(); ++i) {
      const auto& answer = talk.answers[i];
      ++statuses[answer.status];
      if (answer.status >= 500 && answer.status != 505) complain("status " + std::to_string(answer.status));
      if (answer.closes && i + 1 < talk.answers.size()) complain("an answer after the last");
      if (const auto acknowledgement = acknowledged_in(answer); !acknowledgement.empty()) {
        acknowledged.insert(acknowledgement);
        ++ids;
      }
    }
    if (!request.is_ambiguous) return;
    if (ids > 0) complain("something was carried out");
    if (talk.answers.empty() || talk.answers.back().status / 100 != 4 || !talk.answers.back().closes) complain("not refused");
  };
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      for (int number = thread; number < requests; number += kThreads) one(number);
    });
  threads.clear();
  EXPECT_TRUE(wrong.empty()) << wrong.size() << " of " << requests << ", such as " << wrong.front();
  EXPECT_EQ(stored(), acknowledged);
  for (const auto& id : acknowledged) EXPECT_FALSE(id.starts_with("hidden-")) << id;
  for (const int status : {200, 400, 403, 404, 405, 413, 431}) EXPECT_GT(statuses[status], 0) << "no request came to " << status;
  EXPECT_EQ(client().get("/healthz").status, 200);
  EXPECT_EQ(post_intent(client(), sms_intent("after", "sms.deadline")).status, 200);
}

}  // namespace
}  // namespace waybill::testing

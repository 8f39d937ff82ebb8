// What a call to send failed deliveries again says of where it stopped, and the next one reads.  O5
#include "api/failed_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "api/dead_json.h"

namespace waybill {
namespace {

using nlohmann::json;

Replays stopped_at(std::optional<DeliveryCursor> next) { return {.count = 0, .more = next.has_value(), .next = next}; }

// O5
TEST(Resend, GoesOnWithTheCursorOfTheAnswer) {
  const PublicIds ids(Secret(std::string(PublicIds::kKeyBytes, 'k')));
  const auto answer = json::parse(replays_json(stopped_at(DeliveryCursor{{7'000'000}, {4711}}), false, ids));
  EXPECT_EQ(answer["more"], true);
  const auto order = read_resend(json{{"kind", "intent"}, {"cursor", answer["next"]}}.dump(), ids);
  ASSERT_TRUE(order) << order.error().what;
  ASSERT_TRUE(order->after);
  EXPECT_EQ(order->after->at, Timestamp{7'000'000});
  EXPECT_EQ(order->after->id, DeliveryId{4711});
  EXPECT_EQ(answer.dump().find("4711"), std::string::npos) << "ids tell nobody how many there are";
  EXPECT_FALSE(json::parse(replays_json(stopped_at({}), false, ids)).contains("next"));
}

// O5
TEST(Resend, RefusesAnotherCursor) {
  for (const auto* wrong : {R"("x")", R"("")", "7"}) {
    const auto order = read_resend(std::string(R"({"kind":"intent","cursor":)") + wrong + "}");
    ASSERT_FALSE(order) << wrong;
    EXPECT_NE(order.error().what.find("cursor"), std::string::npos) << order.error().what;
  }
}

}  // namespace
}  // namespace waybill

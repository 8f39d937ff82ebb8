// The push plugin: what it asks of a payload, and everything that holds for a gateway. M16
#include "common/tests/gateway_suite.h"

namespace waybill::plugins::testing {

const GatewayProtocol kGateway = {"push",
                                  "/push/send",
                                  R"({"token":"t0k3n","title":"hello"})",
                                  {{{"invalid_request", 15}, WB_REASON_PERMANENT, 0},
                                   {{"duplicate_reference", 19}, WB_REASON_DUPLICATE, 0},
                                   {{"provider_failure", 16}, 0, 0},
                                   {{"unregistered_token", 18}, WB_REASON_PERMANENT, 0}}};

using Push = Gateway;

TEST_F(Push, SendsTokenTitleBodyAndData) {  // M16
  EXPECT_EQ(sent(R"({"token":"t","title":"a","body":"b","data":{"k":"v","n":{"m":[1,2.5]}},"tenantId":"t1"})"),
            (Json{{"referenceId", "key-1"},
                  {"token", "t"},
                  {"title", "a"},
                  {"body", "b"},
                  {"data", {{"k", "v"}, {"n", {{"m", {1, 2.5}}}}}},
                  {"tenantId", "t1"}}));
}

TEST_F(Push, OneOfTitleBodyAndDataIsEnough) {  // M16
  for (const auto* rest :
       {R"("title":"a")", R"("body":"b")", R"("data":{"k":"v"})", R"("data":{})", R"("title":null,"body":"b")"})
    EXPECT_EQ(sent(std::string(R"({"token":"t",)") + rest + "}").at("token"), "t");
}

TEST_F(Push, RejectsAPayloadThatLacksWhatTheProtocolNeeds) {  // M16
  for (const auto* payload :
       {R"({"token":"t"})", R"({"title":"a"})", R"({"token":"","title":"a"})", R"({"token":null,"title":"a"})",
        R"({"token":7,"title":"a"})", R"({"token":"t","title":7})", R"({"token":"t","title":"a","body":[]})",
        R"({"token":"t","data":"text"})", R"({"token":"t","data":["k"]})", R"({"token":"t","title":"a","data":7})",
        R"({"token":"t","title":"","body":""})", R"({"token":"t","title":null,"body":null,"data":null})",
        R"({"to":"+15550100","message":"sms"})"})
    expect_invalid_request(payload);
}

TEST_F(Push, TheDetailNamesTheFieldThatIsMissing) {
  EXPECT_EQ(sender_->attempt(job(R"({"title":"a"})")).detail, "the payload has no field token");
  EXPECT_EQ(sender_->attempt(job(R"({"token":"t"})")).detail, "the payload has none of title, body and data");
  EXPECT_EQ(sender_->attempt(job(R"({"token":"t","data":7})")).detail, "the payload has a field data that is not an object");
}

}  // namespace waybill::plugins::testing

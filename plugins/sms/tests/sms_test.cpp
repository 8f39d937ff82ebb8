// The sms plugin: what it asks of a payload, and everything that holds for a gateway. M16
#include "common/tests/gateway_suite.h"

namespace waybill::plugins::testing {

const GatewayProtocol kGateway = {"sms",
                                  "/sms/send",
                                  R"({"to":"+15550100","message":"hello"})",
                                  {{{"invalid_request", 15}, WB_REASON_PERMANENT, 0},
                                   {{"duplicate_reference", 19}, WB_REASON_DUPLICATE, 0},
                                   {{"invalid_recipient", 17}, WB_REASON_PERMANENT, 0},
                                   {{"invalid_message", 15}, WB_REASON_PERMANENT, 0},
                                   {{"provider_failure", 16}, 0, 0}}};

using Sms = Gateway;

TEST_F(Sms, SendsRecipientAndMessage) {  // M16
  EXPECT_EQ(sent(R"({"to":"+15550100","message":"caf\u00e9 \"quoted\"","tenantId":"t1"})"),
            (Json{{"referenceId", "key-1"}, {"to", "+15550100"}, {"message", "caf\u00e9 \"quoted\""}, {"tenantId", "t1"}}));
}

TEST_F(Sms, RejectsAPayloadThatLacksWhatTheProtocolNeeds) {  // M16
  for (const auto* payload :
       {R"({"to":"+15550100"})", R"({"message":"hello"})", R"({"to":"","message":"hello"})", R"({"to":"+15550100","message":""})",
        R"({"to":null,"message":"hello"})", R"({"to":"+15550100","message":null})", R"({"to":15550100,"message":"hello"})",
        R"({"to":["+15550100"],"message":"hello"})", R"({"to":"+15550100","message":{"text":"hello"}})",
        R"({"to":"+15550100","message":true})", R"({"To":"+15550100","Message":"hello"})", R"({"token":"t","title":"push"})"})
    expect_invalid_request(payload);
}

TEST_F(Sms, TheDetailNamesTheFieldThatIsMissing) {
  EXPECT_EQ(sender_->attempt(job(R"({"to":"+15550100"})")).detail, "the payload has no field message");
  EXPECT_EQ(sender_->attempt(job(R"({"to":7,"message":"m"})")).detail, "the payload has a field to that is not a string");
  EXPECT_EQ(sender_->attempt(job("")).detail, "the payload is empty");
}

}  // namespace waybill::plugins::testing

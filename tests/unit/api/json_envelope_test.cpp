// Bodies of POST /v1/intents: what is wrong is named, and payloads are cut out as they stand, to the byte.  M2 M4
#include "api/json_envelope.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/unseen.h"

namespace waybill {
namespace {

std::string fault_of(std::string_view body) {
  const auto read = read_intent(body);
  if (read) return "";
  EXPECT_EQ(read.error().kind, Error::Kind::invalid) << body;
  return read.error().what;
}

std::string payload_of(std::string_view body) {
  const auto read = read_intent(body);
  EXPECT_TRUE(read) << body << ": " << read.error().what;
  return read ? read->payload : "<refused>";
}

TEST(JsonEnvelope, ReadsTheThreeFields) {  // M1
  const auto read = read_intent(R"({"intentId":"order-1","submissionTarget":"sms.primary","payload":{"to":"+49"}})");
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->intent_id, "order-1");
  EXPECT_EQ(read->target, "sms.primary");
  EXPECT_EQ(read->payload, R"({"to":"+49"})");
}

TEST(JsonEnvelope, AnIntentMayBringItsTrace) {  // O3
  const std::string good = R"({"intentId":"a","submissionTarget":"t",)";
  const auto own =
      read_intent(good + R"("tracestate":"v=1","traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"})");
  ASSERT_TRUE(own) << own.error().what;
  EXPECT_EQ(stored_trace(*own->trace), "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01 v=1");
  for (const auto* ignored : {R"("traceparent":"00-0-0-01"})", R"("tracestate":"v=1"})", R"("payload":1})"}) {
    const auto read = read_intent(good + ignored);
    ASSERT_TRUE(read) << ignored;
    EXPECT_EQ(read->trace, nullptr) << ignored;
  }
  for (const auto* field : {"traceparent", "tracestate"}) {
    const auto read = read_intent(good + "\"" + field + R"(":5})");
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().what.find(field), 0u) << read.error().what;
  }
}

TEST(JsonEnvelope, AnIntentMaySayWhenItMayBeSent) {  // Q4
  const std::string good = R"({"intentId":"a","submissionTarget":"t",)";
  const auto timed = read_intent(good + R"("notBefore":"2030-01-01T00:00:00.25+01:00","expiresAt":"2030-01-02T00:00:00Z"})");
  ASSERT_TRUE(timed) << timed.error().what;
  ASSERT_NE(timed->terms, nullptr);
  EXPECT_EQ(format_rfc3339(*timed->terms->not_before), "2029-12-31T23:00:00.250000Z");
  EXPECT_EQ(format_rfc3339(*timed->terms->expires), "2030-01-02T00:00:00.000000Z");
  EXPECT_EQ(read_intent(good + R"("payload":1})")->terms, nullptr);
  EXPECT_EQ(fault_of(good + R"("notBefore":"tomorrow"})"), "notBefore must be an RFC 3339 time, such as 2026-12-31T00:00:00Z");
  EXPECT_EQ(fault_of(good + R"("expiresAt":5})").find("expiresAt"), 0u);
  EXPECT_EQ(fault_of(good + R"("notBefore":"2030-01-02T00:00:00Z","expiresAt":"2030-01-02T00:00:00Z"})"),
            "expiresAt must be later than notBefore");
}

TEST(JsonEnvelope, NamesWhatIsWrong) {  // M4
  struct Case {
    std::string body;
    std::string wanted;
  };
  const std::string good = R"("intentId":"a","submissionTarget":"t")";
  const std::vector<Case> cases{
      {"", "malformed JSON at byte"},
      {"{", "malformed JSON at byte"},
      {"nonsense", "malformed JSON at byte"},
      {"{" + good + "} x", "malformed JSON at byte"},
      {"{" + good + ",}", "malformed JSON at byte"},
      {"{'intentId':'a'}", "malformed JSON at byte"},
      {"{" + good + R"(,"payload":1e999})", "a number is out of range before byte"},
      {"{" + good + R"(,"payload":NaN})", "malformed JSON at byte"},
      {"{" + good + ",\"payload\":\"\xff\"}", "malformed JSON at byte"},
      {"{" + good + ",\"payload\":\"a\nb\"}", "malformed JSON at byte"},
      {"{" + good + R"(,"payload":"\ud800"})", "malformed JSON at byte"},
      {"[]", "the body must be a JSON object, not an array"},
      {"null", "the body must be a JSON object, not null"},
      {"true", "the body must be a JSON object, not a boolean"},
      {"12", "the body must be a JSON object, not a number"},
      {"-1.5", "the body must be a JSON object, not a number"},
      {"\"x\"", "the body must be a JSON object, not a string"},
      {"{}", "intentId is missing"},
      {R"({"submissionTarget":"t"})", "intentId is missing"},
      {R"({"intentId":"a"})", "submissionTarget is missing"},
      {R"({"intentId":1,"submissionTarget":"t"})", "intentId must be a string"},
      {R"({"intentId":null,"submissionTarget":"t"})", "intentId must be a string"},
      {R"({"intentId":["a"],"submissionTarget":"t"})", "intentId must be a string"},
      {R"({"intentId":{"a":"b"},"submissionTarget":"t"})", "intentId must be a string"},
      {R"({"intentId":"a","submissionTarget":false})", "submissionTarget must be a string"},
      {R"({"intentId":"","submissionTarget":"t"})", "intentId must not be empty"},
      {R"({"intentId":"a","submissionTarget":""})", "submissionTarget must not be empty"},
      {R"({"intentId":"a\u0000b","submissionTarget":"t"})", "intentId must be valid UTF-8 without NUL"},
      {R"({"intentId":"a\nb","submissionTarget":"t"})", "intentId must not hold control characters"},
      {R"({"intentId":"a\u007f","submissionTarget":"t"})", "intentId must not hold control characters"},
      {"{" + good + R"(,"Payload":1})", "unknown field \"Payload\""},
      {"{" + good + R"(,"extra":{"payload":1}})", "unknown field \"extra\""},
      {"{" + good + R"(,"payload":1,"payload":1})", "field \"payload\" is given twice"},
      {"{" + good + R"(,"payload":1,"pay\u006coad":1})", "field \"payload\" is given twice"},
      {R"({"intentId":"a",)" + good + "}", "field \"intentId\" is given twice"},
      {"{\"intentId\":\"" + std::string(256, 'x') + "\",\"submissionTarget\":\"t\"}",
       "intentId must not be longer than 255 bytes"},
  };
  for (const auto& [body, wanted] : cases) {
    const auto fault = fault_of(body);
    EXPECT_EQ(fault.substr(0, wanted.size()), wanted) << body;
  }
}

TEST(JsonEnvelope, AMessageIsShortAndPrintableWhateverTheBodyHolds) {  // M4
  for (const std::string& body : {"{\"" + std::string(100'000, 'x') + "\":1}", std::string("{\"\\u0001\":1}"),
                                  "\x01\x02" + std::string(5'000, '\xff'), "{\"a" + std::string(5'000, '\n')}) {
    const auto fault = fault_of(body);
    EXPECT_FALSE(fault.empty());
    EXPECT_LT(fault.size(), 300u);
  }
}

TEST(JsonEnvelope, AReferenceHasUpTo255BytesOfText) {  // M1
  EXPECT_EQ(reference_fault("id", std::string(255, 'x')), "");
  EXPECT_EQ(reference_fault("id", "Zoë / \"quoted\" 😀"), "");
  EXPECT_EQ(reference_fault("id", std::string(256, 'x')), "id must not be longer than 255 bytes");
  EXPECT_EQ(reference_fault("id", "\xc3"), "id must be valid UTF-8 without NUL");
  EXPECT_EQ(reference_fault("id", "\xed\xa0\x80"), "id must be valid UTF-8 without NUL") << "a lone surrogate";
  EXPECT_EQ(reference_fault("id", "\t"), "id must not hold control characters");
  for (const auto& unseen : testing::kUnseen)  // T32
    EXPECT_EQ(reference_fault("id", std::string("a") + unseen.text), "id must not hold control characters") << unseen.json;
}

TEST(JsonEnvelope, CutsThePayloadOutAsItStands) {  // M2
  const std::string head = R"({"intentId":"a","submissionTarget":"t",)";
  for (const std::string payload : {R"({"a":1})",
                                    R"({ "a" : [ 1 , 2 ] , "b" : { } })",
                                    R"("text")",
                                    R"("with \"quotes\" and \\")",
                                    R"("}{][,:")",
                                    R"("\u0000\ud83d\ude00")",
                                    R"([])",
                                    R"([[],[[]],{"}":"]"}])",
                                    "0",
                                    "-1.50E+10",
                                    "123456789012345678901234567890",
                                    "true",
                                    "false",
                                    "null",
                                    R"("")",
                                    "{}",
                                    R"({"payload":{"payload":"inner"}})",
                                    R"("Zoë 😀")",
                                    "{\n\t\"a\" :\r\n1}",
                                    R"({"k\"e\\y":"\\"})"}) {
    EXPECT_EQ(payload_of(head + "\"payload\":" + payload + "}"), payload);
    EXPECT_EQ(payload_of(head + " \"payload\" \n:\t " + payload + " \r\n } \n"), payload)
        << "the space around it is not part of it";
    EXPECT_EQ(payload_of("{\"payload\":" + payload + R"(,"intentId":"a","submissionTarget":"t"})"), payload);
    EXPECT_EQ(payload_of("\n{\"intentId\":\"pay\\\"load\\\":1\", \"payload\":" + payload + " ,\"submissionTarget\":\"{\"}"),
              payload);
    EXPECT_EQ(payload_of(head + R"("pay\u006coad":)" + payload + "}"), payload) << "a name may be written with escapes";
    EXPECT_EQ(payload_of(head + R"("\u0070\u0061\u0079\u006C\u006F\u0061\u0064" :)" + payload + "}"), payload);
  }
}

TEST(JsonEnvelope, NoPayloadIsNotTheSameAsNull) {  // M2
  EXPECT_EQ(payload_of(R"({"intentId":"a","submissionTarget":"t"})"), "");
  EXPECT_EQ(payload_of(R"({"intentId":"a","submissionTarget":"t","payload":null})"), "null");
}

TEST(JsonEnvelope, DeepNestingIsRefusedBeforeItHurts) {  // M4
  const auto nested = [](std::size_t levels) {
    return R"({"intentId":"a","submissionTarget":"t","payload":)" + std::string(levels, '[') + std::string(levels, ']') + "}";
  };
  EXPECT_EQ(payload_of(nested(kMaxJsonLevels - 1)).size(), 2 * (kMaxJsonLevels - 1));
  EXPECT_EQ(fault_of(nested(kMaxJsonLevels)), "JSON is nested more than 64 levels deep");
  EXPECT_EQ(fault_of(nested(500'000)), "JSON is nested more than 64 levels deep");
}

// Whatever is done to a body: either it is refused, or the slice is what a JSON parser takes for the payload.
void expect_true_slice(const std::string& body) {
  const auto read = read_intent(body);
  if (!read) {
    EXPECT_EQ(read.error().kind, Error::Kind::invalid);
    EXPECT_FALSE(read.error().what.empty()) << body;
    return;
  }
  const auto whole = nlohmann::json::parse(body, nullptr, false);
  ASSERT_FALSE(whole.is_discarded()) << body;
  EXPECT_EQ(whole.at("intentId"), read->intent_id) << body;
  EXPECT_EQ(whole.at("submissionTarget"), read->target) << body;
  if (!whole.contains("payload")) {
    EXPECT_EQ(read->payload, "") << body;
    return;
  }
  EXPECT_NE(body.find(read->payload), std::string::npos) << body;
  EXPECT_EQ(nlohmann::json::parse(read->payload, nullptr, false), whole.at("payload")) << body;
}

const std::vector<std::string> kSamples{
    R"({"intentId":"a\"b","submissionTarget":"t","payload":{"a":[1,-2.5e3,"x\\\"}",null],"b":{"c":true}}})",
    R"( { "pay\u006coad" : "}{\"" , "submissionTarget" : "sms.primary" , "intentId" : "Zo\u00eb" } )",
    R"({"payload":[[],{"payload":7}],"intentId":"{}","submissionTarget":"[]"})",
    R"({"intentId":"a","payload":-0,"submissionTarget":"t"})"};

TEST(JsonEnvelope, NoTruncationCrashesOrYieldsAWrongSlice) {  // M2 M4
  for (const auto& sample : kSamples)
    for (std::size_t length = 0; length <= sample.size(); ++length) expect_true_slice(sample.substr(0, length));
}

TEST(JsonEnvelope, NoChangedByteCrashesOrYieldsAWrongSlice) {  // M2 M4
  for (const auto& sample : kSamples)
    for (std::size_t at = 0; at < sample.size(); ++at)
      for (int byte = 0; byte < 256; ++byte) {
        auto body = sample;
        body[at] = static_cast<char>(byte);
        expect_true_slice(body);
      }
}

TEST(JsonEnvelope, NoDoubledOrMissingByteYieldsAWrongSlice) {  // M2 M4
  for (const auto& sample : kSamples)
    for (std::size_t at = 0; at < sample.size(); ++at) {
      expect_true_slice(sample.substr(0, at) + sample.substr(at + 1));
      expect_true_slice(sample.substr(0, at + 1) + sample.substr(at));
      for (const char c : std::string("\"\\{}[],: 0")) expect_true_slice(sample.substr(0, at) + c + sample.substr(at));
    }
}

TEST(JsonEnvelope, AByteOrderMarkDoesNotMoveTheSlice) {  // M2
  for (const auto& sample : kSamples) expect_true_slice("\xef\xbb\xbf" + sample);
}

}  // namespace
}  // namespace waybill

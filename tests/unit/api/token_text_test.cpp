// What a token looks like, and which part of it may be told.  M1 S3 S8
#include "api/token_text.h"

#include <gtest/gtest.h>

#include <set>

#include "http/field_value.h"

namespace waybill {
namespace {

// S8
TEST(MakeToken, IsLongPlainAndNeverTheSame) {
  std::set<std::string> all, ids;
  for (int i = 0; i < 200; ++i) {
    const auto token = make_token();
    EXPECT_EQ(token.text.size(), 60u);
    EXPECT_TRUE(token.text.starts_with("wbt_" + token.id + "_"));
    EXPECT_EQ(token.text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
              std::string::npos);
    EXPECT_EQ(public_id_of(token.text), token.id);
    all.insert(token.text.substr(17));
    ids.insert(token.id);
  }
  EXPECT_EQ(all.size(), 200u);
  EXPECT_EQ(ids.size(), 200u);
}

// S3: nothing of a secret passes for an id
TEST(PublicId, IsOnlyThatOfAWholeToken) {
  const auto token = make_token().text;
  const std::string secret(43, 'a');
  EXPECT_EQ(public_id_of("wbt_0123456789ab_" + secret), "0123456789ab");
  for (const std::string& text :
       {std::string(), "wbt_" + secret, token.substr(1), token + "x", token.substr(0, 59), "wbt_0123456789aB_" + secret,
        "wbt_0123456789a-_" + secret, "wbt_0123456789ab-" + secret, "WBT_0123456789ab_" + secret})
    EXPECT_EQ(public_id_of(text), "") << text;
}

// S5
TEST(BearerToken, IsWhatFollowsTheScheme) {
  EXPECT_EQ(http::bearer_token("Bearer a b"), "a b");
  EXPECT_EQ(http::bearer_token("bEaReR    a"), "a");
  for (const char* header : {"", "Bearer", "Bearer ", "Bearer  ", "Bearera", "Basic a", " Bearer a", "Bearer\ta"})
    EXPECT_EQ(http::bearer_token(header), "") << header;
}

}  // namespace
}  // namespace waybill

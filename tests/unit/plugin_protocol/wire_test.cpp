// Messages between a host and a plugin's process, as bytes.  I1 I4
#include "plugin_protocol/wire.h"

#include <gtest/gtest.h>

#include "plugin_protocol/isolation_words.h"
#include "plugin_protocol/messages.h"
#include "plugin_protocol/plugin_text.h"

namespace waybill::plugin_process {
namespace {

void give(Frames& frames, std::string_view bytes) {
  std::memcpy(frames.room(bytes.size()), bytes.data(), bytes.size());
  frames.grew_by(bytes.size());
}

TEST(Frames, ComeOutAsTheyWerePutHoweverTheirBytesCome) {
  std::string bytes;
  put_frame(bytes, Cancel{.call = 7});
  put_frame(bytes, Fire{.id = 8});
  Frames frames;
  Frame frame;
  for (const char c : bytes.substr(0, bytes.size() - 1)) give(frames, {&c, 1});
  ASSERT_EQ(frames.next(frame), Frames::Next::frame);
  EXPECT_EQ(frame.kind, static_cast<std::uint32_t>(Kind::cancel));
  ASSERT_EQ(frames.next(frame), Frames::Next::more);
  give(frames, bytes.substr(bytes.size() - 1));
  ASSERT_EQ(frames.next(frame), Frames::Next::frame);
  Fire fire;
  ASSERT_TRUE(take_message(frame.body, fire));
  EXPECT_EQ(fire.id, 8u);
  EXPECT_TRUE(frames.is_empty());
}

TEST(Frames, OfAnImpossibleLengthAreAFault) {
  for (const std::uint32_t size : {std::uint32_t{0}, std::uint32_t{3}, static_cast<std::uint32_t>(kMaxFrameBytes) + 1, ~0U}) {
    Frames frames;
    Frame frame;
    give(frames, {reinterpret_cast<const char*>(&size), sizeof size});
    EXPECT_EQ(frames.next(frame), Frames::Next::fault) << size;
  }
}

TEST(Messages, HoldWhatTheStructsOfTheAbiHold) {
  Fetch asked{.call = 7, .id = 9, .request = {}, .headers = {}, .body_secrets = {}};
  asked.request.timeout_ms = 1500;
  asked.request.method = borrow("POST");
  asked.request.body = borrow(std::string_view("a\0b", 3));
  asked.headers.push_back({borrow("X-A"), borrow("1")});
  asked.body_secrets.push_back({2, borrow("key"), WB_SECRET_JSON, 0});
  std::string bytes;
  put_frame(bytes, asked);
  Fetch read;
  ASSERT_TRUE(take_message(std::string_view(bytes).substr(kHeadBytes), read));
  EXPECT_EQ(read.call, 7u);
  EXPECT_EQ(read.id, 9u);
  EXPECT_EQ(read.request.timeout_ms, 1500u);
  EXPECT_EQ(view_of(read.request.method), "POST");
  EXPECT_EQ(view_of(read.request.body), std::string_view("a\0b", 3));
  ASSERT_EQ(read.headers.size(), 1u);
  EXPECT_EQ(view_of(read.headers[0].value), "1");
  ASSERT_EQ(read.body_secrets.size(), 1u);
  EXPECT_EQ(read.body_secrets[0].offset, 2u);
  EXPECT_EQ(read.body_secrets[0].form, WB_SECRET_JSON);
}

TEST(Messages, ThatAreCutOffAreNoneAndALongerOneIsOfANewerMinor) {
  std::string bytes;
  put_frame(bytes, Complete{.call = 7, .outcome = {.size = 0, .reason = borrow("gone")}});
  const auto body = std::string_view(bytes).substr(kHeadBytes);
  Complete read;
  for (std::size_t size = 0; size < body.size(); ++size) EXPECT_FALSE(take_message(body.substr(0, size), read)) << size;
  EXPECT_TRUE(take_message(std::string(body) + "more", read));
}

TEST(Messages, WithAListLongerThanTheirBytesAreNone) {
  std::string bytes;
  Writer write(bytes);
  write(std::uint64_t{7}, std::string_view("key"), std::uint32_t{1'000'000'000});
  Sign read;
  EXPECT_FALSE(take_message(bytes, read));
}

TEST(IsolationWords, AreReadAsTheyWereSaid) {
  Isolation said{.mode = {}, .memory_bytes = 1 << 20, .threads = 3, .descriptors = 4, .network = true, .read = {"/a b", "/c"}};
  Isolation read;
  ASSERT_TRUE(read_words(words_of(said), read));
  EXPECT_EQ(read, said);
  EXPECT_FALSE(read_words({"--memory"}, read));
  EXPECT_FALSE(read_words({"--memory", "much"}, read));
  EXPECT_FALSE(read_words({"--else", "1"}, read));
}

}  // namespace
}  // namespace waybill::plugin_process

// Log lines as they reach standard error.
#include "telemetry/log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>
#include <vector>

namespace waybill {
namespace {

std::string written(Log::Level least, Log::Format format, const std::function<void(Log&)>& use) {
  testing::internal::CaptureStderr();
  {
    Log log(least, format);
    use(log);
    log.flush();
  }
  return testing::internal::GetCapturedStderr();
}

TEST(Log, AJsonLineHoldsTimeLevelEventAndFields) {
  const auto line = written(Log::Level::info, Log::Format::json, [](Log& log) {
    log.warn("target_rests", {{"target", "sms.main"}, {"seconds", 30}});
  });
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json["level"], "warn");
  EXPECT_EQ(json["event"], "target_rests");
  EXPECT_EQ(json["target"], "sms.main");
  EXPECT_EQ(json["seconds"], "30");
  auto shape = json["ts"].get<std::string>();
  std::replace_if(
      shape.begin(), shape.end(), [](unsigned char c) { return std::isdigit(c); }, '0');
  EXPECT_EQ(shape, "0000-00-00T00:00:00.000Z");
  EXPECT_EQ(line.back(), '\n');
}

TEST(Log, BytesThatAreNoTextStillMakeOneValidJsonLine) {
  const auto line = written(Log::Level::info, Log::Format::json, [](Log& log) {
    log.info("odd\xff", {{"value", std::string("a\"b\nc\0d\xc3", 8)}, {"{}", "{0} %v"}});
  });
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json["value"].get<std::string>(), std::string("a\"b\nc\0d", 7) + "\xEF\xBF\xBD");
  EXPECT_EQ(json["{}"], "{0} %v");
}

TEST(Log, AFieldCannotHideTheEventOrAnotherField) {
  const auto json = nlohmann::json::parse(written(Log::Level::info, Log::Format::json, [](Log& log) {
    log.info("real", {{"event", "fake"}, {"a", "1"}, {"a", "2"}});
  }));
  EXPECT_EQ(json["event"], "real");
  EXPECT_EQ(json["event_"], "fake");
  EXPECT_EQ(json["a"], "1");
  EXPECT_EQ(json["a_"], "2");
}

TEST(Log, EventsBelowTheLevelAreNotWritten) {
  const auto text = written(Log::Level::warn, Log::Format::json, [](Log& log) {
    log.debug("a");
    log.info("b");
    log.error("c");
  });
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_NE(text.find("\"c\""), std::string::npos);
}

TEST(Log, APrettyLineIsOneLineWithoutColourWhenNobodyLooks) {
  const auto line = written(Log::Level::debug, Log::Format::pretty, [](Log& log) {
    log.info("listening", {{"address", "127.0.0.1:8080"}, {"note", "two\nlines \x1b[31m"}});
  });
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  EXPECT_EQ(line.find('\x1b'), std::string::npos);
  EXPECT_NE(line.find("address=127.0.0.1:8080"), std::string::npos) << line;
  EXPECT_NE(line.find(R"(note="two\nlines )"), std::string::npos) << line;
}

TEST(Log, LinesOfSeveralThreadsDoNotMix) {
  const auto text = written(Log::Level::info, Log::Format::json, [](Log& log) {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 200; ++i) log.info("tick", {{"padding", std::string(200, 'x')}});
      });
  });
  std::istringstream lines(text);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) EXPECT_TRUE(nlohmann::json::accept(line));
  EXPECT_EQ(count, 800);
}

}  // namespace
}  // namespace waybill

// What is read of files, and what is not.
#include "base/file_text.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace waybill {
namespace {

class FileText : public ::testing::Test {
 protected:
  FileText() { std::filesystem::create_directory(folder_); }
  ~FileText() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path with(const std::string& text) const {
    std::ofstream(folder_ / "file", std::ios::binary) << text;
    return folder_ / "file";
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("waybill-file-text-" + std::to_string(::getpid()));
};

TEST_F(FileText, IsReadAsAWholeAndOneByteBeyondWhatItMayHave) {
  EXPECT_EQ(*read_file(with(""), 10), "");
  const std::string text("a\0b\r\n", 5);
  EXPECT_EQ(*read_file(with(text), 5), text);
  EXPECT_EQ(*read_file(with(text), 4), text) << "longer than allowed: the caller sees that";
  EXPECT_EQ(read_file(with(std::string(300'000, 'x')), 200'000)->size(), 200'001u);
  EXPECT_GT(read_file("/proc/self/comm", 100)->size(), 1u) << "a file that has no size";
}

TEST_F(FileText, IsThatOfAFileAndOfNothingElse) {
  const auto why = [](const std::filesystem::path& file) { return read_file(file, 10).error().why; };
  EXPECT_EQ(why(folder_ / "none"), UnreadFile::Why::missing);
  EXPECT_EQ(why(with("x") / "below"), UnreadFile::Why::missing);
  EXPECT_EQ(why(folder_), UnreadFile::Why::not_a_file);
  const auto pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(why(pipe), UnreadFile::Why::not_a_file) << "nobody waits for a writer";
  EXPECT_EQ(read_file(folder_, 10).error().reason, "not a file");
}

}  // namespace
}  // namespace waybill

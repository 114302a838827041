#include "datamanager/read/file_bytes.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "eventlog/crc32c.h"

namespace datamanager {
namespace {

class FileBytesTest : public ::testing::Test {
 protected:
  void Write(std::string_view content) { std::ofstream(path_, std::ios::binary) << content; }
  // Returns a range of the current content.
  FileRange RangeOf(std::string_view content, std::uint64_t offset, std::uint64_t length) {
    return {.offset = offset,
            .length = length,
            .crc = eventlog::Crc32c(content.substr(offset, length))};
  }
  absl::StatusOr<std::string> Read(const FileRange& range) {
    return ReadFileRange(path_, range, nullptr);
  }

  const std::string path_ = ::testing::TempDir() + "file_bytes_" + std::to_string(getpid());
};

TEST_F(FileBytesTest, ReadsWhatStandsThere) {
  const std::string content = "before value behind";
  Write(content);
  const auto bytes = Read(RangeOf(content, 7, 5));
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(*bytes, "value");
  // An empty range at the end of the file is valid too.
  EXPECT_EQ(Read(RangeOf(content, content.size(), 0)).value_or("?"), "");
}

TEST_F(FileBytesTest, OtherBytesAreNotGivenOut) {
  const std::string content = "before value behind";
  Write(content);
  const FileRange range = RangeOf(content, 7, 5);
  Write("before VALUE behind");
  EXPECT_EQ(Read(range).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(FileRangeReader::Open(path_, range, nullptr).status().code(),
            absl::StatusCode::kDataLoss);
  Write("before va");
  EXPECT_EQ(Read(range).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Read({.offset = ~std::uint64_t{0}, .length = 5}).status().code(),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(Read({.offset = 0, .length = kMaxRangeBytes + 1}).status().code(),
            absl::StatusCode::kInvalidArgument);
  // A range that claims to be long allocates no memory: the file has only nine bytes.
  EXPECT_EQ(Read({.offset = 0, .length = kMaxRangeBytes}).status().code(),
            absl::StatusCode::kDataLoss);
  unlink(path_.c_str());
  EXPECT_EQ(Read(range).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(FileBytesTest, AFifoHoldsNobody) {
  const std::string fifo = path_ + ".fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_FALSE(ReadFileRange(fifo, {.offset = 0, .length = 1}, nullptr).ok());
  unlink(fifo.c_str());
}

TEST_F(FileBytesTest, PiecesMakeTheWhole) {
  std::string content;
  for (int i = 0; i < 1000; ++i) content += static_cast<char>(i * 7);
  Write(content);
  auto reader = FileRangeReader::Open(path_, RangeOf(content, 10, 900), nullptr);
  ASSERT_TRUE(reader.ok()) << reader.status();
  std::string whole;
  for (;;) {
    EXPECT_EQ(reader->offset(), whole.size());
    const auto piece = reader->Next(256);
    ASSERT_TRUE(piece.ok()) << piece.status();
    if (piece->empty()) break;
    EXPECT_LE(piece->size(), 256u);
    whole += *piece;
  }
  EXPECT_EQ(whole, content.substr(10, 900));
}

TEST_F(FileBytesTest, WhatChangesBetweenTwoPiecesIsNoticed) {
  const std::string content(1000, 'a');
  Write(content);
  auto reader = FileRangeReader::Open(path_, RangeOf(content, 0, 1000), nullptr);
  ASSERT_TRUE(reader.ok()) << reader.status();
  ASSERT_TRUE(reader->Next(600).ok());
  Write(std::string(1000, 'b'));
  EXPECT_EQ(reader->Next(600).status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace datamanager

#include "eventlog/event_file_writer.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "eventlog/event.h"

namespace eventlog {
namespace {

class EventFileWriterTest : public testing::Test {
 protected:
  EventFileWriterTest() {
    char name[] = "/tmp/evwr-XXXXXX";
    directory_ = mkdtemp(name);
    path_ = directory_ + "/" + EventFileName(1700000000, "host", 1, 0);
  }
  ~EventFileWriterTest() override { std::filesystem::remove_all(directory_); }

  static std::string Step(std::int64_t step) {
    const Scalar scalar{"loss", 0.5};
    return RenderScalars(1, step, {&scalar, 1});
  }
  EventFileWriter Open() {
    auto writer = EventFileWriter::Open(path_);
    EXPECT_TRUE(writer.ok()) << writer.status();
    return std::move(*writer);
  }
  std::string Content() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string directory_, path_;
};

TEST_F(EventFileWriterTest, GoesOnAtTheEnd) {
  ASSERT_TRUE(Open().Append(RenderFileHeader(1) + Step(1)).ok());
  EventFileWriter writer = Open();
  ASSERT_TRUE(writer.Append(Step(2)).ok());
  ASSERT_TRUE(writer.Sync().ok());
  const std::string whole = RenderFileHeader(1) + Step(1) + Step(2);
  EXPECT_EQ(Content(), whole);
  EXPECT_EQ(writer.Size().value(), whole.size());
}

TEST_F(EventFileWriterTest, ATornTailIsCutOffAndWrittenAgain) {
  const std::string before = RenderFileHeader(1) + Step(1);
  for (std::size_t torn = 0; torn <= Step(2).size(); ++torn) {
    std::filesystem::remove(path_);
    ASSERT_TRUE(Open().Append(before + Step(2).substr(0, torn)).ok());
    EventFileWriter writer = Open();
    ASSERT_TRUE(writer.Truncate(before.size()).ok());
    ASSERT_TRUE(writer.Append(Step(2) + Step(3)).ok());
    ASSERT_EQ(Content(), before + Step(2) + Step(3)) << torn;
  }
}

TEST_F(EventFileWriterTest, CuttingNeverMakesAFileLonger) {
  EventFileWriter writer = Open();
  ASSERT_TRUE(writer.Append(Step(1)).ok());
  EXPECT_EQ(writer.Truncate(Step(1).size() + 1).code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(Content(), Step(1));
}

TEST_F(EventFileWriterTest, AFullDiskIsAnErrorThatNamesThePathAndCanBeRepaired) {
  EventFileWriter writer = Open();
  ASSERT_TRUE(writer.Append(Step(1)).ok());
  // A file size limit simulates a full disk: a part of the event fits.
  signal(SIGXFSZ, SIG_IGN);
  rlimit old;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  const rlimit small = {Step(1).size() + 5, old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const absl::Status status = writer.Append(Step(2));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(std::string(status.message()).find(path_), std::string::npos) << status;
  EXPECT_EQ(Content(), Step(1) + Step(2).substr(0, 5));
  ASSERT_TRUE(writer.Truncate(Step(1).size()).ok());
  ASSERT_TRUE(writer.Append(Step(2)).ok());
  EXPECT_EQ(Content(), Step(1) + Step(2));
}

TEST_F(EventFileWriterTest, WhatIsNoPlaceForAnEventFileIsRefusedByName) {
  std::filesystem::create_symlink("/dev/null", path_);
  EXPECT_EQ(EventFileWriter::Open(path_).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(EventFileWriter::Open(directory_ + "/gone/x").status().code(),
            absl::StatusCode::kNotFound);
  const absl::Status status = EventFileWriter::Open(directory_).status();
  EXPECT_NE(std::string(status.message()).find(directory_), std::string::npos) << status;
  EXPECT_EQ(EventFileWriter::Open("/dev/null").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace eventlog

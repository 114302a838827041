#include "eventlog/event_file_reader.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "eventlog/event.h"
#include "eventlog/record.h"

namespace eventlog {
namespace {

class EventFileReaderTest : public testing::Test {
 protected:
  EventFileReaderTest() {
    char name[] = "/tmp/evrd-XXXXXX";
    directory_ = mkdtemp(name);
    path_ = directory_ + "/x.tfevents";
  }
  ~EventFileReaderTest() override { std::filesystem::remove_all(directory_); }

  void Append(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary | std::ios::app) << bytes;
  }
  static std::string Step(std::int64_t step) {
    const Scalar scalar{"loss", 1};
    return RenderScalars(1, step, {&scalar, 1});
  }
  std::unique_ptr<EventFileReader> Open() {
    auto reader = EventFileReader::Open(path_);
    EXPECT_TRUE(reader.ok()) << reader.status();
    return std::move(*reader);
  }
  static std::vector<std::int64_t> Steps(EventFileReader& reader, absl::Status* status = nullptr) {
    std::vector<std::int64_t> steps;
    const absl::Status read =
        reader.ReadNew([&](const Event& event) { steps.push_back(event.step); });
    if (status != nullptr) *status = read;
    return steps;
  }

  std::string directory_, path_;
};

TEST_F(EventFileReaderTest, ReadsOnFromWhereItEnded) {
  Append(Step(1) + Step(2));
  auto reader = Open();
  EXPECT_EQ(Steps(*reader), (std::vector<std::int64_t>{1, 2}));
  EXPECT_TRUE(Steps(*reader).empty());
  Append(Step(3));
  EXPECT_EQ(Steps(*reader), (std::vector<std::int64_t>{3}));
  EXPECT_EQ(reader->records(), 3u);
  EXPECT_EQ(reader->offset(), std::filesystem::file_size(path_));
}

TEST_F(EventFileReaderTest, AFileCutAtEveryByteGivesAPrefixAndThenTheRest) {
  const std::string bytes = RenderFileHeader(1) + Step(1) + Step(2);
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    std::filesystem::remove(path_);
    Append(bytes.substr(0, cut));
    auto reader = Open();
    auto steps = Steps(*reader);
    Append(bytes.substr(cut));
    const auto rest = Steps(*reader);
    steps.insert(steps.end(), rest.begin(), rest.end());
    ASSERT_EQ(steps, (std::vector<std::int64_t>{0, 1, 2})) << cut;
    ASSERT_EQ(reader->bad_records(), 0u) << cut;
  }
}

TEST_F(EventFileReaderTest, EveryFlippedBitCostsAtMostWhatItMust) {
  const std::string bytes = Step(1) + Step(2) + Step(3);
  const std::size_t size = bytes.size() / 3;
  for (std::size_t bit = size * 8; bit < size * 16; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    std::filesystem::remove(path_);
    Append(damaged);
    auto reader = Open();
    absl::Status status;
    const auto steps = Steps(*reader, &status);
    if (bit / 8 < size + kRecordHeaderBytes) {
      ASSERT_EQ(steps, (std::vector<std::int64_t>{1})) << bit;
      ASSERT_EQ(status.code(), absl::StatusCode::kDataLoss);
    } else {
      ASSERT_EQ(steps, (std::vector<std::int64_t>{1, 3})) << bit;
      ASSERT_TRUE(status.ok());
    }
    ASSERT_EQ(reader->bad_records(), 1u);
  }
}

TEST_F(EventFileReaderTest, DamageIsSaidOnce) {
  Append(Step(1) + std::string(100, 'x'));
  auto reader = Open();
  absl::Status status;
  Steps(*reader, &status);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  Append(Step(2));
  EXPECT_TRUE(Steps(*reader, &status).empty());
  EXPECT_TRUE(status.ok());
}

TEST_F(EventFileReaderTest, ARecordLargerThanAChunkIsRead) {
  std::string record;
  AppendRecord(std::string("\x2a\x80\x80\xc0\x02", 5) + std::string(5 << 20, '\0'), &record);
  // A record that is no event costs itself, whatever its size.
  Append(Step(1) + record + Step(2));
  auto reader = Open();
  EXPECT_EQ(Steps(*reader), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(reader->bad_records(), 1u);
}

TEST_F(EventFileReaderTest, CutShortReplacedAndGoneAreToldApartFromNoNews) {
  Append(Step(1) + Step(2));
  auto reader = Open();
  Steps(*reader);
  absl::Status status;
  std::filesystem::resize_file(path_, Step(1).size());
  Steps(*reader, &status);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  reader = Open();
  Steps(*reader);
  std::filesystem::remove(path_);
  Steps(*reader, &status);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(EventFileReaderTest, OpeningWhatCannotBeReadNamesIt) {
  EXPECT_EQ(EventFileReader::Open(path_).status().code(), absl::StatusCode::kNotFound);
  EXPECT_NE(std::string(EventFileReader::Open(path_).status().message()).find(path_),
            std::string::npos);
  EXPECT_EQ(EventFileReader::Open(directory_).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace eventlog

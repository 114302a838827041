#include "eventlog/event_file_reader.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "eventlog/crc32c.h"
#include "eventlog/event.h"
#include "eventlog/record.h"

namespace eventlog {
namespace {

using namespace std::string_literals;

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

TEST_F(EventFileReaderTest, AnotherFileOfTheSameNameIsNotReadAsTheOldOne) {
  Append(Step(1));
  auto reader = Open();
  Steps(*reader);
  const std::string old = path_;
  path_ += ".new";
  Append(Step(7) + Step(8) + Step(9));
  std::filesystem::rename(path_, old);
  path_ = old;
  absl::Status status;
  EXPECT_TRUE(Steps(*reader, &status).empty());
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Steps(*Open()), (std::vector<std::int64_t>{7, 8, 9}));
}

TEST_F(EventFileReaderTest, ATailThatWasReadAndCutOffAgainIsNoticed) {
  const std::string half = Step(2).substr(0, 20);
  Append(Step(1) + half);
  auto reader = Open();
  Steps(*reader);
  std::filesystem::resize_file(path_, Step(1).size());
  absl::Status status;
  Steps(*reader, &status);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(EventFileReaderTest, ALaterReaderGoesOnAtAnOffset) {
  Append(RenderFileHeader(1) + Step(1));
  auto first = Open();
  Steps(*first);
  Append(Step(2));
  auto later = EventFileReader::Open(path_, {.offset = first->offset()});
  ASSERT_TRUE(later.ok()) << later.status();
  EXPECT_EQ(Steps(**later), (std::vector<std::int64_t>{2}));
  EXPECT_EQ((*later)->offset(), std::filesystem::file_size(path_));
}

TEST_F(EventFileReaderTest, AnOffsetBehindTheEndIsAFileThatWasCutShort) {
  Append(Step(1));
  auto reader = EventFileReader::Open(path_, {.offset = 10'000});
  ASSERT_TRUE(reader.ok()) << reader.status();
  absl::Status status;
  Steps(**reader, &status);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(EventFileReaderTest, EachPartOfAnEventHasItsPlaceInTheFile) {
  // Larger than a chunk together, so that the buffer moves under the records.
  const std::string tag(300'000, 't');
  for (int step = 0; step < 8; ++step) {
    const std::string name = tag + std::to_string(step);
    const Scalar scalar{name, 1};
    Append(RenderScalars(1, step, {&scalar, 1}));
  }
  std::ifstream file(path_, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  auto reader = Open();
  std::uint64_t end = 0;
  int events = 0;
  const absl::Status status = reader->ReadNew([&](const Event& event) {
    const std::string_view name = event.values.at(0).tag;
    EXPECT_EQ(reader->offset(), end);
    EXPECT_EQ(bytes.substr(reader->OffsetOf(name), name.size()), name);
    end += ParseRecord(std::string_view(bytes).substr(end)).size;
    ++events;
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(events, 8);
  EXPECT_EQ(reader->offset(), end);
}

TEST_F(EventFileReaderTest, ALengthOverTheLimitIsDamage) {
  Append(Step(1) + Step(2));
  auto reader = EventFileReader::Open(path_, {.max_payload_bytes = 10});
  ASSERT_TRUE(reader.ok()) << reader.status();
  absl::Status status;
  EXPECT_TRUE(Steps(**reader, &status).empty());
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
}

TEST_F(EventFileReaderTest, APromisedRecordThatNeverComesIsWaitedForWithoutItsMemory) {
  std::string header = "\0\0\0\x19\0\0\0\0"s;  // 400 MiB
  const std::uint32_t crc = MaskCrc(Crc32c(header));
  header.append(reinterpret_cast<const char*>(&crc), sizeof crc);
  Append(Step(1) + header + "a beginning");
  auto reader = Open();
  absl::Status status;
  EXPECT_EQ(Steps(*reader, &status), (std::vector<std::int64_t>{1}));
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(Steps(*reader, &status).empty());
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(reader->offset(), Step(1).size());
  EXPECT_EQ(reader->bad_records(), 0u);
}

TEST_F(EventFileReaderTest, AnEmptyPayloadIsAnEventWithNothing) {
  std::string record;
  AppendRecord("", &record);
  Append(Step(1) + record + Step(2));
  auto reader = Open();
  EXPECT_EQ(Steps(*reader), (std::vector<std::int64_t>{1, 0, 2}));
  EXPECT_EQ(reader->bad_records(), 0u);
}

TEST_F(EventFileReaderTest, OpeningWhatCannotBeReadNamesIt) {
  EXPECT_EQ(EventFileReader::Open(path_).status().code(), absl::StatusCode::kNotFound);
  EXPECT_NE(std::string(EventFileReader::Open(path_).status().message()).find(path_),
            std::string::npos);
  EXPECT_EQ(EventFileReader::Open(directory_).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace eventlog

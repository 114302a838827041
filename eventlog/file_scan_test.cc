#include "eventlog/file_scan.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "eventlog/crc32c.h"
#include "eventlog/file_faults.h"
#include "eventlog/record.h"
#include "eventlog/record_scan.h"

namespace eventlog {
namespace {

std::string Framed(std::string_view payload) {
  std::string record;
  AppendRecord(payload, &record);
  return record;
}
// Returns a record of 27 bytes.
std::string Numbered(int number) {
  std::string text = std::to_string(number);
  return Framed(std::string(11 - text.size(), '0') + text);
}
std::string NumberedUpTo(int first, int last) {
  std::string records;
  for (int i = first; i < last; ++i) records += Numbered(i);
  return records;
}

// One reader of a file: what it has read, and the state that it would keep.
struct Reader {
  FilePosition position;
  FileFaults faults;
  ReadBuffer buffer;
  std::vector<std::string> payloads;

  FileScanResult Scan(const std::string& path, FileScanOptions options = {}) {
    return ScanFile(path, options, &position, &buffer, &faults,
                    [this](RecordChunk chunk, const RecordLimits& limits, RecordPosition* where,
                           FileFaults* found) {
                      return ScanRecords(chunk, limits, where, found,
                                         [&](std::string_view payload, std::uint64_t) {
                                           payloads.emplace_back(payload);
                                         });
                    });
  }
};

class FileScanTest : public testing::Test {
 protected:
  FileScanTest() {
    char name[] = "/tmp/evfs-XXXXXX";
    directory_ = mkdtemp(name);
    path_ = directory_ + "/x.tfevents";
  }
  ~FileScanTest() override { std::filesystem::remove_all(directory_); }

  void Append(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary | std::ios::app) << bytes;
  }
  // Replaces the contents, but not the inode.
  void Rewrite(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
  }
  void Replace(const std::string& bytes) {
    std::ofstream(path_ + ".new", std::ios::binary) << bytes;
    std::filesystem::rename(path_ + ".new", path_);
  }
  ScanOutcome Scan() { return reader_.Scan(path_).outcome; }
  // Scans until the file's clock has advanced, so that no contents need comparing any more.
  void Settle() {
    while (Scan() == ScanOutcome::kRead) {
    }
  }

  std::string directory_, path_;
  Reader reader_;
};

using Payloads = std::vector<std::string>;

std::size_t OpenFiles() {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

TEST_F(FileScanTest, ReadsOnFromWhereItEndedAndKeepsNothingOpen) {
  const std::size_t before = OpenFiles();
  Append(Framed("one") + Framed("two"));
  EXPECT_EQ(Scan(), ScanOutcome::kRead);
  Append(Framed("three"));
  const FileScanResult result = reader_.Scan(path_);
  EXPECT_EQ(result.outcome, ScanOutcome::kRead);
  EXPECT_FALSE(result.more);
  EXPECT_EQ(result.size, std::filesystem::file_size(path_));
  EXPECT_EQ(reader_.payloads, (Payloads{"one", "two", "three"}));
  EXPECT_EQ(reader_.position.record.offset, result.size);
  EXPECT_TRUE(reader_.faults.empty());
  EXPECT_EQ(OpenFiles(), before);
}

TEST_F(FileScanTest, WhatIsUnchangedIsNotRead) {
  Append(NumberedUpTo(0, 1000));
  Settle();
  const FilePosition position = reader_.position;
  const FileScanResult result = reader_.Scan(path_);
  EXPECT_EQ(result.outcome, ScanOutcome::kUnchanged);
  EXPECT_EQ(result.read_bytes, 0u);
  EXPECT_EQ(reader_.position, position);
  EXPECT_EQ(reader_.payloads.size(), 1000u);
}

TEST_F(FileScanTest, GrowthIsReadAndLittleMore) {
  Append(NumberedUpTo(0, 10'000));
  Settle();
  Append(Numbered(10'000));
  const FileScanResult result = reader_.Scan(path_);
  EXPECT_EQ(reader_.payloads.size(), 10'001u);
  EXPECT_LE(result.read_bytes, Numbered(0).size() + (5 << 10));
}

TEST_F(FileScanTest, AFileCutAtEveryByteGivesAPrefixAndThenTheRest) {
  const std::string bytes = Framed("one") + Framed("") + Framed("three");
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    std::filesystem::remove(path_);
    Reader reader;
    Append(bytes.substr(0, cut));
    ASSERT_EQ(reader.Scan(path_).outcome, ScanOutcome::kRead);
    const std::uint64_t rest = cut - reader.position.record.offset;
    ASSERT_EQ(reader.faults.Of(FaultKind::kUnfinishedTail).bytes, rest) << cut;
    Append(bytes.substr(cut));
    reader.Scan(path_);
    ASSERT_EQ(reader.payloads, (Payloads{"one", "", "three"})) << cut;
    ASSERT_TRUE(reader.faults.empty()) << cut;
  }
}

TEST_F(FileScanTest, AShorterFileIsNoticedAndNothingIsHandedOut) {
  Append(NumberedUpTo(0, 10));
  Scan();
  const FilePosition position = reader_.position;
  std::filesystem::resize_file(path_, 260);
  EXPECT_EQ(Scan(), ScanOutcome::kShrunk);
  EXPECT_EQ(reader_.position, position);
  EXPECT_EQ(reader_.payloads.size(), 10u);
  EXPECT_EQ(reader_.faults.Of(FaultKind::kShrunk).count, 1u);
}

TEST_F(FileScanTest, AShorterTailIsNoLoss) {
  Append(Numbered(0) + Numbered(1).substr(0, 20));
  Scan();
  std::filesystem::resize_file(path_, 30);
  EXPECT_EQ(Scan(), ScanOutcome::kRead);
  Rewrite(NumberedUpTo(0, 2));
  EXPECT_EQ(Scan(), ScanOutcome::kRead);
  EXPECT_EQ(reader_.payloads.size(), 2u);
}

TEST_F(FileScanTest, AnotherFileOfTheNameIsNoticedWhateverItsSize) {
  for (const int records : {1, 10, 11, 2000}) {
    Reader reader;
    Replace(NumberedUpTo(0, 10));
    reader.Scan(path_);
    Replace(NumberedUpTo(5, 5 + records));
    EXPECT_EQ(reader.Scan(path_).outcome, ScanOutcome::kReplaced) << records;
    EXPECT_EQ(reader.faults.Of(FaultKind::kReplaced).count, 1u);
    EXPECT_EQ(reader.payloads.size(), 10u);
  }
}

TEST_F(FileScanTest, ACopyThatGrewGoesOn) {
  Replace(NumberedUpTo(0, 10'000));
  Scan();
  Replace(NumberedUpTo(0, 10'001));
  const FileScanResult result = reader_.Scan(path_);
  EXPECT_EQ(result.outcome, ScanOutcome::kRead);
  EXPECT_EQ(reader_.payloads.size(), 10'001u);
  EXPECT_LT(result.read_bytes, 10u << 10);
  EXPECT_TRUE(reader_.faults.empty());
}

TEST_F(FileScanTest, ContentThatChangedInPlaceIsNoticed) {
  struct Case {
    std::string name;
    int records;
    std::size_t at;  // Offset of the byte to change.
    bool grows;
  };
  const int many = 1000;
  const std::size_t end = many * 27;
  const Case cases[] = {
      {"a small file", 3, 40, true},     {"a small file, as long", 3, 40, false},
      {"the head", many, 0, true},       {"the head, as long", many, 1023, false},
      {"the tail", many, end - 1, true}, {"the tail, as long", many, end - 4096, false},
  };
  for (const Case& c : cases) {
    const std::string bytes = NumberedUpTo(0, c.records);
    Rewrite(bytes);
    reader_ = {};
    Settle();
    std::string changed = bytes + (c.grows ? Numbered(c.records) : "");
    changed[c.at] = static_cast<char>(changed[c.at] ^ 1);
    Rewrite(changed);
    EXPECT_EQ(Scan(), ScanOutcome::kRewritten) << c.name;
    EXPECT_EQ(reader_.payloads.size(), static_cast<std::size_t>(c.records)) << c.name;
    EXPECT_EQ(reader_.faults.Of(FaultKind::kRewritten).count, 1u) << c.name;
  }
}

TEST_F(FileScanTest, WhatWasDamagedAndIsThereLaterIsNoticed) {
  // Far from the end, so that the checksums that identify the file do not change.
  const std::string bytes = NumberedUpTo(0, 1000);
  struct Case {
    std::string name;
    std::size_t begin, length;  // The range of zeros.
    bool grows;
  };
  const Case cases[] = {
      {"a hole", 100 * 27, 50 * 27, false},
      {"a hole, and more has come", 100 * 27, 50 * 27, true},
      {"in the middle of a record", 100 * 27 + 20, 40, false},
      {"a payload", 100 * 27 + 12, 11, false},
  };
  for (const Case& c : cases) {
    std::string damaged = bytes;
    damaged.replace(c.begin, c.length, c.length, '\0');
    Rewrite(damaged);
    reader_ = {};
    Settle();
    EXPECT_LT(reader_.payloads.size(), 1000u) << c.name;
    EXPECT_NE(Scan(), ScanOutcome::kRewritten) << c.name << ": it is as damaged as it was";
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(c.begin));
    file << bytes.substr(c.begin, c.length) << std::flush;
    if (c.grows) Append(Numbered(1000));
    EXPECT_EQ(Scan(), ScanOutcome::kRewritten) << c.name;
  }
}

TEST_F(FileScanTest, AFileThatBeginsWithNoRecordIsNoEventFileUntilItDoes) {
  const std::string records = NumberedUpTo(0, 10);
  Append("an archive of " + records);
  Settle();
  EXPECT_TRUE(reader_.payloads.empty());
  EXPECT_EQ(reader_.position.record.offset, 0u);
  const std::uint64_t size = std::filesystem::file_size(path_);
  EXPECT_EQ(reader_.faults.Of(FaultKind::kBadLength),
            (Fault{FaultKind::kBadLength, 1, size, 0, 0}));
  EXPECT_EQ(reader_.faults.all().size(), 1u);
  Append("more");
  EXPECT_EQ(Scan(), ScanOutcome::kRead);
  EXPECT_TRUE(reader_.payloads.empty());
  Rewrite(records);
  EXPECT_EQ(Scan(), ScanOutcome::kRead);
  EXPECT_EQ(reader_.payloads.size(), 10u);
  EXPECT_TRUE(reader_.faults.empty());
}

TEST_F(FileScanTest, AHoleIsPassedOverWithoutBeingRead) {
  constexpr std::uint64_t kHole = std::uint64_t{64} << 30;
  Append(Numbered(0) + "damage");
  std::filesystem::resize_file(path_, kHole);
  Reader until_now;
  EXPECT_EQ(until_now.Scan(path_).outcome, ScanOutcome::kRead);
  EXPECT_EQ(until_now.payloads.size(), 1u);
  // The record's length begins with zero bytes, like the hole before it.
  std::string record = Framed(std::string(256, 'x'));
  ASSERT_EQ(record[0], '\0');
  Append(record + Numbered(1));
  const FileScanResult result = reader_.Scan(path_);
  EXPECT_EQ(result.outcome, ScanOutcome::kRead);
  EXPECT_FALSE(result.more);
  EXPECT_LT(result.read_bytes, 4 * ReadBuffer::kBytes);
  EXPECT_EQ(reader_.payloads.size(), 3u);
  EXPECT_EQ(reader_.faults.Of(FaultKind::kBadLength),
            (Fault{FaultKind::kBadLength, 1, kHole - 27, 27, 27}));
  // The reader that had scanned the file before finds the same.
  EXPECT_EQ(until_now.Scan(path_).outcome, ScanOutcome::kRead);
  EXPECT_EQ(until_now.payloads, reader_.payloads);
  EXPECT_EQ(until_now.faults.Of(FaultKind::kBadLength), reader_.faults.Of(FaultKind::kBadLength));
  Append(Numbered(2));
  EXPECT_EQ(Scan(), ScanOutcome::kRead);
  EXPECT_EQ(reader_.payloads.size(), 4u);
}

TEST_F(FileScanTest, AChangeInTheTickOfTheLookIsNoticed) {
  // Most of these many changes happen within one tick of the file system's clock.
  for (int i = 0; i < 50; ++i) {
    Reader reader;
    Rewrite(Framed("before"));
    reader.Scan(path_);
    Rewrite(Framed("behind"));
    ASSERT_EQ(reader.Scan(path_).outcome, ScanOutcome::kRewritten) << i;
  }
}

TEST_F(FileScanTest, WhatCannotBeReadIsNamedAndTriedAgain) {
  const FileScanResult gone = reader_.Scan(path_);
  EXPECT_EQ(gone.outcome, ScanOutcome::kGone);
  EXPECT_EQ(gone.status.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(std::string(gone.status.message()).find(path_), std::string::npos);
  EXPECT_EQ(reader_.faults.Of(FaultKind::kVanished).count, 1u);
  const FileScanResult directory = reader_.Scan(directory_);
  EXPECT_EQ(directory.outcome, ScanOutcome::kUnreadable);
  EXPECT_EQ(directory.status.code(), absl::StatusCode::kInvalidArgument);
  ASSERT_EQ(mkfifo((directory_ + "/fifo").c_str(), 0600), 0);
  EXPECT_EQ(reader_.Scan(directory_ + "/fifo").outcome, ScanOutcome::kUnreadable);
  EXPECT_EQ(reader_.faults.Of(FaultKind::kUnreadable).count, 2u);

  Append(Framed("one"));
  EXPECT_EQ(Scan(), ScanOutcome::kRead);
  EXPECT_EQ(reader_.payloads, (Payloads{"one"}));
}

TEST_F(FileScanTest, WithoutADescriptorNothingIsLost) {
  Append(Framed("one"));
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  // A limit below every descriptor that could be allocated.
  const rlimit none{0, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const FileScanResult result = reader_.Scan(path_);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(result.outcome, ScanOutcome::kNoDescriptor);
  EXPECT_EQ(reader_.faults.Of(FaultKind::kNoDescriptor).count, 1u);
  EXPECT_EQ(Scan(), ScanOutcome::kRead);
  EXPECT_EQ(reader_.payloads, (Payloads{"one"}));
}

TEST_F(FileScanTest, InStepsAsAtOnce) {
  Append(NumberedUpTo(0, 50'000) + "the end of it");
  Reader at_once;
  EXPECT_FALSE(at_once.Scan(path_).more);
  int steps = 0;
  while (reader_.Scan(path_, {.step_bytes = 100'000}).more) ++steps;
  EXPECT_GT(steps, 3);
  EXPECT_EQ(reader_.payloads, at_once.payloads);
  EXPECT_EQ(reader_.payloads.size(), 50'000u);
  EXPECT_EQ(reader_.position.record, at_once.position.record);
  EXPECT_EQ(reader_.position.tail_crc, at_once.position.tail_crc);
  EXPECT_EQ(reader_.position.head_crc, at_once.position.head_crc);
}

TEST_F(FileScanTest, ARecordLongerThanTheBufferIsReadAndItsMemoryGivenBack) {
  const std::string payload(5 << 20, 'x');
  Append(Numbered(0) + Framed(payload) + Numbered(1));
  EXPECT_EQ(Scan(), ScanOutcome::kRead);
  ASSERT_EQ(reader_.payloads.size(), 3u);
  EXPECT_EQ(reader_.payloads[1], payload);
  EXPECT_LE(reader_.buffer.capacity(), ReadBuffer::kBytes);
}

TEST_F(FileScanTest, APromisedRecordThatNeverComesCostsNothing) {
  std::string header("\0\0\0\x19\0\0\0\0", 8);  // 400 MiB
  const std::uint32_t crc = MaskCrc(Crc32c(header));
  header.append(reinterpret_cast<const char*>(&crc), sizeof crc);
  Append(Numbered(0) + header + std::string(3 << 20, 'x'));
  const FileScanResult result = reader_.Scan(path_);
  EXPECT_EQ(result.outcome, ScanOutcome::kRead);
  EXPECT_LE(result.read_bytes, ReadBuffer::kBytes);
  EXPECT_EQ(reader_.position.record.offset, 27u);
  EXPECT_EQ(reader_.faults.Of(FaultKind::kUnfinishedTail).bytes, 12u + (3 << 20));
}

TEST_F(FileScanTest, DamageLongerThanTheBufferIsSkipped) {
  std::string damage;
  for (int i = 0; damage.size() < 3 * ReadBuffer::kBytes; ++i) damage += std::to_string(i * 7);
  Append(Numbered(0) + damage + Numbered(1));
  Scan();
  EXPECT_EQ(reader_.payloads.size(), 2u);
  EXPECT_EQ(reader_.faults.Of(FaultKind::kBadLength),
            (Fault{FaultKind::kBadLength, 1, damage.size(), 27, 27}));
}

TEST_F(FileScanTest, TwoThreadsReadOneFile) {
  const std::string bytes = NumberedUpTo(0, 40'000);
  Append(bytes);
  const std::uint64_t middle = bytes.size() / 2;
  Reader second;
  second.position = SeekPosition(middle);
  std::thread thread([&] { second.Scan(path_); });
  FileScanOptions until;
  until.limits.end = middle;
  EXPECT_TRUE(reader_.Scan(path_, until).more);
  thread.join();
  const std::optional<FilePosition> joined = JoinPositions(reader_.position, second.position);
  ASSERT_TRUE(joined.has_value());
  reader_.payloads.insert(reader_.payloads.end(), second.payloads.begin(), second.payloads.end());

  Reader whole;
  whole.Scan(path_);
  EXPECT_EQ(reader_.payloads, whole.payloads);
  EXPECT_EQ(joined->record, whole.position.record);
  EXPECT_EQ(joined->head_crc, whole.position.head_crc);
  EXPECT_EQ(joined->tail_crc, whole.position.tail_crc);
  // The joined position continues after both parts.
  reader_.position = *joined;
  Append(Numbered(40'000));
  EXPECT_EQ(Scan(), ScanOutcome::kRead);
  EXPECT_EQ(reader_.payloads.size(), 40'001u);
}

TEST_F(FileScanTest, LittleIsReadBehindAnEnd) {
  constexpr std::uint64_t kBehind = 4 << 10;
  Append(NumberedUpTo(0, 40'000) + Framed(std::string(100'000, 'x')) + Numbered(40'000));
  FileScanOptions until;
  until.limits.end = 1000;
  const FileScanResult first = reader_.Scan(path_, until);
  EXPECT_TRUE(first.more);
  EXPECT_EQ(reader_.position.record.offset, 38 * 27u);
  EXPECT_LE(first.read_bytes, 1000 + kBehind);
  // The end is inside the long record, which must be read completely, and no record after it.
  until.limits.end = 40'000 * 27 + 5;
  EXPECT_TRUE(reader_.Scan(path_, until).more);
  EXPECT_EQ(reader_.payloads.size(), 40'001u);
  EXPECT_EQ(reader_.payloads.back().size(), 100'000u);
  // The position is already past the limit.
  const std::uint64_t offset = reader_.position.record.offset;
  until.limits.end = 10;
  const FileScanResult none = reader_.Scan(path_, until);
  EXPECT_EQ(none.outcome, ScanOutcome::kRead);
  EXPECT_TRUE(none.more);
  EXPECT_EQ(reader_.position.record.offset, offset);
  EXPECT_EQ(Scan(), ScanOutcome::kRead);
  EXPECT_EQ(reader_.payloads.size(), 40'002u);
  EXPECT_TRUE(reader_.faults.empty());
}

TEST_F(FileScanTest, HalvesThatDoNotMeetAreNotJoined) {
  // Whole records inside a payload: a reader that starts in the middle takes them for records.
  Append(Numbered(0) + Framed(NumberedUpTo(100, 200)) + NumberedUpTo(1, 10));
  FileScanOptions until;
  until.limits.end = 1000;
  reader_.Scan(path_, until);
  Reader second;
  second.position = SeekPosition(1000);
  second.Scan(path_);
  EXPECT_NE(second.position.record.began, reader_.position.record.offset);
  EXPECT_FALSE(JoinPositions(reader_.position, second.position).has_value());
  EXPECT_EQ(Scan(), ScanOutcome::kRead);
  EXPECT_EQ(reader_.payloads.size(), 11u);

  // The second reader found no record.
  Reader late;
  late.position = SeekPosition(std::filesystem::file_size(path_) - 5);
  EXPECT_EQ(late.Scan(path_).outcome, ScanOutcome::kRead);
  EXPECT_FALSE(JoinPositions(reader_.position, late.position).has_value());
}

TEST_F(FileScanTest, AnEmptyFileIsReadWhenSomethingComes) {
  Append("");
  EXPECT_EQ(Scan(), ScanOutcome::kRead);
  EXPECT_TRUE(reader_.faults.empty());
  Append(Framed("one"));
  EXPECT_EQ(Scan(), ScanOutcome::kRead);
  EXPECT_EQ(reader_.payloads, (Payloads{"one"}));
}

}  // namespace
}  // namespace eventlog

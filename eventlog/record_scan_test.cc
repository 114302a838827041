#include "eventlog/record_scan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "eventlog/crc32c.h"
#include "eventlog/file_faults.h"
#include "eventlog/record.h"

namespace eventlog {
namespace {

using State = RecordPosition::State;

std::string Framed(std::string_view payload) {
  std::string record;
  AppendRecord(payload, &record);
  return record;
}

std::string Header(std::uint64_t length) {
  std::string header(8, '\0');
  std::memcpy(header.data(), &length, 8);
  const std::uint32_t crc = MaskCrc(Crc32c(header));
  header.append(reinterpret_cast<const char*>(&crc), sizeof crc);
  return header;
}

// A pass over a file in memory, which is read through a window.
struct Pass {
  RecordPosition position;
  FileFaults faults;
  std::vector<std::string> payloads;
  std::vector<std::uint64_t> offsets;

  // Reads to the end of `file` or to the limit. Returns the number of bytes that the last
  // ScanRecords() needed.
  std::size_t Read(std::string_view file, std::size_t window = 1 << 20, RecordLimits limits = {}) {
    std::size_t needed = 0;
    for (;;) {
      const std::string_view rest = file.substr(position.offset);
      const std::string_view data = rest.substr(0, std::max(window, needed));
      needed = ScanRecords({data, rest.size()}, limits, &position, &faults,
                           [&](std::string_view payload, std::uint64_t offset) {
                             payloads.emplace_back(payload);
                             offsets.push_back(offset);
                           });
      // Also for kNoRecords.
      if (needed == 0 || needed > file.size() - position.offset) return needed;
    }
  }
};

using Payloads = std::vector<std::string>;

TEST(RecordScanTest, ReadsRecordsWithTheirPlaces) {
  Pass pass;
  EXPECT_EQ(pass.Read(Framed("one") + Framed("") + Framed("three")), kRecordHeaderBytes);
  EXPECT_EQ(pass.payloads, (Payloads{"one", "", "three"}));
  EXPECT_EQ(pass.offsets, (std::vector<std::uint64_t>{0, 19, 35}));
  EXPECT_EQ(pass.position.offset, 56u);
  EXPECT_TRUE(pass.faults.empty());
}

TEST(RecordScanTest, EveryFlippedBitCostsOneRecordAndIsCounted) {
  const std::string record = Framed("two two"), bytes = Framed("one") + record + Framed("three");
  for (std::size_t bit = 19 * 8; bit < (19 + record.size()) * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    Pass pass;
    pass.Read(damaged);
    ASSERT_EQ(pass.payloads, (Payloads{"one", "three"})) << bit;
    const bool header = bit / 8 < 19 + kRecordHeaderBytes;
    const Fault expected{header ? FaultKind::kBadLength : FaultKind::kBadPayload, 1, record.size(),
                         19, 19};
    ASSERT_EQ(pass.faults.all().size(), 1u) << bit;
    ASSERT_EQ(pass.faults.all()[0], expected) << bit;
  }
}

TEST(RecordScanTest, DamageCostsNoMoreThanWhatIsDamaged) {
  const std::string a = Framed("a"), b = Framed("b"), c = Framed("c");
  struct Case {
    std::string name, file;
    Payloads payloads;
    std::vector<Fault> faults;
  };
  const Case cases[] = {
      {"a first record that is too long",
       Header(kMaxPayloadBytes + 1) + a,
       {"a"},
       {{FaultKind::kTooLong, 1, 12, 0, 0}}},
      {"zeros between",
       a + std::string(4096, '\0') + b,
       {"a", "b"},
       {{FaultKind::kBadLength, 1, 4096, 17, 17}}},
      {"a record that lost its middle",
       a + Framed("0123456789").substr(0, 15) + b + c,
       {"a", "c"},
       // Its payload swallows the beginning of the next record, so the search starts in the middle.
       {{FaultKind::kBadPayload, 1, 26, 17, 17}, {FaultKind::kBadLength, 1, 6, 43, 43}}},
      {"a length over the limit",
       a + Header(kMaxPayloadBytes + 1) + b,
       {"a", "b"},
       {{FaultKind::kTooLong, 1, 12, 17, 17}}},
      {"a length of 2^63",
       a + Header(std::uint64_t{1} << 63) + b,
       {"a", "b"},
       {{FaultKind::kTooLong, 1, 12, 17, 17}}},
      {"a length of 2^64 - 1",
       a + Header(~std::uint64_t{0}) + b,
       {"a", "b"},
       {{FaultKind::kTooLong, 1, 12, 17, 17}}},
      {"damage twice",
       a + "x" + b + "yz" + c,
       {"a", "b", "c"},
       {{FaultKind::kBadLength, 2, 3, 17, 35}}},
  };
  for (const Case& test : cases) {
    for (const std::size_t window : {12u, 40u, 1u << 20}) {
      Pass pass;
      pass.Read(test.file, window);
      EXPECT_EQ(pass.payloads, test.payloads) << test.name << " " << window;
      EXPECT_EQ(std::vector<Fault>(pass.faults.all().begin(), pass.faults.all().end()), test.faults)
          << test.name << " " << window;
      EXPECT_EQ(pass.position.state, State::kAtRecord) << test.name << " " << window;
      EXPECT_EQ(pass.position.offset, test.file.size()) << test.name << " " << window;
    }
  }
}

TEST(RecordScanTest, InWhatDoesNotBeginWithARecordNoneIsLookedFor) {
  const std::string archive = "ustar" + std::string(507, '\0') + Framed("one") + Framed("two");
  for (const std::string& file :
       {archive, std::string(4096, '\0') + Framed("one"), std::string("x") + Framed("one")}) {
    Pass pass;
    EXPECT_EQ(pass.Read(file, 100), kNoRecords);
    EXPECT_TRUE(pass.payloads.empty());
    EXPECT_EQ(pass.position, RecordPosition());
    EXPECT_EQ(pass.faults.Of(FaultKind::kBadLength),
              (Fault{FaultKind::kBadLength, 1, file.size(), 0, 0}));
    // Reading it again changes nothing.
    EXPECT_EQ(pass.Read(file + "more"), kNoRecords);
    EXPECT_EQ(pass.faults.Of(FaultKind::kBadLength).count, 1u);
  }
  // The checksum of the length identifies the first record, although its payload is damaged.
  std::string damaged = Framed("one");
  damaged[13] = 'x';
  Pass pass;
  pass.Read(damaged + "damage" + Framed("two"));
  EXPECT_EQ(pass.payloads, (Payloads{"two"}));
}

TEST(RecordScanTest, AFileThatGrowsByteForByteGivesTheSame) {
  const std::string file = Framed("one") + "damage" + Framed("two") + Framed("three");
  Pass at_once, growing;
  at_once.Read(file);
  for (std::size_t size = 0; size <= file.size(); ++size) growing.Read(file.substr(0, size));
  EXPECT_EQ(growing.payloads, (Payloads{"one", "two", "three"}));
  EXPECT_EQ(growing.payloads, at_once.payloads);
  EXPECT_EQ(growing.position, at_once.position);
  EXPECT_EQ(growing.faults.Of(FaultKind::kBadLength), at_once.faults.Of(FaultKind::kBadLength));
}

TEST(RecordScanTest, ATailIsWaitedForAndDamageAtTheEndIsLeftWhenMoreComes) {
  const std::string one = Framed("one"), long_record = Framed(std::string(1000, 'x'));
  Pass pass;
  EXPECT_EQ(pass.Read(one + long_record.substr(0, 500)), long_record.size());
  EXPECT_EQ(pass.position.offset, one.size());
  EXPECT_EQ(pass.position.state, State::kAtRecord);
  EXPECT_TRUE(pass.faults.empty());

  std::string file = one + long_record + std::string(100, '\0');
  pass.Read(file);
  EXPECT_EQ(pass.payloads.size(), 2u);
  EXPECT_EQ(pass.position.state, State::kAfterBadLength);
  pass.Read(file + Framed("behind"));
  EXPECT_EQ(pass.payloads.back(), "behind");
  EXPECT_EQ(pass.faults.Of(FaultKind::kBadLength).bytes, 100u);
}

TEST(RecordScanTest, AHeaderInDamageThatPromisesMoreThanThereIsHidesNothing) {
  // It could be an incomplete record, but the complete record after it disproves that.
  const std::string begin = Framed("") + "x" + Header(50);
  Pass pass;
  EXPECT_EQ(pass.Read(begin), 66u);
  EXPECT_EQ(pass.position.offset, 17u);
  EXPECT_EQ(pass.position.state, State::kAfterBadLength);
  pass.Read(begin + Framed("a"));
  EXPECT_EQ(pass.payloads, (Payloads{"", "a"}));
  EXPECT_EQ(pass.faults.Of(FaultKind::kBadLength), (Fault{FaultKind::kBadLength, 1, 13, 16, 16}));
}

TEST(RecordScanTest, AFileInTwoHalvesIsTheWholeFile) {
  std::mt19937 random(1);
  std::string file;
  std::set<std::uint64_t> damage;
  for (int i = 0; i < 40; ++i) {
    file += Framed(std::string(random() % 60, static_cast<char>('a' + i % 26)));
    if (i % 10 != 9) continue;
    damage.insert(file.size());
    file += "damage";
  }
  Pass whole;
  whole.Read(file);
  ASSERT_EQ(whole.payloads.size(), 40u);
  for (std::size_t middle = 0; middle <= file.size(); ++middle) {
    Pass first, second;
    first.Read(file, 50, {.end = middle});
    second.position = RecordPosition::Seek(middle);
    second.Read(file, 70);
    if (second.position.state == State::kSeeking) {
      EXPECT_GE(first.position.offset + kRecordHeaderBytes, file.size()) << middle;
      continue;
    }
    if (damage.count(first.position.offset) > 0) {
      // Damage follows the first half, which does not know about it, so the halves do not join.
      EXPECT_NE(first.position.offset, second.position.began) << middle;
      continue;
    }
    ASSERT_EQ(first.position.offset, second.position.began) << middle;
    first.payloads.insert(first.payloads.end(), second.payloads.begin(), second.payloads.end());
    ASSERT_EQ(first.payloads, whole.payloads) << middle;
    ASSERT_EQ(second.position.offset, whole.position.offset) << middle;
    first.faults.Add(second.faults);
    ASSERT_EQ(first.faults.Of(FaultKind::kBadLength), whole.faults.Of(FaultKind::kBadLength))
        << middle;
  }
}

TEST(FileFaultsTest, CountsByKindAndTellsWhere) {
  FileFaults faults;
  EXPECT_TRUE(faults.empty());
  faults.Count(FaultKind::kNotAnEvent, 70, 5);
  faults.Count(FaultKind::kBadPayload, 10, 20);
  faults.Count(FaultKind::kBadPayload, 50, 30);
  faults.Set(FaultKind::kUnfinishedTail, 90, 4);
  faults.Set(FaultKind::kUnfinishedTail, 100, 6);
  const std::vector<Fault> expected = {{FaultKind::kBadPayload, 2, 50, 10, 50},
                                       {FaultKind::kNotAnEvent, 1, 5, 70, 70},
                                       {FaultKind::kUnfinishedTail, 1, 6, 100, 100}};
  EXPECT_EQ(std::vector<Fault>(faults.all().begin(), faults.all().end()), expected);
  faults.Clear(FaultKind::kUnfinishedTail);
  EXPECT_EQ(faults.Of(FaultKind::kUnfinishedTail), (Fault{.kind = FaultKind::kUnfinishedTail}));
  FileFaults later;
  later.Count(FaultKind::kBadPayload, 200, 1);
  later.Count(FaultKind::kTooLong, 300);
  faults.Add(later);
  EXPECT_EQ(faults.Of(FaultKind::kBadPayload), (Fault{FaultKind::kBadPayload, 3, 51, 10, 200}));
  EXPECT_EQ(faults.Of(FaultKind::kTooLong), (Fault{FaultKind::kTooLong, 1, 0, 300, 300}));
}

TEST(FileFaultsTest, OfAFileThatIsReadAnewWhatHappenedToItStays) {
  FileFaults faults;
  faults.Count(FaultKind::kBadPayload, 10, 20);
  faults.Set(FaultKind::kUnfinishedTail, 90, 4);
  faults.Count(FaultKind::kShrunk, 100);
  faults.Count(FaultKind::kNoDescriptor, 0);
  faults.ForgetContent();
  const std::vector<Fault> expected = {{FaultKind::kShrunk, 1, 0, 100, 100},
                                       {FaultKind::kNoDescriptor, 1, 0, 0, 0}};
  EXPECT_EQ(std::vector<Fault>(faults.all().begin(), faults.all().end()), expected);
}

TEST(FileFaultsTest, EveryKindHasAName) {
  EXPECT_EQ(FaultName(FaultKind::kBadPayload), "bad payload");
  EXPECT_EQ(FaultName(FaultKind::kNoDescriptor), "no descriptor");
}

}  // namespace
}  // namespace eventlog

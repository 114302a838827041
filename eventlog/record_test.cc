#include "eventlog/record.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>

#include "eventlog/crc32c.h"

namespace eventlog {
namespace {

using State = ParsedRecord::State;

std::string Framed(std::string_view payload) {
  std::string record;
  AppendRecord(payload, &record);
  return record;
}

TEST(Crc32cTest, KnownVectors) {
  EXPECT_EQ(Crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(Crc32c(""), 0u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62A8AB43u);
}

TEST(Crc32cTest, HardwareAndTableAgreeAtEveryLengthAndAlignment) {
  std::mt19937 random(1);
  std::string data(300, '\0');
  for (char& c : data) c = static_cast<char>(random());
  for (std::size_t start = 0; start < 9; ++start) {
    for (std::size_t size = 0; size < 280; ++size) {
      const std::string_view part = std::string_view(data).substr(start, size);
      ASSERT_EQ(Crc32c(part), Crc32cPortable(part)) << start << " " << size;
    }
  }
}

TEST(Crc32cTest, InPiecesAsAtOnce) {
  const std::string_view digits = "123456789";
  for (std::size_t cut = 0; cut <= digits.size(); ++cut) {
    EXPECT_EQ(ExtendCrc32c(Crc32c(digits.substr(0, cut)), digits.substr(cut)), 0xE3069283u) << cut;
  }
}

TEST(Crc32cTest, ZerosBehindNeedNotBeThere) {
  for (const std::size_t count : {0u, 1u, 7u, 4096u, 1u << 20}) {
    EXPECT_EQ(ExtendCrc32cByZeros(Crc32c("123456789"), count),
              Crc32c("123456789" + std::string(count, '\0')))
        << count;
  }
}

TEST(Crc32cTest, MaskingIsUndone) {
  for (const std::uint32_t crc : {0u, 1u, 0xFFFFFFFFu, 0xE3069283u}) {
    EXPECT_EQ(UnmaskCrc(MaskCrc(crc)), crc);
    EXPECT_NE(MaskCrc(crc), crc);
  }
}

TEST(RecordTest, TheBytesAreTensorFlows) {
  // The first record of a file: a wall time and "brain.Event:2".
  const std::string payload(
      "\x09\x00\x00\x80\x38\x99\xD6\xD7\x41\x1A\x0D"
      "brain.Event:2",
      24);
  const std::string record = Framed(payload);
  ASSERT_EQ(record.size(), 24u + 16u);
  EXPECT_EQ(record.substr(0, 8), std::string("\x18\0\0\0\0\0\0\0", 8));
  std::uint32_t length_crc, payload_crc;
  std::memcpy(&length_crc, record.data() + 8, 4);
  std::memcpy(&payload_crc, record.data() + 36, 4);
  EXPECT_EQ(length_crc, 0x224B7FA3u);
  EXPECT_EQ(payload_crc, 0xAB364B12u);
}

TEST(RecordTest, ParsesWhatItWrote) {
  for (const std::size_t size : {0u, 1u, 35u, 5000u}) {
    const std::string payload(size, 'x');
    const std::string record = Framed(payload) + "next";
    const ParsedRecord parsed = ParseRecord(record);
    EXPECT_EQ(parsed.state, State::kRecord);
    EXPECT_EQ(parsed.payload, payload);
    EXPECT_EQ(parsed.size, size + 16);
  }
}

TEST(RecordTest, EveryShortPieceNeedsMore) {
  const std::string record = Framed("some payload");
  for (std::size_t size = 0; size < record.size(); ++size) {
    const ParsedRecord parsed = ParseRecord(std::string_view(record).substr(0, size));
    EXPECT_EQ(parsed.state, State::kNeedMore) << size;
    EXPECT_EQ(parsed.needed, size < kRecordHeaderBytes ? kRecordHeaderBytes : record.size());
  }
}

TEST(RecordTest, EveryFlippedBitIsNoticedAndCostsWhatItMust) {
  const std::string record = Framed("some payload");
  for (std::size_t bit = 0; bit < record.size() * 8; ++bit) {
    std::string damaged = record;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    const ParsedRecord parsed = ParseRecord(damaged);
    if (bit / 8 < kRecordHeaderBytes) {
      EXPECT_EQ(parsed.state, State::kBadHeader) << bit;
    } else {
      EXPECT_EQ(parsed.state, State::kBadPayload) << bit;
      EXPECT_EQ(parsed.size, record.size());
    }
  }
}

TEST(RecordTest, ALengthOverTheLimitIsDamageEvenWithItsRightCrc) {
  for (const std::uint64_t length :
       {kMaxPayloadBytes + 1, ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
    std::string header(12, '\0');
    std::memcpy(header.data(), &length, 8);
    const std::uint32_t crc = MaskCrc(Crc32c(std::string_view(header).substr(0, 8)));
    std::memcpy(header.data() + 8, &crc, 4);
    const ParsedRecord parsed = ParseRecord(header + "rest");
    EXPECT_EQ(parsed.state, State::kBadHeader) << length;
    EXPECT_TRUE(parsed.too_long) << length;
  }
}

TEST(RecordTest, TheLimitIsTheReadersChoice) {
  const std::string record = Framed(std::string(100, 'x'));
  EXPECT_EQ(ParseRecord(record, 100).state, State::kRecord);
  EXPECT_EQ(ParseRecord(record, 99).state, State::kBadHeader);
}

std::string Header(std::uint64_t length) {
  std::string header(8, '\0');
  std::memcpy(header.data(), &length, 8);
  const std::uint32_t crc = MaskCrc(Crc32c(header));
  header.append(reinterpret_cast<const char*>(&crc), sizeof crc);
  return header;
}

TEST(FindHeaderTest, FindsTheNextRecordBehindAnything) {
  using Search = HeaderSearch::State;
  const std::string record = Framed("some payload");
  const std::string wrong = Header(12) + "no such data" + "crc.";
  std::string half = record;
  half.resize(record.size() - 1);
  struct Case {
    std::string name, data;
    std::uint64_t behind;  // Bytes of the file after the data.
    Search state;
    std::size_t offset, needed;
  };
  const Case cases[] = {
      {"nothing", "", 0, Search::kNone, 0, 0},
      {"less than a header", record.substr(0, 11), 0, Search::kNone, 0, 0},
      {"at the start", record, 0, Search::kFound, 0, 0},
      {"behind text", "some text" + record, 0, Search::kFound, 9, 0},
      {"behind zeros", std::string(5000, '\0') + record, 0, Search::kFound, 5000, 0},
      {"the first of two", "x" + record + record, 0, Search::kFound, 1, 0},
      {"an empty record", "xyz" + Framed(""), 0, Search::kFound, 3, 0},
      {"a payload that is wrong", wrong + record, 0, Search::kFound, wrong.size(), 0},
      {"nothing but that", wrong, 0, Search::kNone, wrong.size() - 11, 0},
      {"cut off by the data", "x" + half, 1, Search::kNeedMore, 1, record.size()},
      {"cut off by the file", "x" + half, 0, Search::kNeedMore, 1, record.size()},
      {"cut off, but one is behind", Header(1000) + record, 0, Search::kFound, 12, 0},
      {"cut off, the file goes on", Header(1000) + "some text", 100, Search::kNone, 10, 0},
      {"a right length over the limit", Header(~0ull) + record, 0, Search::kFound, 12, 0},
  };
  for (const Case& c : cases) {
    const HeaderSearch found = FindHeader(c.data, c.data.size() + c.behind, 5000);
    EXPECT_EQ(found.state, c.state) << c.name;
    EXPECT_EQ(found.offset, c.offset) << c.name;
    EXPECT_EQ(found.needed, c.needed) << c.name;
  }
}

TEST(FindHeaderTest, HeadersThatPromiseMuchDoNotMakeItSlow) {
  // Each of 80,000 headers announces a quarter of the data as payload, and no payload is valid.
  // After sixteen checks, the search accepts the next header unchecked.
  std::string data;
  const std::string header = Header(250'000);
  while (data.size() < 1'000'000) data += header;
  const HeaderSearch found = FindHeader(data, data.size());
  EXPECT_EQ(found.state, HeaderSearch::State::kFound);
  EXPECT_EQ(found.offset, 16 * header.size());
}

}  // namespace
}  // namespace eventlog

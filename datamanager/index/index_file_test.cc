#include "datamanager/index/index_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "datamanager/series/columns.h"
#include "datamanager/series/overlap_policy.h"
#include "datamanager/series/scalar_columns.h"
#include "datamanager/series/scalar_summary.h"
#include "datamanager/series/value_series.h"
#include "eventlog/crc32c.h"
#include "eventlog/file_faults.h"
#include "eventlog/record_scan.h"
#include "runtime/file/file.h"

namespace datamanager {
namespace {

using eventlog::FaultKind;
using State = eventlog::RecordPosition::State;

constexpr std::size_t kHeaderBytes = 28;

struct Series {
  IndexedTag tag;
  ScalarColumns points;
  ValueSeries values;
};

IndexedRun ARun() {
  IndexedRun run;
  run.directory = "/logs/run 1";
  run.generation = 7;
  run.start_time = 1.5;
  IndexedFile file{
      .name = "events.out.tfevents.1700000000.host",
      .format = 1,
      .modified_ns = 1'700'000'000'123'456'789,
      .position = {.record = {.offset = 123000, .began = 7},
                   .device = 66306,
                   .inode = std::numeric_limits<std::uint64_t>::max(),
                   .change_ns = -1,
                   .size = 123456,
                   .head_bytes = 1024,
                   .head_crc = 0xDEADBEEF,
                   .tail_bytes = 4096,
                   .tail_crc = 1},
      .records = 3000,
      .points = 2999,
      .version = "brain.Event:2",
      .writer = "a writer",
      .bad_tag = "odd",
      .faults = {{FaultKind::kBadLength, 2, 3, 4, 5}, {FaultKind::kNoDescriptor, 1, 0, 9, 9}}};
  run.files.push_back(file);
  file.name = std::string("\xFF\0x", 3);
  file.position = {.record = {.offset = 200, .state = State::kAfterTooLong}, .inode = 1};
  file.faults.clear();
  run.files.push_back(file);
  run.ranges = {{0, 100}, {1, 200}, {0, 123000}};
  run.purges = {.file_version = 2,
                .recent_step = -5,
                .started = true,
                .started_by_version = true,
                .restarts = 9,
                .all = {{2, -3}, {8, 5}},
                .by_version = {{8, 5}}};
  return run;
}

std::vector<Series> SomeTags() {
  std::vector<Series> all(4);
  Series& loss = all[0];
  loss.tag.name = "loss";
  loss.tag.plugin = "scalars";
  loss.tag.data_class = 1;
  loss.tag.display_name = "the loss";
  loss.tag.description = "of *training*";
  loss.tag.content = std::string("\0\1", 2);
  for (int i = 0; i < 300; ++i) {
    const Point point{i, 1700000000.0 + i * 0.1, i == 9 ? std::nan("") : std::sin(i)};
    loss.tag.summary.Add(point);
    loss.points.Append(point);
  }
  loss.tag.marks.rare = std::make_unique<SeriesMarks::Rare>();
  loss.tag.marks.rare->purges = {{10, -4, true, true}, {20, 5, false, false}};
  loss.tag.marks.rare->parts = {{0, 1}, {100, 2}, {200, 1}};
  loss.tag.marks.age = 1;
  loss.tag.marks.restarts_seen = 9;
  Series& image = all[1];
  image.tag.name = "image";
  image.tag.plugin = "images";
  image.tag.data_class = 3;
  image.tag.settled = true;
  image.tag.implied = true;
  image.tag.value_marks.age = 4;
  image.tag.most_blobs = 12;
  for (int i = 0; i < 5; ++i) {
    image.tag.value_summary.Add({-i, 0.5, 0});
    image.values.Append({.step = -i,
                         .wall_time = 0.5,
                         .offset = std::uint64_t{1} << 40,
                         .length = 77,
                         .crc = 0xFFFFFFFF,
                         .file = static_cast<std::uint32_t>(i % 2),
                         .form = static_cast<std::uint8_t>(200 + i)});
  }
  Series& given_back = all[2];
  given_back.tag.name = "given back";
  given_back.tag.summary.Add({3, 4, 5});
  all[3].tag.data_class = -1;
  return all;
}

std::string Render(const IndexedRun& run, const std::vector<Series>& all) {
  IndexWriter writer(run);
  for (const Series& series : all) {
    const bool has_points = series.points.size() == series.tag.summary.points;
    writer.AddTag(series.tag, has_points ? &series.points : nullptr, series.values);
  }
  const absl::StatusOr<std::string> index = std::move(writer).Finish();
  EXPECT_TRUE(index.ok()) << index.status();
  return *index;
}

// Adds correct checksums like Render(), so that the parser checks the content behind them.
std::string Seal(const std::string& head, const std::string& data,
                 std::uint32_t version = kIndexVersion) {
  std::string index = "YARDINDX";
  const auto put = [&](auto value) {
    index.append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  put(version);
  put(eventlog::Crc32c(head));
  put(static_cast<std::uint64_t>(head.size()));
  put(eventlog::Crc32c(index));
  return index + head + data;
}

std::vector<Point> All(const ScalarColumns& series) {
  std::vector<Point> points;
  series.Read(0, series.size(), &points);
  return points;
}

// Compares bit by bit: NaN equals itself.
bool Same(const std::vector<Point>& a, const std::vector<Point>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(Point)) == 0);
}

bool Same(const ScalarSummary& a, const ScalarSummary& b) {
  const auto same = [](double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
  };
  return a.points == b.points && a.first_step == b.first_step && a.last_step == b.last_step &&
         same(a.first_time, b.first_time) && same(a.last_time, b.last_time) &&
         same(a.last, b.last) && same(a.last_at, b.last_at) && same(a.min, b.min) &&
         same(a.max, b.max) && a.not_finite == b.not_finite;
}

bool Same(const SeriesMarks& a, const SeriesMarks& b) {
  return std::equal(a.purges().begin(), a.purges().end(), b.purges().begin(), b.purges().end()) &&
         std::equal(a.parts().begin(), a.parts().end(), b.parts().begin(), b.parts().end()) &&
         a.age == b.age && a.restarts_seen == b.restarts_seen;
}

bool Same(const IndexedTag& a, const IndexedTag& b) {
  return a.name == b.name && a.plugin == b.plugin && a.data_class == b.data_class &&
         a.display_name == b.display_name && a.description == b.description &&
         a.content == b.content && a.settled == b.settled && a.implied == b.implied &&
         Same(a.summary, b.summary) && Same(a.marks, b.marks) &&
         Same(a.value_summary, b.value_summary) && Same(a.value_marks, b.value_marks) &&
         a.most_blobs == b.most_blobs;
}

// Returns true if everything that can be read from these bytes is unchanged; refusals are correct
// too. Sets `refused` if anything was refused.
bool NeverMisread(const std::string& index, const IndexedRun& run, const std::vector<Series>& all,
                  bool* refused) {
  *refused = true;
  const absl::StatusOr<IndexReader> reader = IndexReader::Parse(index);
  if (!reader.ok()) return true;
  if (reader->run() != run || reader->tags().size() != all.size()) return false;
  *refused = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!Same(reader->tags()[i], all[i].tag)) return false;
    ScalarColumns points;
    ValueSeries values;
    if (!reader->Read(i, &points, &values).ok()) {
      *refused = true;
      continue;
    }
    if (!Same(All(points), All(all[i].points))) return false;
    if (!std::equal(values.all().begin(), values.all().end(), all[i].values.all().begin(),
                    all[i].values.all().end())) {
      return false;
    }
  }
  return true;
}

class IndexFileTest : public testing::Test {
 protected:
  IndexFileTest() {
    std::string pattern = testing::TempDir() + "/index_XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

TEST_F(IndexFileTest, EverythingComesBack) {
  const IndexedRun run = ARun();
  const std::vector<Series> all = SomeTags();
  const std::string index = Render(run, all);
  bool refused = true;
  EXPECT_TRUE(NeverMisread(index, run, all, &refused));
  EXPECT_FALSE(refused);
  EXPECT_EQ(Render(run, all), index) << "the same calls, the same bytes";
  const absl::StatusOr<IndexReader> reader = IndexReader::Parse(index);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_TRUE(reader->tags()[0].has_points);
  EXPECT_FALSE(reader->tags()[2].has_points) << "only counted";
}

TEST_F(IndexFileTest, AnEmptyRunComesBack) {
  bool refused = true;
  IndexedRun run;
  run.start_time = 0;
  EXPECT_TRUE(NeverMisread(Render(run, {}), run, {}, &refused));
  EXPECT_FALSE(refused);
}

TEST_F(IndexFileTest, EveryFlippedByteIsNoticed) {
  const IndexedRun run = ARun();
  const std::vector<Series> all = SomeTags();
  const std::string good = Render(run, all);
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const int flip : {0x01, 0x80, 0xFF}) {
      std::string index = good;
      index[at] = static_cast<char>(index[at] ^ flip);
      bool refused = false;
      ASSERT_TRUE(NeverMisread(index, run, all, &refused)) << "byte " << at;
      ASSERT_TRUE(refused) << "byte " << at;
    }
  }
}

TEST_F(IndexFileTest, OneThatIsCutOffOrGoesOnIsRefused) {
  const std::string good = Render(ARun(), SomeTags());
  for (std::size_t length = 0; length < good.size(); ++length) {
    ASSERT_EQ(IndexReader::Parse(good.substr(0, length)).status().code(),
              absl::StatusCode::kDataLoss)
        << length;
  }
  EXPECT_EQ(IndexReader::Parse(good + '\0').status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(IndexFileTest, TheHeadAloneIsEnoughForAList) {
  const IndexedRun run = ARun();
  const std::vector<Series> all = SomeTags();
  const std::string good = Render(run, all);
  std::uint64_t length;
  std::memcpy(&length, good.data() + 16, 8);
  const std::string head = good.substr(0, kHeaderBytes + length);
  const absl::StatusOr<IndexReader> reader = IndexReader::ParseHead(head);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ(reader->run(), run);
  EXPECT_EQ(reader->size(), good.size());
  EXPECT_EQ(reader->tags()[0].summary.points, 300u);
  EXPECT_LT(head.size(), 900u);
  ScalarColumns points;
  ValueSeries values;
  EXPECT_EQ(reader->Read(0, &points, &values).code(), absl::StatusCode::kFailedPrecondition);
  for (std::size_t at = 0; at < head.size(); ++at) {
    std::string damaged = head;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    EXPECT_FALSE(IndexReader::ParseHead(damaged).ok()) << at;
    EXPECT_FALSE(IndexReader::ParseHead(head.substr(0, at)).ok()) << at;
  }
}

TEST_F(IndexFileTest, AnotherVersionIsNotRead) {
  EXPECT_EQ(IndexReader::Parse(Seal("", "", 1)).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

// With correct checksums: each byte of the head, changed to each other value.
TEST_F(IndexFileTest, WhatMakesNoSenseIsRefusedOrWithinBounds) {
  const std::string good = Render(ARun(), SomeTags());
  std::uint64_t length;
  std::memcpy(&length, good.data() + 16, 8);
  const std::string head = good.substr(kHeaderBytes, length);
  const std::string data = good.substr(kHeaderBytes + length);
  ASSERT_TRUE(IndexReader::Parse(Seal(head, data)).ok());
  std::size_t refused = 0;
  for (std::size_t at = 0; at < head.size(); ++at) {
    for (const int flip : {0x01, 0x40, 0x80, 0xFF}) {
      std::string changed = head;
      changed[at] = static_cast<char>(changed[at] ^ flip);
      const absl::StatusOr<IndexReader> reader = IndexReader::Parse(Seal(changed, data));
      if (!reader.ok()) {
        ++refused;
        continue;
      }
      for (std::size_t i = 0; i < reader->tags().size(); ++i) {
        ScalarColumns points;
        ValueSeries values;
        if (!reader->Read(i, &points, &values).ok()) ++refused;
        for (const ValuePlace& value : values.all()) {
          EXPECT_LT(value.file, reader->run().files.size());
        }
      }
    }
  }
  EXPECT_GT(refused, head.size());
}

TEST_F(IndexFileTest, PlacesThatAreNotThereAreRefused) {
  struct Row {
    const char* name;
    void (*change)(IndexedRun&, std::vector<Series>&);
  };
  const Row rows[] = {
      {"a range of no file", [](IndexedRun& run, auto&) { run.ranges[0].file = 2; }},
      {"an empty range", [](IndexedRun& run, auto&) { run.ranges[2].end = 100; }},
      {"more than was read", [](IndexedRun& run, auto&) { ++run.ranges[2].end; }},
      {"less than was read", [](IndexedRun& run, auto&) { run.ranges.pop_back(); }},
      {"a head behind the place",
       [](IndexedRun& run, auto&) { run.files[1].position.head_bytes = 201; }},
      {"a longer head than any",
       [](IndexedRun& run, auto&) { run.files[0].position.head_bytes = 1025; }},
      {"a longer tail than any",
       [](IndexedRun& run, auto&) { run.files[0].position.tail_bytes = 4097; }},
      {"faults out of order",
       [](IndexedRun& run, auto&) { std::swap(run.files[0].faults[0], run.files[0].faults[1]); }},
      {"a restart that is not counted", [](IndexedRun& run, auto&) { run.purges.restarts = 8; }},
      {"restarts out of order",
       [](IndexedRun& run, auto&) { std::swap(run.purges.all[0], run.purges.all[1]); }},
      {"purges out of order",
       [](auto&, std::vector<Series>& all) { all[0].tag.marks.rare->purges[0].before = 21; }},
      {"parts that do not begin at the beginning",
       [](auto&, std::vector<Series>& all) { all[0].tag.marks.rare->parts[0].first = 1; }},
      {"parts out of order",
       [](auto&, std::vector<Series>& all) { all[0].tag.marks.rare->parts[1].first = 200; }},
  };
  for (const Row& row : rows) {
    IndexedRun run = ARun();
    std::vector<Series> all = SomeTags();
    row.change(run, all);
    EXPECT_EQ(IndexReader::Parse(Render(run, all)).status().code(), absl::StatusCode::kDataLoss)
        << row.name;
  }
  std::vector<Series> all = SomeTags();
  all[1].values.Append({.file = 2});
  ++all[1].tag.value_summary.points;
  const absl::StatusOr<IndexReader> reader = IndexReader::Parse(Render(ARun(), all));
  ASSERT_TRUE(reader.ok());
  ScalarColumns points;
  ValueSeries values;
  EXPECT_EQ(reader->Read(1, &points, &values).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(values.size(), 0u) << "nothing of it is given";
}

TEST_F(IndexFileTest, PointsThatAreNotAsManyAsCountedAreRefused) {
  std::vector<Series> all = SomeTags();
  IndexWriter writer(ARun());
  ++all[0].tag.summary.points;
  ++all[1].tag.value_summary.points;
  for (const int i : {0, 1}) writer.AddTag(all[i].tag, &all[i].points, all[i].values);
  const absl::StatusOr<IndexReader> reader = IndexReader::Parse(*std::move(writer).Finish());
  ASSERT_TRUE(reader.ok());
  for (const std::size_t i : {0, 1}) {
    ScalarColumns points;
    ValueSeries values;
    EXPECT_EQ(reader->Read(i, &points, &values).code(), absl::StatusCode::kDataLoss) << i;
  }
}

TEST_F(IndexFileTest, IsWrittenAndFound) {
  const IndexedRun run = ARun();
  const std::vector<Series> all = SomeTags();
  const std::string path = folder() + "/" + IndexFileName(run.directory);
  EXPECT_EQ(ReadIndex(path, run.directory, IndexPart::kAll).status().code(),
            absl::StatusCode::kNotFound);
  for (const std::uint64_t generation : {1, 2}) {
    IndexedRun next = run;
    next.generation = generation;
    IndexWriter writer(next);
    writer.AddTag(all[0].tag, &all[0].points, all[0].values);
    ASSERT_TRUE(runtime::WriteFileAtomically(path, *std::move(writer).Finish(), 0600).ok());
    for (const IndexPart part : {IndexPart::kAll, IndexPart::kHead}) {
      const absl::StatusOr<IndexReader> reader = ReadIndex(path, run.directory, part);
      ASSERT_TRUE(reader.ok()) << reader.status();
      EXPECT_EQ(reader->run(), next);
      ScalarColumns points;
      ValueSeries values;
      EXPECT_EQ(reader->Read(0, &points, &values).ok(), part == IndexPart::kAll);
      EXPECT_EQ(reader->whole(), part == IndexPart::kAll);
    }
  }
  const absl::Status other = ReadIndex(path, "/logs/run 2", IndexPart::kAll).status();
  EXPECT_EQ(other.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(other.message().find("/logs/run 1"), absl::string_view::npos) << other;
}

TEST_F(IndexFileTest, ADamagedFileSaysWhichOne) {
  const std::string path = folder() + "/damaged.idx";
  const std::string good = Render(ARun(), SomeTags());
  for (const std::string& content :
       {std::string(), std::string("YARDINDX"), good.substr(0, good.size() - 1), good + "x"}) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
    for (const IndexPart part : {IndexPart::kAll, IndexPart::kHead}) {
      const absl::Status status = ReadIndex(path, ARun().directory, part).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << content.size();
      EXPECT_NE(status.message().find("damaged.idx"), absl::string_view::npos) << status;
    }
  }
  EXPECT_EQ(ReadIndex(folder(), ARun().directory, IndexPart::kAll).status().code(),
            absl::StatusCode::kDataLoss)
      << "a folder";
}

TEST_F(IndexFileTest, ThatOfSomebodyElseIsNotTrusted) {
  const std::string path = folder() + "/a.idx";
  std::ofstream(path, std::ios::binary) << Render(ARun(), SomeTags());
  ASSERT_EQ(symlink(path.c_str(), (folder() + "/link.idx").c_str()), 0);
  EXPECT_EQ(ReadIndex(folder() + "/link.idx", ARun().directory, IndexPart::kAll).status().code(),
            absl::StatusCode::kPermissionDenied);
  // Only root can change a file's owner; for other users, /etc/passwd is another user's file.
  const bool given = chown(path.c_str(), geteuid() + 1, static_cast<gid_t>(-1)) == 0;
  const std::string others = given ? path : "/etc/passwd";
  struct stat about {};
  if (stat(others.c_str(), &about) != 0 || about.st_uid == geteuid()) return;
  const absl::Status status = ReadIndex(others, ARun().directory, IndexPart::kHead).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
}

TEST_F(IndexFileTest, NamesDiffer) {
  EXPECT_EQ(IndexFileName(""), "cbf29ce484222325.idx");
  EXPECT_NE(IndexFileName("/a/b"), IndexFileName("/a/c"));
  EXPECT_EQ(IndexFileName("/a/b").size(), 20u);
}

}  // namespace
}  // namespace datamanager

#include "datamanager/read/run_files_reader.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "datamanager/find/directory_source.h"
#include "datamanager/find/file_kind.h"
#include "datamanager/find/listed_run.h"
#include "datamanager/read/run_data.h"
#include "datamanager/series/columns.h"
#include "datamanager/series/overlap_policy.h"
#include "datamanager/series/scalar_columns.h"
#include "datamanager/series/value_series.h"
#include "eventlog/crc32c.h"
#include "eventlog/event.h"
#include "eventlog/file_faults.h"
#include "eventlog/file_scan.h"
#include "eventlog/record.h"
#include "eventlog/testing/protobuf_bytes.h"

namespace datamanager {
namespace {

namespace pb = eventlog::testing;
using eventlog::FaultKind;

std::string Framed(std::string_view payload) {
  std::string record;
  eventlog::AppendRecord(payload, &record);
  return record;
}
std::string Record(std::int64_t step, const std::string& tag, double value) {
  const eventlog::Scalar scalar{tag, value};
  return eventlog::RenderScalars(100.0 + static_cast<double>(step), step, {&scalar, 1});
}
// Returns an event whose field `field` holds `content`.
std::string EventRecord(std::int64_t step, int field, std::string_view content) {
  return Framed(pb::Double(1, 7) + pb::Number(2, static_cast<std::uint64_t>(step)) +
                pb::Bytes(field, content));
}
// Returns a summary that has one value with these fields.
std::string ValueRecord(std::int64_t step, const std::string& tag, const std::string& fields) {
  return EventRecord(step, 5, pb::Bytes(1, pb::Bytes(1, tag) + fields));
}
// Returns a float tensor of rank 0 or, if `size` is given, of rank 1.
std::string TensorField(float value, int size = 0) {
  std::string tensor = pb::Number(1, 1);
  tensor += pb::Bytes(2, size == 0 ? "" : pb::Bytes(2, pb::Number(1, std::uint64_t(size))));
  std::string numbers;
  for (int i = 0; i < std::max(size, 1); ++i) numbers += pb::FloatBytes(value);
  return pb::Bytes(8, tensor + pb::Bytes(5, numbers));
}
std::string MetadataField(const std::string& plugin, int data_class) {
  return pb::Bytes(9, pb::Bytes(1, pb::Bytes(1, plugin)) +
                          pb::Number(4, static_cast<std::uint64_t>(data_class)));
}

class RunFilesReaderTest : public testing::Test {
 protected:
  RunFilesReaderTest() {
    char name[] = "/tmp/read-XXXXXX";
    directory_ = mkdtemp(name);
  }
  ~RunFilesReaderTest() override { std::filesystem::remove_all(directory_); }

  void Append(const std::string& file, const std::string& bytes) const {
    std::ofstream(directory_ + "/" + file, std::ios::binary | std::ios::app) << bytes;
  }
  // Replaces the file atomically: writes another file and renames it.
  void Replace(const std::string& file, const std::string& bytes) const {
    Append("new", bytes);
    std::filesystem::rename(directory_ + "/new", directory_ + "/" + file);
  }
  ListedRunPtr List() const {
    ListedRun run;
    run.name = "run";
    run.directory = directory_;
    std::map<std::string, std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      paths[entry.path().filename()] = entry.path();
    }
    for (const auto& [name, path] : paths) {
      const FileName known = ParseFileName(name);
      ListedFile file;
      file.name = name;
      file.kind = known.kind;
      file.create_us = known.created_s.value_or(0) * 1'000'000;
      file.state = *DirectorySource::Real()->Stat(path);
      run.files.push_back(file);
    }
    return std::make_shared<const ListedRun>(run);
  }
  std::unique_ptr<RunFilesReader> Reader(bool keep = true,
                                         RunFilesReader::Options options = {}) const {
    auto reader = std::make_unique<RunFilesReader>(List(), options);
    if (keep) reader->KeepPoints();
    return reader;
  }
  // Reads until nothing is left. Returns the new values by tag, and how often reading began again
  // from the start.
  struct Outcome {
    std::map<std::string, std::pair<std::uint64_t, std::vector<double>>> fresh;
    int anew = 0;
    int steps = 0;
    std::uint64_t read_bytes = 0;
    absl::Status status;
  };
  Outcome ReadAll(RunFilesReader& reader) {
    Outcome outcome;
    for (bool more = true; more && outcome.steps < 10'000;) {
      RunFilesReader::Step step = reader.ReadOn(&buffer_, true);
      ++outcome.steps;
      if (step.anew) ++outcome.anew;
      if (step.anew) outcome.fresh.clear();
      outcome.read_bytes += step.read_bytes;
      for (const RunData::Fresh& fresh : step.fresh) {
        const std::string name(reader.data().tag_name(fresh.tag));
        const auto known = outcome.fresh.try_emplace(name, fresh.first, std::vector<double>());
        auto& [first, values] = known.first->second;
        EXPECT_EQ(fresh.first, first + values.size());
        for (const Point& point : fresh.points) values.push_back(point.value);
      }
      outcome.status = step.status;
      more = step.more && step.status.ok();
    }
    return outcome;
  }
  // Reads all files, as far as they have grown.
  Outcome ReadNew(RunFilesReader& reader) {
    reader.SetRun(List());
    reader.RecheckAll();
    return ReadAll(reader);
  }
  // Returns the values in file order.
  static std::vector<double> Values(const RunFilesReader& reader, const std::string& tag) {
    std::vector<Point> points;
    const auto id = reader.data().FindTag(tag);
    if (id.has_value()) reader.data().tag(*id).points.Read(0, 1 << 20, &points);
    std::vector<double> values;
    for (const Point& point : points) values.push_back(point.value);
    return values;
  }

  std::string directory_;
  eventlog::ReadBuffer buffer_;
};

TEST_F(RunFilesReaderTest, ReadsAllFilesInTheOrderOfTheirNames) {
  Append("b.tfevents", Record(2, "loss", 0.25));
  Append("a.tfevents", eventlog::RenderFileHeader(1) + Record(1, "loss", 0.5));
  const auto reader = Reader();
  EXPECT_FALSE(reader->data().counted());
  const Outcome outcome = ReadAll(*reader);
  EXPECT_EQ(Values(*reader, "loss"), (std::vector<double>{0.5, 0.25}));
  EXPECT_EQ(outcome.fresh.at("loss").second, (std::vector<double>{0.5, 0.25}));
  const RunData& data = reader->data();
  EXPECT_TRUE(data.counted());
  EXPECT_TRUE(data.cached());
  EXPECT_TRUE(data.intact());
  EXPECT_EQ(data.generation(), 0u);
  EXPECT_EQ(data.points(), 2u);
  EXPECT_EQ(data.last_step(), 2);
  EXPECT_EQ(data.start_time(), 1 + 100.0);
  EXPECT_EQ(data.records(), 3u);
  EXPECT_EQ(data.tag(*data.FindTag("loss")).plugin(), "scalars");
  ASSERT_EQ(data.files().size(), 2u);
  EXPECT_EQ(data.file(0).version, "brain.Event:2");
  EXPECT_EQ(data.file(0).points, 1u);
  EXPECT_EQ(data.read_bytes(), reader->total_bytes());
}

TEST_F(RunFilesReaderTest, TheLastValueIsTheSameInWhicheverOrderFilesAreRead) {
  const auto at = [](std::int64_t step, double time, double value) {
    const eventlog::Scalar scalar{"loss", value};
    return eventlog::RenderScalars(time, step, {&scalar, 1});
  };
  // The first writer continues for long; the second ends early, but wrote its steps later.
  const std::string first[] = {at(1, 101, 11), at(2, 102, 12), at(3, 120, 13), at(9, 130, 19)};
  const std::string second[] = {at(1, 111, 21), at(2, 112, 22), at(3, 113, 23)};
  const auto expect = [](RunFilesReader& reader) {
    RunData& data = reader.data();
    const RunData::TagId id = *data.FindTag("loss");
    EXPECT_EQ(data.tag(id).summary.last, 19);
    EXPECT_EQ(data.tag(id).summary.last_time, 130);
    std::vector<Point> points;
    data.ByStep(id, Overlap::kLastWrite).Read(0, 100, &points);
    std::vector<double> values;
    for (const Point& point : points) values.push_back(point.value);
    EXPECT_EQ(values, (std::vector<double>{21, 22, 13, 19}));
  };
  Append("a.tfevents.1", "");
  Append("b.tfevents.2", "");
  const auto live = Reader();
  ReadAll(*live);
  for (const std::string& record : first) {
    Append("a.tfevents.1", record);
    ReadNew(*live);
    live->data().ByStep(*live->data().FindTag("loss"), Overlap::kLastWrite);
  }
  for (const std::string& record : second) {
    Append("b.tfevents.2", record);
    ReadNew(*live);
  }
  expect(*live);
  const auto anew = Reader();
  ReadAll(*anew);
  expect(*anew);
}

TEST_F(RunFilesReaderTest, TheTenthFileOfAWriterIsReadBehindItsNinth) {
  // The names that TensorBoard's writers use if they start several files within a second.
  for (int file = 0; file < 12; ++file) {
    const double value = 100 * file;
    Append(absl::StrCat("events.out.tfevents.1700000000.host.77.", file),
           Record(file, "loss", value) + Record(file + 1, "loss", value + 1));
  }
  const auto reader = Reader();
  ReadAll(*reader);
  RunData& data = reader->data();
  std::vector<Point> points;
  data.ByStep(*data.FindTag("loss"), Overlap::kLastWrite).Read(0, 100, &points);
  ASSERT_EQ(points.size(), 13u);
  for (int step = 0; step < 12; ++step) {
    EXPECT_EQ(points[static_cast<std::size_t>(step)].value, 100 * step);
  }
}

TEST_F(RunFilesReaderTest, ReadsOnlyWhatIsNew) {
  for (int i = 0; i < 1000; ++i) Append("a.tfevents", Record(i, "loss", i));
  const auto reader = Reader();
  ReadAll(*reader);
  EXPECT_TRUE(reader->idle());
  EXPECT_TRUE(ReadAll(*reader).fresh.empty());
  Append("a.tfevents", Record(1000, "loss", 5));
  const std::vector<std::string> names = {"a.tfevents", "no such file"};
  reader->Recheck(names);
  EXPECT_FALSE(reader->idle());
  const Outcome outcome = ReadAll(*reader);
  EXPECT_EQ(outcome.fresh.at("loss"), std::make_pair(std::uint64_t{1000}, std::vector<double>{5}));
  EXPECT_LT(outcome.read_bytes, 8000u) << "it has to be recognised";
}

TEST_F(RunFilesReaderTest, AHalfWrittenRecordIsReadOnceItIsWhole) {
  const std::string record = Record(1, "loss", 1);
  Append("a.tfevents", "");
  const auto reader = Reader();
  for (std::size_t i = 0; i < record.size(); ++i) {
    EXPECT_TRUE(ReadNew(*reader).fresh.empty()) << i;
    EXPECT_EQ(reader->data().intact(), i == 0) << i;
    Append("a.tfevents", record.substr(i, 1));
  }
  EXPECT_EQ(ReadNew(*reader).fresh.size(), 1u);
  EXPECT_TRUE(reader->data().intact());
  EXPECT_EQ(reader->data().bad_records(), 0u);
}

TEST_F(RunFilesReaderTest, DamageCostsOneRecordAndIsCounted) {
  std::string bad_payload = Record(2, "loss", 2);
  bad_payload[20] ^= 1;
  std::string bad_length = Record(4, "loss", 4);
  bad_length[0] ^= 1;
  Append("a.tfevents", Record(1, "loss", 1) + bad_payload + Record(3, "loss", 3) + bad_length +
                           Record(5, "loss", 5));
  Append("b.tfevents", Record(6, "loss", 6));
  const auto reader = Reader();
  ReadAll(*reader);
  EXPECT_EQ(Values(*reader, "loss"), (std::vector<double>{1, 3, 5, 6}));
  EXPECT_EQ(reader->data().bad_records(), 2u);
  EXPECT_FALSE(reader->data().intact());
  EXPECT_EQ(reader->data().file(0).faults.Of(FaultKind::kBadPayload).count, 1u);
  EXPECT_EQ(reader->data().file(0).faults.Of(FaultKind::kBadLength).count, 1u);
}

TEST_F(RunFilesReaderTest, AFileThatWasCutShortBeginsAnew) {
  Append("a.tfevents", Record(1, "loss", 1) + Record(2, "loss", 2) + Record(2, "gone", 2));
  const auto reader = Reader();
  ReadAll(*reader);
  std::filesystem::resize_file(directory_ + "/a.tfevents", Record(1, "loss", 1).size());
  const Outcome outcome = ReadNew(*reader);
  EXPECT_EQ(outcome.anew, 1);
  EXPECT_EQ(outcome.fresh.at("loss"), std::make_pair(std::uint64_t{0}, std::vector<double>{1}));
  EXPECT_EQ(Values(*reader, "loss"), (std::vector<double>{1}));
  EXPECT_EQ(reader->data().generation(), 1u);
  EXPECT_TRUE(reader->data().cached());
  EXPECT_FALSE(reader->data().FindTag("gone").has_value());
  EXPECT_EQ(reader->data().TagsByName().size(), 1u);
  EXPECT_EQ(reader->data().file(0).faults.Of(FaultKind::kShrunk).count, 1u);
}

TEST_F(RunFilesReaderTest, AReplacedFileBeginsAnewWithTheOthers) {
  Append("a.tfevents", Record(1, "loss", 1));
  Append("b.tfevents", Record(9, "loss", 9));
  const auto reader = Reader();
  ReadAll(*reader);
  Replace("a.tfevents", Record(1, "loss", 7) + Record(2, "loss", 8));
  EXPECT_EQ(ReadNew(*reader).fresh.at("loss").second, (std::vector<double>{7, 8, 9}));
  EXPECT_EQ(Values(*reader, "loss"), (std::vector<double>{7, 8, 9}));
  EXPECT_EQ(reader->data().generation(), 1u);
  EXPECT_EQ(reader->data().file(0).faults.Of(FaultKind::kReplaced).count, 1u);
  EXPECT_TRUE(reader->data().file(1).faults.empty());
}

TEST_F(RunFilesReaderTest, AFileThatIsGoneTakesItsPointsWithIt) {
  Append("a.tfevents", Record(1, "loss", 1));
  Append("b.tfevents", Record(2, "loss", 2));
  Append("c.tfevents", "");
  const auto reader = Reader();
  ReadAll(*reader);
  std::filesystem::remove(directory_ + "/c.tfevents");
  EXPECT_EQ(ReadNew(*reader).anew, 0) << "nothing was in it";
  std::filesystem::remove(directory_ + "/a.tfevents");
  EXPECT_EQ(ReadNew(*reader).anew, 1);
  EXPECT_EQ(Values(*reader, "loss"), (std::vector<double>{2}));
  EXPECT_TRUE(reader->data().file(0).gone);
  EXPECT_EQ(reader->data().file(0).faults.Of(FaultKind::kVanished).count, 1u);
  // Another file of the same name.
  Append("a.tfevents", Record(3, "loss", 3));
  EXPECT_EQ(ReadNew(*reader).anew, 0);
  EXPECT_EQ(Values(*reader, "loss"), (std::vector<double>{2, 3}));
  EXPECT_EQ(reader->data().generation(), 1u);
}

TEST_F(RunFilesReaderTest, AFileThatGoesBeforeAScanSaysSoIsNoticed) {
  Append("a.tfevents", Record(1, "loss", 1));
  Append("b.tfevents", Record(2, "loss", 2));
  const auto reader = Reader();
  ReadAll(*reader);
  std::filesystem::remove(directory_ + "/b.tfevents");
  reader->RecheckAll();
  EXPECT_EQ(ReadAll(*reader).anew, 1);
  EXPECT_EQ(Values(*reader, "loss"), (std::vector<double>{1}));
  EXPECT_EQ(reader->data().file(1).problem.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReadNew(*reader).anew, 0) << "it was known";
  EXPECT_EQ(reader->data().file(1).faults.Of(FaultKind::kVanished).count, 1u);
}

TEST_F(RunFilesReaderTest, WhatCannotBeReadIsLeftOutAndTriedAgain) {
  std::filesystem::create_directory(directory_ + "/a.tfevents");
  Append("b.tfevents", Record(2, "loss", 2));
  const auto reader = Reader();
  const Outcome outcome = ReadAll(*reader);
  EXPECT_EQ(outcome.status, absl::OkStatus());
  EXPECT_EQ(Values(*reader, "loss"), (std::vector<double>{2}));
  EXPECT_TRUE(reader->data().cached());
  EXPECT_FALSE(reader->data().intact());
  EXPECT_FALSE(reader->data().file(0).problem.ok());
  EXPECT_EQ(reader->ReadOn(&buffer_, true).problem, absl::OkStatus()) << "it is no file";
  EXPECT_EQ(reader->data().file(0).faults.Of(FaultKind::kUnreadable).count, 1u);
  std::filesystem::remove(directory_ + "/a.tfevents");
  Append("a.tfevents", Record(1, "loss", 1));
  ReadNew(*reader);
  EXPECT_EQ(Values(*reader, "loss"), (std::vector<double>{2, 1}));
  EXPECT_EQ(reader->data().file(0).problem, absl::OkStatus());
}

TEST_F(RunFilesReaderTest, APassingErrorIsToldAfterTheOtherFilesAndTheFileIsLookedAtAgain) {
  Append("a.tfevents", Record(1, "loss", 1));
  Append("b.tfevents", Record(2, "loss", 2));
  const auto reader = Reader();
  // A link to itself cannot be opened.
  const std::string path = directory_ + "/a.tfevents";
  std::filesystem::rename(path, directory_ + "/aside");
  std::filesystem::create_symlink("a.tfevents", path);
  for (int i = 0; i < 2; ++i) {
    const RunFilesReader::Step step = reader->ReadOn(&buffer_, true);
    EXPECT_FALSE(step.more);
    EXPECT_EQ(step.status, absl::OkStatus());
    EXPECT_FALSE(step.problem.ok());
    EXPECT_EQ(step.problem, reader->data().file(0).problem);
    EXPECT_EQ(reader->data().file(0).faults.Of(FaultKind::kUnreadable).count,
              static_cast<std::uint64_t>(i) + 1);
  }
  EXPECT_EQ(Values(*reader, "loss"), (std::vector<double>{2}));
  EXPECT_TRUE(reader->data().cached());
  std::filesystem::rename(directory_ + "/aside", path);
  const RunFilesReader::Step step = reader->ReadOn(&buffer_, true);
  EXPECT_EQ(step.problem, absl::OkStatus());
  EXPECT_EQ(step.fresh.size(), 1u);
  EXPECT_EQ(Values(*reader, "loss"), (std::vector<double>{2, 1}));
}

TEST_F(RunFilesReaderTest, ATagWithAnEndlessNameIsLeftOut) {
  Append("a.tfevents", Record(1, std::string((64 << 10) + 1, 't'), 1));
  Append("a.tfevents", Record(1, std::string(64 << 10, 't'), 1));
  const auto reader = Reader();
  ReadAll(*reader);
  EXPECT_EQ(reader->data().TagsByName().size(), 1u);
  EXPECT_EQ(reader->data().file(0).faults.Of(FaultKind::kTagTooLong).count, 1u);
}

TEST_F(RunFilesReaderTest, AFileInWhichNothingIsFoundForLongKeepsNobodyWaiting) {
  std::string damage;
  while (damage.size() < std::size_t{3} << 20) damage += "no record ";
  Append("a.tfevents", Record(1, "loss", 1) + damage + Record(2, "loss", 2));
  Append("b.tfevents", Record(3, "loss", 3));
  const auto reader = Reader(true, {.step_bytes = 256 << 10, .search_bytes = 1 << 20});
  for (int round = 0; round < 2; ++round) {
    ReadAll(*reader);
    EXPECT_EQ(Values(*reader, "loss"), (std::vector<double>{1, 3}));
    EXPECT_TRUE(reader->data().counted());
    EXPECT_TRUE(reader->has_deferred());
    EXPECT_TRUE(reader->behind());
    reader->RecheckAll();
  }
  int slices = 0;
  for (; reader->has_deferred() && slices < 10; ++slices) {
    reader->ReadDeferred();
    ReadAll(*reader);
  }
  EXPECT_GE(slices, 2);
  EXPECT_EQ(Values(*reader, "loss"), (std::vector<double>{1, 3, 2}));
  EXPECT_FALSE(reader->behind());
}

TEST_F(RunFilesReaderTest, CountingNeedsNoMemoryForPoints) {
  for (int i = 0; i < 1000; ++i) Append("a.tfevents", Record(i, i % 2 == 0 ? "even" : "odd", i));
  const auto reader = Reader(false);
  ReadAll(*reader);
  EXPECT_TRUE(reader->data().counted());
  EXPECT_FALSE(reader->data().cached());
  EXPECT_EQ(reader->data().cached_bytes(), 0u);
  const RunData& data = reader->data();
  const RunData::TagId odd = *data.FindTag("odd");
  EXPECT_EQ(data.tag(odd).summary.points, 500u);
  EXPECT_EQ(data.tag(odd).summary.max, 999);
  EXPECT_EQ(data.tag(odd).points.size(), 0u);
  reader->KeepPoints();
  EXPECT_FALSE(data.cached());
  EXPECT_FALSE(reader->idle());
  EXPECT_TRUE(ReadAll(*reader).fresh.empty()) << "nothing is new";
  EXPECT_TRUE(data.cached());
  EXPECT_EQ(data.tag(odd).points.size(), 500u);
  EXPECT_EQ(data.tag(odd).summary.points, 500u);
  EXPECT_EQ(data.records(), 1000u);
  EXPECT_GT(data.cached_bytes(), 2000u);
  reader->DropPoints();
  EXPECT_EQ(data.cached_bytes(), 0u);
  Append("a.tfevents", Record(1000, "odd", -1));
  EXPECT_EQ(ReadNew(*reader).fresh.at("odd").first, 500u);
  EXPECT_EQ(data.tag(odd).summary.min, -1);
  EXPECT_EQ(data.cached_bytes(), 0u);
}

TEST_F(RunFilesReaderTest, PointsThatAreReadAgainComeInTheirOldOrder) {
  Append("b.tfevents", Record(3, "loss", 3));
  const auto reader = Reader();
  ReadAll(*reader);
  Append("a.tfevents", Record(1, "loss", 1));
  ReadNew(*reader);
  Append("b.tfevents", Record(4, "loss", 4));
  ReadNew(*reader);
  EXPECT_EQ(Values(*reader, "loss"), (std::vector<double>{3, 1, 4}));
  reader->DropPoints();
  // A point that was never read is added at the end, although its file is the first.
  Append("a.tfevents", Record(2, "loss", 2));
  reader->KeepPoints();
  EXPECT_EQ(ReadNew(*reader).fresh.at("loss"),
            std::make_pair(std::uint64_t{3}, std::vector<double>{2}));
  EXPECT_EQ(Values(*reader, "loss"), (std::vector<double>{3, 1, 4, 2}));
  reader->DropPoints();
  reader->KeepPoints();
  EXPECT_TRUE(ReadAll(*reader).fresh.empty());
  EXPECT_EQ(Values(*reader, "loss"), (std::vector<double>{3, 1, 4, 2}));
  EXPECT_EQ(reader->data().generation(), 0u);
}

TEST_F(RunFilesReaderTest, AStepIsSmallAndGrowthIsReadBetweenSteps) {
  std::string bytes;
  for (int i = 0; i < 50'000; ++i) bytes += Record(i, "loss", i);
  Append("a.tfevents", bytes);
  RunFilesReader::Options options;
  options.step_bytes = 50'000;  // A scan reads 256 KiB at a time.
  const auto reader = Reader(false, options);
  EXPECT_GT(ReadAll(*reader).steps, 4);
  reader->KeepPoints();
  EXPECT_TRUE(reader->ReadOn(&buffer_, true).more);
  Append("a.tfevents", Record(50'000, "loss", 50'000));
  reader->RecheckAll();
  const Outcome outcome = ReadAll(*reader);
  EXPECT_EQ(outcome.fresh.at("loss"),
            std::make_pair(std::uint64_t{50'000}, std::vector<double>{50'000}));
  EXPECT_GT(outcome.steps, 4);
  const std::vector<double> values = Values(*reader, "loss");
  ASSERT_EQ(values.size(), 50'001u);
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], static_cast<double>(i));
}

TEST_F(RunFilesReaderTest, WhatGrowsBehindTheLastStretchThatWasReadAgainIsReadToo) {
  Append("a.tfevents", Record(1, "loss", 1));
  RunFilesReader::Options options;
  options.step_bytes = 1;
  const auto reader = Reader(false, options);
  ReadAll(*reader);
  reader->KeepPoints();
  EXPECT_TRUE(reader->ReadOn(&buffer_, true).more);
  Append("a.tfevents", Record(2, "loss", 2));
  reader->RecheckAll();
  EXPECT_EQ(ReadAll(*reader).anew, 0);
  EXPECT_EQ(Values(*reader, "loss"), (std::vector<double>{1, 2}));
}

TEST_F(RunFilesReaderTest, PointsThatAreNotThereAnyMoreWhenTheyAreReadAgainBeginAnew) {
  Append("a.tfevents", Record(1, "loss", 1) + Record(2, "loss", 2));
  const auto reader = Reader(false);
  ReadAll(*reader);
  std::filesystem::resize_file(directory_ + "/a.tfevents", Record(1, "loss", 1).size());
  reader->KeepPoints();
  EXPECT_EQ(ReadAll(*reader).anew, 1);
  EXPECT_EQ(Values(*reader, "loss"), (std::vector<double>{1}));
  EXPECT_TRUE(reader->data().cached());
  // Removed without a notification.
  reader->DropPoints();
  std::filesystem::remove(directory_ + "/a.tfevents");
  reader->KeepPoints();
  const Outcome outcome = ReadAll(*reader);
  EXPECT_EQ(outcome.anew, 1);
  EXPECT_EQ(outcome.status, absl::OkStatus());
  EXPECT_TRUE(Values(*reader, "loss").empty());
  EXPECT_EQ(reader->data().generation(), 2u);
}

TEST_F(RunFilesReaderTest, ValuesAreKeptByTheirPlace) {
  const std::string tensor = TensorField(3, 4);
  Append("a.tfevents", ValueRecord(1, "weights", tensor + MetadataField("histograms", 2)) +
                           Record(1, "loss", 1) + ValueRecord(2, "weights", tensor) +
                           EventRecord(3, 4, "a graph") +
                           EventRecord(4, 8, pb::Bytes(1, "profile") + pb::Bytes(2, "metadata")));
  for (const bool again : {false, true}) {
    const auto reader = Reader(!again);
    ReadAll(*reader);
    if (again) {
      EXPECT_EQ(reader->data().cached_bytes(), 0u);
      reader->KeepPoints();
      ReadAll(*reader);
    }
    const RunData& data = reader->data();
    const auto bytes_of = [&](const ValuePlace& place) {
      std::ifstream file(directory_ + "/" + data.file(place.file).listed.name, std::ios::binary);
      std::string bytes(place.length, '\0');
      file.seekg(static_cast<std::streamoff>(place.offset));
      file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
      EXPECT_EQ(eventlog::Crc32c(bytes), place.crc);
      return bytes;
    };
    const RunData::Tag& weights = data.tag(*data.FindTag("weights"));
    EXPECT_EQ(weights.plugin(), "histograms");
    ASSERT_EQ(weights.value_count(), 2u);
    const auto places = weights.values->places.all();
    ASSERT_EQ(places.size(), 2u);
    EXPECT_EQ(places[1].step, 2);
    EXPECT_EQ(places[1].wall_time, 7);
    EXPECT_EQ(ValueKindOf(places[1].form), eventlog::ValueKind::kTensor);
    EXPECT_EQ(pb::Bytes(8, bytes_of(places[1])), tensor);
    const RunData::Tag& graph = data.tag(*data.FindTag("__run_graph__"));
    EXPECT_EQ(graph.plugin(), "graphs");
    const ValuePlace& place = graph.values->places.all().front();
    EXPECT_EQ(bytes_of(place), "a graph");
    EXPECT_EQ(EventKindOf(place.form), eventlog::EventKind::kGraph);
    EXPECT_FALSE(ValueKindOf(place.form).has_value());
    const RunData::Tag& profile = data.tag(*data.FindTag("profile"));
    EXPECT_EQ(profile.plugin(), "graph_tagged_run_metadata");
    EXPECT_EQ(bytes_of(profile.values->places.all().front()), "metadata");
    EXPECT_EQ(data.points(), 1u);
    EXPECT_EQ(data.values(), 4u);
    EXPECT_EQ(data.last_step(), 4);
    EXPECT_TRUE(data.cached());
  }
}

TEST_F(RunFilesReaderTest, WhatCameBeforeATagsMetadataStaysWhereItWas) {
  // A number without metadata is a point; the tag's first metadata then turns it into a tensor tag.
  Append("a.tfevents", ValueRecord(1, "x", TensorField(5)) +
                           ValueRecord(2, "x", TensorField(6) + MetadataField("mine", 2)) +
                           ValueRecord(3, "x", TensorField(7) + MetadataField("other", 1)));
  const auto reader = Reader();
  ReadAll(*reader);
  const auto expect = [&] {
    const RunData::Tag& tag = reader->data().tag(*reader->data().FindTag("x"));
    EXPECT_EQ(tag.plugin(), "mine");
    EXPECT_EQ(Values(*reader, "x"), (std::vector<double>{5}));
    EXPECT_EQ(tag.value_count(), 2u);
    EXPECT_EQ(tag.values->places.size(), 2u);
    EXPECT_TRUE(reader->data().cached());
  };
  expect();
  reader->DropPoints();
  reader->KeepPoints();
  EXPECT_EQ(ReadAll(*reader).anew, 0);
  expect();
}

TEST_F(RunFilesReaderTest, TheNewestHyperparametersCount) {
  const auto hparams = [](double time, const std::string& content) {
    const std::string metadata =
        pb::Bytes(9, pb::Bytes(1, pb::Bytes(1, "hparams") + pb::Bytes(2, content)));
    return Framed(pb::Double(1, time) + pb::Bytes(5, pb::Bytes(1, pb::Bytes(1, "tag") + metadata)));
  };
  Append("a.tfevents", hparams(1, "first") + hparams(3, "third") + hparams(2, "second"));
  const auto reader = Reader();
  const auto content = [&] {
    ReadNew(*reader);
    const RunData::Tag& tag = reader->data().tag(*reader->data().FindTag("tag"));
    EXPECT_EQ(tag.plugin(), "hparams");
    return tag.kind->content;
  };
  EXPECT_EQ(content(), "third");
  Append("a.tfevents", hparams(2.5, "older"));
  EXPECT_EQ(content(), "third");
  Append("b.tfevents", hparams(4, std::string(100'000, 'x')));
  EXPECT_EQ(content(), std::string(100'000, 'x'));
  const std::size_t bytes = reader->data().Bytes();
  for (int time = 5; time < 10; ++time) {
    Append("b.tfevents", hparams(time, std::string(100'000, 'y') + std::to_string(time)));
    EXPECT_EQ(content().back(), '0' + time);
  }
  EXPECT_LT(reader->data().Bytes(), bytes + 1000) << "what no longer counts is not kept";
}

TEST_F(RunFilesReaderTest, ATensorWithoutAPluginIsATensor) {
  Append("a.tfevents",
         ValueRecord(1, "weights", TensorField(3, 4)) + ValueRecord(2, "number", TensorField(3)));
  const auto reader = Reader();
  ReadAll(*reader);
  EXPECT_EQ(reader->data().tag(*reader->data().FindTag("weights")).plugin(), "tensor");
  EXPECT_EQ(reader->data().tag(*reader->data().FindTag("number")).plugin(), "scalars");
}

TEST_F(RunFilesReaderTest, ABadValueIsToldWithItsTag) {
  const std::string text = pb::Bytes(8, pb::Number(1, 7) + pb::Bytes(2, "") + pb::Bytes(8, "text"));
  Append("a.tfevents", Record(1, "loss", 1) + ValueRecord(2, "loss", text) +
                           ValueRecord(3, "loss", text) + Record(4, "loss", 4));
  const auto reader = Reader();
  ReadAll(*reader);
  const RunFileData& file = reader->data().files()[0];
  EXPECT_EQ(file.faults.Of(FaultKind::kBadValue).count, 2u);
  EXPECT_EQ(file.bad_tag, "loss");
  EXPECT_EQ(Values(*reader, "loss"), (std::vector<double>{1, 4}));
}

TEST_F(RunFilesReaderTest, ReadsMindSporesFilesBesideTensorBoards) {
  Append("a.tfevents", Record(1, "loss", 1));
  const std::string file = "x.out.events.summary.1600000000.0.host_MS";
  const std::string value = pb::Bytes(1, "loss") + pb::Float(3, 0.5);
  Append(file, Framed(pb::Double(1, 1) + pb::Bytes(3, "MindSpore.Event:1")));
  Append(file, EventRecord(2, 5, pb::Bytes(1, value)));
  Append(file + "_lineage", "not read here");
  const auto reader = Reader();
  ReadAll(*reader);
  EXPECT_EQ(Values(*reader, "loss"), (std::vector<double>{1}));
  EXPECT_EQ(Values(*reader, "loss/scalar"), (std::vector<double>{0.5}));
  const RunData& data = reader->data();
  EXPECT_EQ(data.tag(*data.FindTag("loss/scalar")).plugin(), "scalar");
  EXPECT_EQ(data.files().size(), 3u);
  EXPECT_TRUE(data.intact());
}

TEST_F(RunFilesReaderTest, RestartsAreMarkedForThePolicies) {
  Append("a.tfevents", eventlog::RenderFileHeader(1) + EventRecord(0, 7, pb::Number(1, 1)) +
                           Record(1, "loss", 1) + Record(2, "loss", 2) +
                           EventRecord(2, 7, pb::Number(1, 1)) + Record(2, "loss", 20));
  const auto reader = Reader();
  ReadAll(*reader);
  RunData& data = reader->data();
  const auto by_step = [&](Overlap policy) {
    std::vector<Point> points;
    data.ByStep(*data.FindTag("loss"), policy).Read(0, 100, &points);
    std::vector<double> values;
    for (const Point& point : points) values.push_back(point.value);
    return values;
  };
  EXPECT_EQ(by_step(Overlap::kRaw), (std::vector<double>{1, 2, 20}));
  EXPECT_EQ(by_step(Overlap::kTensorBoard), (std::vector<double>{1, 20}));
  EXPECT_EQ(by_step(Overlap::kLastWrite), (std::vector<double>{1, 20}));
}

TEST_F(RunFilesReaderTest, ATagTakesLessThan400Bytes) {
  constexpr int kTags = 100'000;
  std::string bytes;
  std::vector<std::string> names;
  std::vector<eventlog::Scalar> scalars;
  for (int i = 0; i < kTags; ++i) names.push_back(absl::StrCat("layer/", i));
  for (const std::string& name : names) scalars.push_back({name, 1});
  Append("a.tfevents", eventlog::RenderScalars(1, 1, scalars));
  const auto reader = Reader(false);
  ReadAll(*reader);
  EXPECT_EQ(reader->data().TagsByName().size(), std::size_t{kTags});
  EXPECT_LT(reader->data().Bytes(), std::size_t{400} * kTags);
  reader->KeepPoints();
  ReadAll(*reader);
  EXPECT_TRUE(reader->data().cached());
  EXPECT_LT(reader->data().Bytes(), std::size_t{500} * kTags);
}

}  // namespace
}  // namespace datamanager

// Tests that a file read in parts yields the same as one read from start to end, whatever its
// content and wherever it is cut.

#include "datamanager/read/run_part.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "datamanager/find/directory_source.h"
#include "datamanager/find/file_kind.h"
#include "datamanager/find/listed_run.h"
#include "datamanager/read/run_data.h"
#include "datamanager/read/run_files_reader.h"
#include "datamanager/series/columns.h"
#include "datamanager/series/overlap_policy.h"
#include "datamanager/series/scalar_summary.h"
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

std::string Framed(std::string_view payload) {
  std::string record;
  eventlog::AppendRecord(payload, &record);
  return record;
}
std::string Head(std::int64_t step, double wall_time = 1) {
  return pb::Double(1, wall_time) + pb::Number(2, static_cast<std::uint64_t>(step));
}
std::string Value(std::int64_t step, const std::string& tag, const std::string& fields,
                  double wall_time = 1) {
  return Framed(Head(step, wall_time) + pb::Bytes(5, pb::Bytes(1, pb::Bytes(1, tag) + fields)));
}
std::string Scalar(std::int64_t step, const std::string& tag, double value) {
  const eventlog::Scalar scalar{tag, value};
  return eventlog::RenderScalars(100.0 + static_cast<double>(step), step, {&scalar, 1});
}
std::string Metadata(const std::string& plugin, std::uint64_t data_class) {
  return pb::Bytes(9, pb::Bytes(1, pb::Bytes(1, plugin)) + pb::Number(4, data_class));
}
std::string Tensor(float value) {
  return pb::Bytes(8, pb::Number(1, 1) + pb::Bytes(2, "") + pb::Bytes(5, pb::FloatBytes(value)));
}
std::string Version(int number) {
  return Framed(pb::Double(1, 1) + pb::Bytes(3, absl::StrCat("brain.Event:", number)));
}
std::string SessionStart(std::int64_t step) {
  return Framed(Head(step) + pb::Bytes(7, pb::Number(1, 1)));
}

// Returns everything known about a run as text; equal texts mean equal data.
std::string Describe(const RunFilesReader& reader) {
  const RunData& data = reader.data();
  std::vector<std::string> lines;
  const auto line = [&lines](const auto&... parts) { lines.push_back(absl::StrCat(parts...)); };
  const auto summary = [&](const ScalarSummary& of, const SeriesMarks& marks) {
    line("  ", of.points, " [", of.first_step, ", ", of.last_step, "] ", of.first_time, " ",
         of.last_time, " ", of.last, " ", of.min, " ", of.max, " ", of.not_finite, " age ",
         marks.age, " restarts ", marks.restarts_seen);
    for (const Purge& purge : marks.purges()) {
      line("  purge ", purge.before, " ", purge.from_step, " ", purge.restart, purge.by_version);
    }
    for (const FileSpan& part : marks.parts()) line("  file ", part.first, " ", part.age);
  };
  for (RunData::TagId id = 0; id < data.tag_count(); ++id) {
    const RunData::Tag& tag = data.tag(id);
    line(std::string(data.tag_name(id)), " ", tag.kind->settled, " ", tag.kind->plugin, " ",
         static_cast<int>(tag.kind->data_class));
    summary(tag.summary, tag.marks);
    std::vector<Point> points;
    tag.points.Read(0, tag.points.size(), &points);
    for (const Point& point : points) {
      line("  ", point.step, " ", point.wall_time, " ", point.value);
    }
    if (tag.values == nullptr) continue;
    summary(tag.values->summary, tag.values->marks);
    for (const ValuePlace& place : tag.values->places.all()) {
      line("  value ", place.step, " ", place.offset, " ", place.length, " ", place.crc, " ",
           place.file, " ", static_cast<int>(place.form));
    }
  }
  for (const RunFileData& file : data.files()) {
    line(file.listed.name, " ", file.version, " ", file.records, " ", file.points, " ",
         file.position.record.offset, " ", static_cast<int>(file.position.record.state), " ",
         file.position.size);
    for (const eventlog::Fault& fault : file.faults.all()) {
      line("  ", std::string(eventlog::FaultName(fault.kind)), " ", fault.count, " ", fault.bytes,
           " ", fault.first_offset, " ", fault.last_offset);
    }
  }
  const PurgeLog::State& state = const_cast<RunFilesReader&>(reader).data().purges().state();
  line(state.file_version, " ", state.recent_step, " ", state.started, state.started_by_version,
       " ", state.restarts, " ", state.all.size(), " ", state.by_version.size());
  line(data.points(), " ", data.values(), " ", data.last_step().value_or(0), " ", data.start_time(),
       " ", data.counted(), data.cached());
  return absl::StrJoin(lines, "\n");
}

class RunPartTest : public testing::Test {
 protected:
  RunPartTest() {
    char name[] = "/tmp/part-XXXXXX";
    directory_ = mkdtemp(name);
  }
  ~RunPartTest() override { std::filesystem::remove_all(directory_); }

  void Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(directory_ + "/" + name, std::ios::binary | std::ios::trunc) << bytes;
  }
  std::unique_ptr<RunFilesReader> Reader(RunFilesReader::Options options, bool keep = true) const {
    ListedRun run;
    run.name = "run";
    run.directory = directory_;
    for (const char* name : {"a.tfevents.1", "b.tfevents.2", "c.tfevents.3"}) {
      const auto state = DirectorySource::Real()->Stat(directory_ + "/" + name);
      if (!state.ok()) continue;
      ListedFile file;
      file.name = name;
      file.kind = FileKind::kTensorBoard;
      file.create_us = (name[11] - '0') * 1'000'000;
      file.state = *state;
      run.files.push_back(file);
    }
    auto reader = std::make_unique<RunFilesReader>(std::make_shared<const ListedRun>(run), options);
    if (keep) reader->KeepPoints();
    return reader;
  }
  std::string Serially(bool keep = true) {
    const auto reader = Reader({}, keep);
    while (reader->ReadOn(&buffer_, false).more) {
    }
    return Describe(*reader);
  }
  struct Cut {
    std::uint64_t part_bytes = 0;
    std::uint64_t step_bytes = 0;
  };
  // Reads parts in a random order that threads might produce. Sets `read_whole_` to the number of
  // bytes that were read outside of parts.
  std::unique_ptr<RunFilesReader> ReadInParts(Cut cut, std::uint32_t seed, bool keep = true) {
    auto reader =
        Reader({.step_bytes = cut.step_bytes, .hands = 3, .part_bytes = cut.part_bytes}, keep);
    GoOn(*reader, seed);
    return reader;
  }
  void GoOn(RunFilesReader& reader, std::uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<RunFilesReader::Part> out;
    read_whole_ = parts_ = 0;
    for (bool more = true; more || !out.empty();) {
      if (random() % 2 == 0 && out.size() < 3) {
        RunFilesReader::Part part = reader.TakePart();
        if (part.part != nullptr) {
          ++parts_;
          out.push_back(std::move(part));
          continue;
        }
      }
      if (!out.empty() && random() % 2 == 0) {
        const std::size_t which = random() % out.size();
        out[which].part->ReadOn(&buffer_);
        reader.GivePart(std::move(out[which]));
        out.erase(out.begin() + static_cast<std::ptrdiff_t>(which));
        continue;
      }
      const RunFilesReader::Step step = reader.ReadOn(&buffer_, false);
      ASSERT_TRUE(step.status.ok()) << step.status;
      read_whole_ += step.read_bytes;
      more = step.more;
    }
  }

  std::string directory_;
  eventlog::ReadBuffer buffer_;
  std::uint64_t read_whole_ = 0;
  int parts_ = 0;  // Number of parts taken; one that was taken twice counts twice.
};

TEST_F(RunPartTest, APlainFileIsReadInPartsAlmostAlone) {
  std::string bytes = Version(2);
  for (int step = 0; step < 20'000; ++step) {
    for (const char* tag : {"loss", "accuracy", "lr"}) bytes += Scalar(step, tag, 0.5 * step);
  }
  Write("a.tfevents.1", bytes);
  Write("b.tfevents.2", Version(2) + Scalar(20'000, "loss", 1));
  const std::string whole = Serially();
  for (std::uint32_t seed = 0; seed < 5; ++seed) {
    const auto reader = ReadInParts({.part_bytes = 300'000, .step_bytes = 100'000}, seed);
    EXPECT_EQ(Describe(*reader), whole);
    EXPECT_LT(read_whole_, bytes.size() / 4) << "of " << bytes.size();
    // Data that are read again have the same order.
    reader->DropPoints();
    reader->KeepPoints();
    GoOn(*reader, seed);
    EXPECT_EQ(Describe(*reader), whole);
  }
}

// While one thread reads the start of a file, no other thread can read from it.
TEST_F(RunPartTest, PartsAreThereAfterALittle) {
  std::string bytes;
  for (int step = 0; step < 10'000; ++step) bytes += Scalar(step, "loss", step);
  Write("a.tfevents.1", bytes);
  const auto reader = Reader({.step_bytes = 160'000, .hands = 2, .part_bytes = 160'000});
  const RunFilesReader::Step step = reader->ReadOn(&buffer_, false);
  EXPECT_TRUE(step.more);
  EXPECT_LT(step.read_bytes, 20'000u);
  EXPECT_EQ(reader->hands(), 2);
  EXPECT_NE(reader->TakePart().part, nullptr);
  EXPECT_NE(reader->TakePart().part, nullptr);
}

TEST_F(RunPartTest, AFileThatIsCountedOnlyKeepsNoPoints) {
  std::string bytes;
  for (int step = 0; step < 5000; ++step) bytes += Scalar(step, "loss", step);
  Write("a.tfevents.1", bytes);
  const auto reader = ReadInParts({.part_bytes = 20'000, .step_bytes = 5000}, 1, false);
  EXPECT_EQ(Describe(*reader), Serially(false));
  EXPECT_EQ(reader->data().cached_bytes(), 0u);
  EXPECT_GE(parts_, 10);
}

TEST_F(RunPartTest, PointsThatAreGivenUpMeanwhileAreCounted) {
  std::string bytes;
  for (int step = 0; step < 5000; ++step) bytes += Scalar(step, "loss", step);
  Write("a.tfevents.1", bytes);
  const auto reader = Reader({.step_bytes = 10'000, .hands = 2, .part_bytes = 20'000});
  reader->ReadOn(&buffer_, false);
  RunFilesReader::Part part = reader->TakePart();
  ASSERT_NE(part.part, nullptr);
  while (!part.part->complete()) part.part->ReadOn(&buffer_);
  reader->DropPoints();
  reader->GivePart(std::move(part));
  GoOn(*reader, 2);
  EXPECT_EQ(Describe(*reader), Serially(false));
  reader->KeepPoints();
  GoOn(*reader, 3);
  EXPECT_EQ(Describe(*reader), Serially());
}

TEST_F(RunPartTest, AFileThatIsReplacedMeanwhileIsReadAnew) {
  std::string bytes, other;
  for (int step = 0; step < 5000; ++step) bytes += Scalar(step, "loss", step);
  for (int step = 0; step < 3000; ++step) other += Scalar(step, "other", -step);
  Write("a.tfevents.1", bytes);
  const auto reader = Reader({.step_bytes = 10'000, .hands = 2, .part_bytes = 20'000});
  reader->ReadOn(&buffer_, false);
  RunFilesReader::Part part = reader->TakePart();
  ASSERT_NE(part.part, nullptr);
  part.part->ReadOn(&buffer_);
  Write("new", other);
  std::filesystem::rename(directory_ + "/new", directory_ + "/a.tfevents.1");
  while (!part.part->complete()) part.part->ReadOn(&buffer_);
  reader->GivePart(std::move(part));
  GoOn(*reader, 2);
  EXPECT_EQ(reader->data().generation(), 1u);
  EXPECT_EQ(reader->data().points(), 3000u);
  EXPECT_FALSE(reader->data().FindTag("loss").has_value());
}

// Generates any content that a file can have.
class Generator {
 public:
  explicit Generator(std::uint32_t seed) : random_(seed) {
    // One record in rare_ is of a rare kind; 0: no rare records.
    rare_ = Below(3) == 0 ? 0 : 2 + Below(200);
    rises_ = Below(2) == 0;
  }

  std::string File(int records, std::int64_t* step) {
    std::string bytes = Below(4) == 0 ? "" : Version(1 + Below(2));
    for (int i = 0; i < records; ++i) {
      *step += Below(3);
      bytes += rare_ > 0 && Below(rare_) == 0 ? Rare(*step) : Plain(*step);
    }
    Damage(&bytes);
    return bytes;
  }

 private:
  int Below(int limit) { return static_cast<int>(random_() % static_cast<std::uint32_t>(limit)); }
  std::string Tag() { return absl::StrCat("tag ", Below(4)); }
  std::string Plain(std::int64_t step) {
    const std::int64_t back = rises_ || Below(50) > 0 ? 0 : Below(20);
    return Scalar(step - back, Tag(), Below(1000) / 8.0);
  }
  std::string Rare(std::int64_t step) {
    constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
    const std::string crowded = Scalar(step, "inside", 1);
    switch (Below(16)) {
      case 0:
        return SessionStart(step - Below(5));
      case 1:
        return Version(1 + Below(2));
      case 2:
        return Value(step, Tag(), Metadata("scalars", 1) + Tensor(1));
      case 3:
        return Value(step, "late kind", Tensor(2));
      case 4:
        return Value(step, "late kind", Metadata("scalars", 1) + Tensor(3));
      case 5:
        return Value(step, "image", pb::Bytes(4, pb::Number(1, 2) + pb::Bytes(4, "png")));
      case 6:  // A record that contains bytes that look like records.
        return Value(step, "text",
                     Metadata("text", 2) + pb::Bytes(8, pb::Number(1, 7) + pb::Bytes(8, crowded)));
      case 7:
        return Value(step, "text",
                     Metadata("text", 2) +
                         pb::Bytes(8, pb::Number(1, 7) + pb::Bytes(8, std::string(3000, 'x'))));
      case 8:
        return Value(step, Tag(), pb::Float(2, 1), kNaN);
      case 9:
        return Framed("");
      case 10:
        return Framed("no event");
      case 11:
        return Framed(Head(step) + pb::Bytes(100, "later"));
      case 12:
        return Framed(Head(step) + pb::Bytes(4, "a graph"));
      case 13:
        return Value(step, "kind only", Metadata("scalars", 1));
      case 14:
        return std::string(static_cast<std::size_t>(Below(40)), 'g');
      default: {
        const std::string length = pb::LittleEndianBytes(std::uint64_t{1} << 63);
        return length + pb::LittleEndianBytes(eventlog::MaskCrc(eventlog::Crc32c(length)));
      }
    }
  }
  void Damage(std::string* bytes) {
    for (int i = Below(4); i > 0 && !bytes->empty(); --i) {
      (*bytes)[random_() % bytes->size()] ^= static_cast<char>(1 + Below(255));
    }
    if (Below(3) == 0) bytes->resize(bytes->size() - random_() % 40);
  }

  std::mt19937 random_;
  int rare_ = 0;
  bool rises_ = false;
};

TEST_F(RunPartTest, AnyFileCutAnywhere) {
  int parts = 0;
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    Generator generator(seed);
    std::int64_t step = 0;
    Write("a.tfevents.1", generator.File(20, &step));
    Write("b.tfevents.2", generator.File(300, &step));
    Write("c.tfevents.3", generator.File(5, &step));
    const std::string whole = Serially();
    for (const Cut cut : {Cut{150, 60}, Cut{700, 300}, Cut{1 + 37 * (seed % 90), 500}}) {
      const auto reader = ReadInParts(cut, seed);
      parts += parts_;
      ASSERT_EQ(Describe(*reader), whole) << cut.part_bytes;
      reader->DropPoints();
      reader->KeepPoints();
      GoOn(*reader, seed);
      ASSERT_EQ(Describe(*reader), whole) << cut.part_bytes << ", read again";
    }
  }
  EXPECT_GT(parts, 10'000);
}

}  // namespace
}  // namespace datamanager

// Tests the faults of event files and runs. Each row says how many points were written, how many of
// them are read, and which counter counts the fault.

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/schema/datamanager_generated.h"
#include "datamanager/answer/answer.h"
#include "datamanager/answer/run_answers.h"
#include "datamanager/catalog/run_catalog.h"
#include "datamanager/catalog/run_source.h"
#include "datamanager/find/directory_source.h"
#include "datamanager/find/file_kind.h"
#include "datamanager/find/listed_run.h"
#include "datamanager/find/run_tree.h"
#include "datamanager/fixtures/fake_run_source.h"
#include "datamanager/read/run_data.h"
#include "datamanager/read/run_files_reader.h"
#include "eventlog/crc32c.h"
#include "eventlog/event.h"
#include "eventlog/file_faults.h"
#include "eventlog/file_scan.h"
#include "eventlog/open_file_bound.h"
#include "eventlog/record.h"
#include "eventlog/testing/protobuf_bytes.h"

namespace datamanager {
namespace {

namespace pb = eventlog::testing;
using eventlog::FaultKind;

constexpr int kPoints = 10;

std::string Framed(std::string_view payload) {
  std::string record;
  eventlog::AppendRecord(payload, &record);
  return record;
}
std::string Point(int step, double wall_time = 1, const std::string& tag = "loss") {
  const eventlog::Scalar scalar{tag, static_cast<double>(step)};
  return eventlog::RenderScalars(wall_time, step, {&scalar, 1});
}
std::string Points(int first, int last) {
  std::string records;
  for (int step = first; step < last; ++step) records += Point(step);
  return records;
}
// Returns the points with another record in the middle.
std::string With(const std::string& record) {
  return Points(0, kPoints / 2) + record + Points(kPoints / 2, kPoints);
}
// Returns the points with a byte of that step's record changed.
std::string Flipped(int step, std::size_t offset) {
  std::string bytes = Points(0, kPoints);
  bytes[Points(0, step).size() + offset] ^= 1;
  return bytes;
}
// Returns a header that announces `length` bytes, with the correct checksum.
std::string Header(std::uint64_t length) {
  const std::string bytes = pb::LittleEndianBytes(length);
  return bytes + pb::LittleEndianBytes(eventlog::MaskCrc(eventlog::Crc32c(bytes)));
}
void Write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// Limits the number of open files during its lifetime.
class FileLimit {
 public:
  explicit FileLimit(rlim_t files) {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit lower{.rlim_cur = files, .rlim_max = before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &lower), 0);
  }
  ~FileLimit() { EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before_), 0); }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  rlimit before_{};
};

struct Row {
  std::string name;
  std::string content;  // The file's content, and the number of points written to it.
  int points_in = kPoints;
  // Applied to the file after it was read once.
  std::function<void(const std::string& path)> damage = nullptr;
  int points_out = 0;
  FaultKind kind = FaultKind::kBadPayload;
  // Applied afterwards; then every point written is read.
  std::function<void(const std::string& path)> repair = nullptr;
  // The test holds the returned object while the file is read, which makes reading fail.
  std::function<std::unique_ptr<FileLimit>()> hinder = nullptr;
};

std::vector<Row> Rows() {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const std::string all = Points(0, kPoints);
  const std::string event = pb::Double(1, 1) + pb::Number(2, 3);
  std::vector<Row> rows;
  const auto content = [&](std::string name, std::string bytes, int in, int out, FaultKind kind) {
    Row row;
    row.name = std::move(name);
    row.content = std::move(bytes);
    row.points_in = in;
    row.points_out = out;
    row.kind = kind;
    rows.push_back(std::move(row));
  };
  const auto damage = [&](std::string name, std::function<void(const std::string&)> done, int out,
                          FaultKind kind) {
    content(std::move(name), all, kPoints, out, kind);
    rows.back().damage = std::move(done);
  };
  content("BadPayload", Flipped(5, 20), kPoints, kPoints - 1, FaultKind::kBadPayload);
  content("BadChecksumOfThePayload", Flipped(5, Point(5).size() - 1), kPoints, kPoints - 1,
          FaultKind::kBadPayload);
  content("BadLength", Flipped(5, 0), kPoints, kPoints - 1, FaultKind::kBadLength);
  content("NoEventFile", "an archive of " + all, kPoints, 0, FaultKind::kBadLength);
  content("BadChecksumOfTheLength", Flipped(5, 8), kPoints, kPoints - 1, FaultKind::kBadLength);
  content("ALengthOf2To63", With(Header(std::uint64_t{1} << 63)), kPoints, kPoints,
          FaultKind::kTooLong);
  content("AnEndlessLength", With(Header(~std::uint64_t{0})), kPoints, kPoints,
          FaultKind::kTooLong);
  content("NotAnEvent", With(Framed("no event")), kPoints, kPoints, FaultKind::kNotAnEvent);
  content("EmptyPayload", With(Framed("")), kPoints, kPoints, FaultKind::kEmptyPayload);
  content("UnknownField", With(Framed(event + pb::Bytes(100, "later"))), kPoints, kPoints,
          FaultKind::kUnknownField);
  content("NoWallTime", With(Point(3, kNaN)), kPoints + 1, kPoints + 1, FaultKind::kBadWallTime);
  content("NoNumber",
          With(Framed(event + pb::Bytes(5, pb::Bytes(1, pb::Bytes(1, "loss") +
                                                            pb::Bytes(8, pb::Number(1, 7)))))),
          kPoints + 1, kPoints, FaultKind::kBadValue);
  content("ATagTooLong", With(Point(3, 1, std::string((64 << 10) + 1, 't'))), kPoints + 1, kPoints,
          FaultKind::kTagTooLong);
  content("TruncatedTail", all.substr(0, all.size() - 3), kPoints, kPoints - 1,
          FaultKind::kUnfinishedTail);
  rows.back().repair = [](const std::string& path) { Write(path, Points(0, kPoints)); };
  damage(
      "Shrunk",
      [](const std::string& path) { std::filesystem::resize_file(path, Points(0, 4).size()); }, 4,
      FaultKind::kShrunk);
  damage(
      "Replaced",
      [](const std::string& path) {
        Write(path + ".new", Points(20, 27));
        std::filesystem::rename(path + ".new", path);
      },
      7, FaultKind::kReplaced);
  damage(
      "RewrittenInPlace",
      [](const std::string& path) {
        std::fstream(path, std::ios::binary | std::ios::in | std::ios::out) << Points(40, 50);
      },
      kPoints, FaultKind::kRewritten);
  damage(
      "Vanished", [](const std::string& path) { std::filesystem::remove(path); }, 0,
      FaultKind::kVanished);
  damage(
      "Unreadable",
      [](const std::string& path) {
        std::filesystem::remove(path);
        std::filesystem::create_directory(path);
      },
      kPoints, FaultKind::kUnreadable);
  rows.back().repair = [](const std::string& path) {
    std::filesystem::remove(path);
    Write(path, Points(0, kPoints));
  };
  content("NoDescriptor", all, kPoints, 0, FaultKind::kNoDescriptor);
  rows.back().hinder = [] { return std::make_unique<FileLimit>(0); };
  rows.back().repair = [](const std::string&) {};
  return rows;
}

class FaultTest : public testing::TestWithParam<Row> {
 protected:
  FaultTest() {
    char name[] = "/tmp/faul-XXXXXX";
    directory_ = mkdtemp(name);
    path_ = directory_ + "/x.tfevents";
  }
  ~FaultTest() override { std::filesystem::remove_all(directory_); }

  std::unique_ptr<RunFilesReader> Reader() const {
    ListedRun run;
    run.name = "run";
    run.directory = directory_;
    ListedFile file;
    file.name = "x.tfevents";
    file.kind = FileKind::kTensorBoard;
    file.state = *DirectorySource::Real()->Stat(path_);
    run.files = {file};
    auto reader = std::make_unique<RunFilesReader>(std::make_shared<const ListedRun>(run),
                                                   RunFilesReader::Options());
    reader->KeepPoints();
    return reader;
  }
  absl::Status ReadAll(RunFilesReader& reader) {
    RunFilesReader::Step step;
    do {
      step = reader.ReadOn(&buffer_, false);
    } while (step.more && step.status.ok());
    return step.status;
  }
  static int PointsIn(const RunFilesReader& reader) {
    std::size_t points = 0;
    for (const RunData::TagId id : reader.data().TagsByName()) {
      points += reader.data().tag(id).points.size();
    }
    EXPECT_EQ(points, reader.data().points());
    return static_cast<int>(points);
  }

  std::string directory_;
  std::string path_;
  eventlog::ReadBuffer buffer_;
};

TEST_P(FaultTest, CostsWhatItMustAndIsCounted) {
  const Row& row = GetParam();
  Write(path_, row.content);
  const auto reader = Reader();
  {
    const auto held = row.hinder != nullptr ? row.hinder() : nullptr;
    EXPECT_EQ(ReadAll(*reader).ok(), held == nullptr);
    EXPECT_EQ(reader->data().counted(), held == nullptr);
  }
  if (row.damage != nullptr) {
    EXPECT_EQ(PointsIn(*reader), row.points_in);
    EXPECT_TRUE(reader->data().files()[0].faults.empty());
    row.damage(path_);
    reader->RecheckAll();
    EXPECT_EQ(ReadAll(*reader), absl::OkStatus());
  }
  EXPECT_EQ(PointsIn(*reader), row.points_out);
  const auto& faults = reader->data().files()[0].faults;
  EXPECT_EQ(faults.Of(row.kind).count, 1u);
  EXPECT_EQ(faults.all().size(), 1u) << "and nothing else is said";
  if (row.repair != nullptr) {
    row.repair(path_);
    reader->RecheckAll();
    EXPECT_EQ(ReadAll(*reader), absl::OkStatus());
    EXPECT_EQ(PointsIn(*reader), row.points_in);
    return;
  }
  // Reading the data again yields the same, and counts no fault twice.
  const std::uint64_t generation = reader->data().generation();
  reader->DropPoints();
  reader->KeepPoints();
  EXPECT_EQ(ReadAll(*reader), absl::OkStatus());
  EXPECT_EQ(PointsIn(*reader), row.points_out);
  EXPECT_EQ(faults.Of(row.kind).count, 1u);
  EXPECT_EQ(reader->data().generation(), generation);
}

// Tests what `yard show RUN --files` prints.
TEST_P(FaultTest, IsToldWithTheFilesOfTheRun) {
  const Row& row = GetParam();
  FakeRunSource source;
  source.Append("run/x.tfevents", row.content);
  source.Scan();
  {
    const auto held = row.hinder != nullptr ? row.hinder() : nullptr;
    source.ReadFiles("run", RunSource::Need::kCounts);
  }
  if (row.hinder != nullptr) {
    // A file that was never read has no faults to report, so read it once more.
    source.ReadFiles("run", RunSource::Need::kCounts);
  }
  if (row.damage != nullptr) {
    row.damage(source.root() + "/run/x.tfevents");
    source.ReadFiles("run", RunSource::Need::kCounts);
  }
  msg::FilesRequestT request;
  request.run = "run";
  const auto part = (*MakeFilesAnswer(request, &source))->Next();
  ASSERT_TRUE(part.ok()) << part.status();
  // The faults of a vanished file are reported next to the list of files.
  const bool gone = row.kind == FaultKind::kVanished;
  ASSERT_EQ(part->reply.files.size(), 1u);
  const auto& faults = gone ? part->reply.faults : part->reply.files[0]->faults;
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(static_cast<int>(faults[0]->kind), static_cast<int>(row.kind));
  EXPECT_EQ(faults[0]->count, 1u);
  EXPECT_FALSE(faults[0]->text.empty());
  if (gone) return;
  EXPECT_EQ(part->reply.files[0]->points,
            static_cast<std::uint64_t>(row.hinder == nullptr ? row.points_out : row.points_in));
}

TEST(FaultsTest, ThereIsARowForEachKind) {
  std::set<FaultKind> kinds;
  for (const Row& row : Rows()) kinds.insert(row.kind);
  EXPECT_EQ(kinds.size(), eventlog::kFaultKinds);
}

INSTANTIATE_TEST_SUITE_P(All, FaultTest, testing::ValuesIn(Rows()),
                         [](const auto& info) { return info.param.name; });

// Lists all directories except for those that the test makes fail.
class FailingSource : public DirectorySource {
 public:
  absl::StatusOr<FileStat> Stat(const std::string& path) override { return Real()->Stat(path); }
  absl::Status List(const std::string& path, const OnEntry& on_entry) override {
    if (!ending_.empty() && path.ends_with(ending_)) {
      return absl::PermissionDeniedError("cannot list " + path);
    }
    return Real()->List(path, on_entry);
  }
  void Fail(std::string_view ending) { ending_ = ending; }
  void Heal() { ending_.clear(); }

 private:
  std::string ending_;
};

// Runs below a directory, followed like in the service.
class Runs {
 public:
  static constexpr int kThreads = 8;

  explicit Runs(int open_files = 16) {
    char name[] = "/tmp/faul-XXXXXX";
    root_ = mkdtemp(name);
    RunTree::Options options;
    options.root = root_;
    options.threads = kThreads;
    options.source = &source_;
    tree_ = std::make_unique<RunTree>(options);
    catalog_ =
        *RunCatalog::Create({.root = root_, .load_threads = kThreads, .open_files = open_files});
  }
  ~Runs() {
    catalog_.reset();
    std::filesystem::remove_all(root_);
  }
  Runs(const Runs&) = delete;
  Runs& operator=(const Runs&) = delete;

  std::string directory(const std::string& run) const { return root_ + "/" + run; }
  FailingSource& source() { return source_; }
  const RunCatalog& catalog() const { return *catalog_; }

  void Add(const std::string& run, const std::string& content,
           const std::string& file = "x.tfevents") const {
    std::filesystem::create_directories(directory(run));
    Write(directory(run) + "/" + file, content);
  }
  void Remove(const std::string& run) const { std::filesystem::remove_all(directory(run)); }
  // Scans, and returns the number of points of all runs.
  int PointsFound() {
    const RunTree::Delta delta = tree_->Rescan();
    catalog_->Found(delta, tree_->runs(), tree_->unreadable());
    EXPECT_TRUE(catalog_->AwaitLoaded(absl::Minutes(2)));
    std::uint64_t points = 0;
    for (const RunCatalog::RunInfo& run : catalog_->Runs()) {
      points += run.points;
      EXPECT_TRUE(run.intact);
    }
    EXPECT_EQ(catalog_->GetStats().loads.failures, 0u);
    EXPECT_EQ(catalog_->GetStats().bad_records, 0u);
    return static_cast<int>(points);
  }

 private:
  std::string root_;
  FailingSource source_;
  std::unique_ptr<RunTree> tree_;
  std::unique_ptr<RunCatalog> catalog_;
};

using Counter = std::int64_t (*)(const RunCatalog&);

std::int64_t RunsKnown(const RunCatalog& catalog) {
  return static_cast<std::int64_t>(catalog.GetStats().runs);
}
std::int64_t TagsKnown(const RunCatalog& catalog) {
  std::size_t tags = 0;
  for (const RunCatalog::RunInfo& run : catalog.Runs()) tags += run.tags;
  return static_cast<std::int64_t>(tags);
}
std::int64_t UnreadableDirectories(const RunCatalog& catalog) {
  return static_cast<std::int64_t>(catalog.GetScanStatus().unreadable.count);
}
// Returns the run's generation, i.e. how often it was read from the beginning again.
std::int64_t Generation(const RunCatalog& catalog) {
  return static_cast<std::int64_t>(catalog.Describe("run")->generation);
}

struct RunsRow {
  std::string name;
  std::function<void(Runs&)> write;
  int points_in = kPoints;
  // Applied after the runs were found once.
  std::function<void(Runs&)> damage = nullptr;
  int points_out = kPoints;
  Counter counter = nullptr;
  std::int64_t rises_by = 0;
  // Applied afterwards; then every point written is read, and the counter is back at its old value.
  std::function<void(Runs&)> repair = nullptr;
  rlim_t descriptors = 0;  // The process's limit; 0: unchanged.
};

std::vector<RunsRow> RunsRows() {
  const auto one = [](Runs& runs) { runs.Add("run", Points(0, kPoints)); };
  constexpr int kManyRuns = 300;
  constexpr int kManyTags = 1'000'000;
  return {
      {.name = "NothingHappens", .write = one, .damage = [](Runs&) {}, .counter = Generation},
      {.name = "Deleted",
       .write = one,
       .damage = [](Runs& runs) { runs.Remove("run"); },
       .points_out = 0,
       .counter = RunsKnown,
       .rises_by = -1,
       .repair = one},
      {.name = "Recreated",
       .write = one,
       .damage =
           [](Runs& runs) {
             runs.Remove("run");
             runs.Add("run", Points(3, 10));
           },
       .points_out = 7,
       .counter = Generation,
       .rises_by = 1},
      {.name = "DeletedAndLaterRecreated",
       .write = one,
       .damage =
           [](Runs& runs) {
             runs.Remove("run");
             EXPECT_EQ(runs.PointsFound(), 0);
             runs.Add("run", Points(0, 4));
           },
       .points_out = 4,
       .counter = Generation,
       .rises_by = 1},
      {.name = "AnotherFile",
       .write = one,
       .damage =
           [](Runs& runs) {
             std::filesystem::remove(runs.directory("run") + "/x.tfevents");
             runs.Add("run", Points(0, 2), "y.tfevents");
           },
       .points_out = 2,
       .counter = Generation,
       .rises_by = 1},
      {.name = "UnreadableDirectory",
       .write =
           [](Runs& runs) {
             runs.Add("good", Points(0, kPoints));
             runs.Add("closed", Points(0, kPoints));
             runs.source().Fail("/closed");
           },
       .points_in = 2 * kPoints,
       .points_out = kPoints,
       .counter = UnreadableDirectories,
       .rises_by = 1,
       .repair = [](Runs& runs) { runs.source().Heal(); }},
      {.name = "SixtyFourDescriptors",
       .write =
           [](Runs& runs) {
             for (int run = 0; run < kManyRuns; ++run) {
               runs.Add(absl::StrCat(run), Points(0, kPoints));
             }
           },
       .points_in = kManyRuns * kPoints,
       .points_out = kManyRuns * kPoints,
       .counter = RunsKnown,
       .rises_by = kManyRuns,
       .descriptors = 64},
      {.name = "AMillionTags",
       .write =
           [](Runs& runs) {
             constexpr int kTagsOfAStep = 1000;
             std::string content;
             for (int step = 0; step < kManyTags / kTagsOfAStep; ++step) {
               std::vector<std::string> tags;
               for (int i = 0; i < kTagsOfAStep; ++i) tags.push_back(absl::StrCat(step, "/", i));
               std::vector<eventlog::Scalar> scalars;
               for (const std::string& tag : tags) scalars.push_back({tag, 1});
               content += eventlog::RenderScalars(1, step, scalars);
             }
             runs.Add("run", content);
           },
       .points_in = kManyTags,
       .points_out = kManyTags,
       .counter = TagsKnown,
       .rises_by = kManyTags},
  };
}

class RunFaultsTest : public testing::TestWithParam<RunsRow> {};

TEST_P(RunFaultsTest, CostsWhatItMustAndIsCounted) {
  const RunsRow& row = GetParam();
  std::optional<FileLimit> few;
  if (row.descriptors > 0) few.emplace(row.descriptors);
  Runs runs(row.descriptors > 0 ? eventlog::OpenFileBound::For(Runs::kThreads, row.descriptors)
                                : 16);
  row.write(runs);
  std::int64_t before = 0;
  if (row.damage != nullptr) {
    EXPECT_EQ(runs.PointsFound(), row.points_in);
    before = row.counter(runs.catalog());
    row.damage(runs);
  }
  EXPECT_EQ(runs.PointsFound(), row.points_out);
  EXPECT_EQ(row.counter(runs.catalog()) - before, row.rises_by);
  if (row.repair == nullptr) return;
  row.repair(runs);
  EXPECT_EQ(runs.PointsFound(), row.points_in);
  EXPECT_EQ(row.counter(runs.catalog()), before);
}

INSTANTIATE_TEST_SUITE_P(All, RunFaultsTest, testing::ValuesIn(RunsRows()),
                         [](const auto& info) { return info.param.name; });

TEST(RunsTest, WhyADirectoryCannotBeReadIsTold) {
  Runs runs;
  runs.Add("closed", Points(0, kPoints));
  runs.source().Fail("/closed");
  EXPECT_EQ(runs.PointsFound(), 0);
  EXPECT_EQ(runs.catalog().GetScanStatus().unreadable.reasons.at(0).message(),
            "cannot list " + runs.directory("closed"));
}

}  // namespace
}  // namespace datamanager

// What can be wrong with event files and with runs, and what it costs: each row says how many
// points were written, how many of them are there, and which counter tells.

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
#include "datamanager/answer.h"
#include "datamanager/directory_source.h"
#include "datamanager/fake_run_source.h"
#include "datamanager/file_kind.h"
#include "datamanager/listed_run.h"
#include "datamanager/run_answers.h"
#include "datamanager/run_catalog.h"
#include "datamanager/run_data.h"
#include "datamanager/run_reader.h"
#include "datamanager/run_source.h"
#include "datamanager/run_tree.h"
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
// With another record in the middle.
std::string With(const std::string& record) {
  return Points(0, kPoints / 2) + record + Points(kPoints / 2, kPoints);
}
// With the record of that step changed at `offset`.
std::string Flipped(int step, std::size_t offset) {
  std::string bytes = Points(0, kPoints);
  bytes[Points(0, step).size() + offset] ^= 1;
  return bytes;
}
// A header that promises so much, with the right checksum.
std::string Header(std::uint64_t length) {
  const std::string bytes = pb::LittleEndianBytes(length);
  return bytes + pb::LittleEndianBytes(eventlog::MaskCrc(eventlog::Crc32c(bytes)));
}
void Write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

struct Row {
  std::string name;
  std::string content;  // Of the file, and how many points were written to it.
  int points_in = kPoints;
  // Done to the file after it has been read once.
  std::function<void(const std::string& path)> damage = nullptr;
  int points_out = 0;
  FaultKind kind = FaultKind::kBadPayload;
  // Done afterwards; then all that was written is there.
  std::function<void(const std::string& path)> repair = nullptr;
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

  std::unique_ptr<RunReader> Reader() const {
    ListedRun run;
    run.name = "run";
    run.directory = directory_;
    ListedFile file;
    file.name = "x.tfevents";
    file.kind = FileKind::kTensorBoard;
    file.state = *DirectorySource::Real()->Look(path_);
    run.files = {file};
    auto reader =
        std::make_unique<RunReader>(std::make_shared<const ListedRun>(run), RunReader::Options());
    reader->KeepPoints();
    return reader;
  }
  absl::Status ReadAll(RunReader& reader) {
    RunReader::Step step;
    do {
      step = reader.ReadOn(&buffer_, false);
    } while (step.more && step.status.ok());
    return step.status;
  }
  static int PointsIn(const RunReader& reader) {
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
  EXPECT_EQ(ReadAll(*reader), absl::OkStatus());
  if (row.damage != nullptr) {
    EXPECT_EQ(PointsIn(*reader), row.points_in);
    EXPECT_TRUE(reader->data().files()[0].faults.empty());
    row.damage(path_);
    reader->LookAtAll();
    EXPECT_EQ(ReadAll(*reader), absl::OkStatus());
  }
  EXPECT_EQ(PointsIn(*reader), row.points_out);
  const auto& faults = reader->data().files()[0].faults;
  EXPECT_EQ(faults.Of(row.kind).count, 1u);
  EXPECT_EQ(faults.all().size(), 1u) << "and nothing else is said";
  if (row.repair != nullptr) {
    row.repair(path_);
    reader->LookAtAll();
    EXPECT_EQ(ReadAll(*reader), absl::OkStatus());
    EXPECT_EQ(PointsIn(*reader), row.points_in);
    return;
  }
  // What is read again is the same, and nothing is counted twice.
  const std::uint64_t generation = reader->data().generation();
  reader->DropPoints();
  reader->KeepPoints();
  EXPECT_EQ(ReadAll(*reader), absl::OkStatus());
  EXPECT_EQ(PointsIn(*reader), row.points_out);
  EXPECT_EQ(faults.Of(row.kind).count, 1u);
  EXPECT_EQ(reader->data().generation(), generation);
}

// What `yard show RUN --files` prints.
TEST_P(FaultTest, IsToldWithTheFilesOfTheRun) {
  const Row& row = GetParam();
  FakeRunSource source;
  source.Append("run/x.tfevents", row.content);
  source.Scan();
  source.Read("run", RunSource::Need::kCounts);
  if (row.damage != nullptr) {
    row.damage(source.root() + "/run/x.tfevents");
    source.Read("run", RunSource::Need::kCounts);
  }
  msg::FilesRequestT request;
  request.run = "run";
  const auto part = (*MakeFilesAnswer(request, &source))->Next();
  ASSERT_TRUE(part.ok()) << part.status();
  // Those of a file that is gone stand beside the files.
  const bool gone = row.kind == FaultKind::kVanished;
  ASSERT_EQ(part->reply.files.size(), 1u);
  const auto& faults = gone ? part->reply.faults : part->reply.files[0]->faults;
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(static_cast<int>(faults[0]->kind), static_cast<int>(row.kind));
  EXPECT_EQ(faults[0]->count, 1u);
  EXPECT_FALSE(faults[0]->text.empty());
  if (gone) return;
  EXPECT_EQ(part->reply.files[0]->points, static_cast<std::uint64_t>(row.points_out));
}

TEST(FaultsTest, ThereIsARowForEachKind) {
  std::set<FaultKind> kinds = {FaultKind::kNoDescriptor};  // In tests of its own, below.
  for (const Row& row : Rows()) kinds.insert(row.kind);
  EXPECT_EQ(kinds.size(), eventlog::kFaultKinds);
}

INSTANTIATE_TEST_SUITE_P(All, FaultTest, testing::ValuesIn(Rows()),
                         [](const auto& info) { return info.param.name; });

// So few files may be opened while it lives.
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

TEST_F(FaultTest, WithoutADescriptorItWaitsForOne) {
  Write(path_, Points(0, kPoints));
  const auto reader = Reader();
  {
    const FileLimit none(0);
    EXPECT_FALSE(ReadAll(*reader).ok());
    EXPECT_FALSE(reader->data().counted());
  }
  EXPECT_EQ(reader->data().files()[0].faults.Of(FaultKind::kNoDescriptor).count, 1u);
  EXPECT_EQ(ReadAll(*reader), absl::OkStatus());
  EXPECT_EQ(PointsIn(*reader), kPoints);
}

// Runs below a directory, as the service follows them.
class RunFaultsTest : public testing::Test {
 protected:
  static constexpr int kThreads = 8;

  RunFaultsTest() {
    char name[] = "/tmp/faul-XXXXXX";
    root_ = mkdtemp(name);
  }
  ~RunFaultsTest() override { std::filesystem::remove_all(root_); }

  void Open(int open_files = 16, DirectorySource* source = DirectorySource::Real()) {
    RunTree::Options options;
    options.root = root_;
    options.threads = kThreads;
    options.source = source;
    tree_ = std::make_unique<RunTree>(options);
    catalog_ =
        *RunCatalog::Create({.root = root_, .load_threads = kThreads, .open_files = open_files});
  }
  void AddRun(const std::string& run, const std::string& content) const {
    std::filesystem::create_directories(root_ + "/" + run);
    Write(root_ + "/" + run + "/x.tfevents", content);
  }
  // Of all runs, after a scan.
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
    return static_cast<int>(points);
  }

  std::string root_;
  std::unique_ptr<RunTree> tree_;
  std::unique_ptr<RunCatalog> catalog_;
};

TEST_F(RunFaultsTest, WhatIsDoneToARunIsNoticedByTheNextScan) {
  const struct {
    const char* what;
    std::function<void(const std::string& directory)> done;
    int points;
    std::uint64_t generation;
  } kRows[] = {
      {"nothing", [](const std::string&) {}, kPoints, 0},
      {"it is made again",
       [](const std::string& directory) {
         std::filesystem::remove_all(directory);
         std::filesystem::create_directory(directory);
         Write(directory + "/x.tfevents", Points(3, 10));
       },
       7, 1},
      {"it is deleted",
       [](const std::string& directory) { std::filesystem::remove_all(directory); }, 0, 0},
      {"it is there again",
       [](const std::string& directory) {
         std::filesystem::create_directory(directory);
         Write(directory + "/x.tfevents", Points(0, 4));
       },
       4, 2},
      {"its file is another",
       [](const std::string& directory) {
         std::filesystem::remove(directory + "/x.tfevents");
         Write(directory + "/y.tfevents", Points(0, 2));
       },
       2, 3},
  };
  AddRun("run", Points(0, kPoints));
  Open();
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.what);
    row.done(root_ + "/run");
    EXPECT_EQ(PointsFound(), row.points);
    const auto run = catalog_->Describe("run");
    ASSERT_EQ(run.ok(), row.points > 0);
    if (!run.ok()) continue;
    EXPECT_EQ(run->generation, row.generation);
  }
}

// Lists some directories no more.
class FailingSource : public DirectorySource {
 public:
  explicit FailingSource(std::string_view ending) : ending_(ending) {}
  absl::StatusOr<FileState> Look(const std::string& path) override { return Real()->Look(path); }
  absl::Status List(const std::string& path, const OnEntry& on_entry) override {
    if (!ending_.empty() && path.ends_with(ending_)) {
      return absl::PermissionDeniedError("cannot list " + path);
    }
    return Real()->List(path, on_entry);
  }
  void Heal() { ending_.clear(); }

 private:
  std::string ending_;
};

TEST_F(RunFaultsTest, ADirectoryThatCannotBeReadCostsItselfAndIsCounted) {
  AddRun("good", Points(0, kPoints));
  AddRun("closed", Points(0, kPoints));
  FailingSource source("/closed");
  Open(16, &source);
  EXPECT_EQ(PointsFound(), kPoints);
  EXPECT_EQ(catalog_->GetWhole().unreadable.count, 1u);
  EXPECT_EQ(catalog_->GetWhole().unreadable.reasons.at(0).message(),
            "cannot list " + root_ + "/closed");
  source.Heal();
  EXPECT_EQ(PointsFound(), 2 * kPoints);
  EXPECT_EQ(catalog_->GetWhole().unreadable.count, 0u);
}

TEST_F(RunFaultsTest, SixtyFourDescriptorsAreEnoughForManyRuns) {
  constexpr int kRuns = 300;
  for (int run = 0; run < kRuns; ++run) AddRun(absl::StrCat(run), Points(0, kPoints));
  const FileLimit few(64);
  Open(eventlog::OpenFileBound::For(kThreads, 64));
  EXPECT_EQ(PointsFound(), kRuns * kPoints);
}

TEST_F(RunFaultsTest, AMillionTagsAreAllThere) {
  constexpr int kSteps = 1000;
  constexpr int kTagsOfAStep = 1000;
  std::string content;
  for (int step = 0; step < kSteps; ++step) {
    std::vector<std::string> tags;
    for (int i = 0; i < kTagsOfAStep; ++i) tags.push_back(absl::StrCat(step, "/", i));
    std::vector<eventlog::Scalar> scalars;
    for (const std::string& tag : tags) scalars.push_back({tag, 1});
    content += eventlog::RenderScalars(1, step, scalars);
  }
  AddRun("run", content);
  Open();
  EXPECT_EQ(PointsFound(), kSteps * kTagsOfAStep);
  EXPECT_EQ(catalog_->Describe("run")->tags, std::size_t{kSteps * kTagsOfAStep});
  EXPECT_EQ(catalog_->GetStats().bad_records, 0u);
}

}  // namespace
}  // namespace datamanager

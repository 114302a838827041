// What can be wrong with event files, and what it costs: each row says how many points were
// written, how many of them are there, and which counter tells.

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
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "datamanager/directory_source.h"
#include "datamanager/file_kind.h"
#include "datamanager/listed_run.h"
#include "datamanager/run_catalog.h"
#include "datamanager/run_data.h"
#include "datamanager/run_reader.h"
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
  std::uint64_t count = 1;
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
  EXPECT_EQ(faults.Of(row.kind).count, row.count);
  EXPECT_EQ(faults.all().size(), 1u) << "and nothing else is said";
  // What is read again is the same, and nothing is counted twice.
  const std::uint64_t generation = reader->data().generation();
  if (row.kind == FaultKind::kUnreadable) return;
  reader->DropPoints();
  reader->KeepPoints();
  EXPECT_EQ(ReadAll(*reader), absl::OkStatus());
  EXPECT_EQ(PointsIn(*reader), row.points_out);
  EXPECT_EQ(faults.Of(row.kind).count, row.count);
  EXPECT_EQ(reader->data().generation(), generation);
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

TEST_F(FaultTest, SixtyFourDescriptorsAreEnoughForManyRuns) {
  constexpr int kRuns = 300;
  for (int run = 0; run < kRuns; ++run) {
    const std::string directory = absl::StrCat(directory_, "/", run);
    std::filesystem::create_directory(directory);
    Write(directory + "/x.tfevents", Points(0, kPoints));
  }
  constexpr int kThreads = 8;
  const FileLimit few(64);
  RunTree::Options options;
  options.root = directory_;
  options.threads = kThreads;
  RunTree tree(options);
  const auto catalog =
      *RunCatalog::Create({.root = directory_,
                           .load_threads = kThreads,
                           .open_files = eventlog::OpenFileBound::For(kThreads, 64)});
  const RunTree::Delta delta = tree.Rescan();
  catalog->Found(delta, tree.runs());
  ASSERT_TRUE(catalog->AwaitLoaded(absl::Seconds(60)));
  std::uint64_t points = 0;
  for (const RunCatalog::RunInfo& run : catalog->Runs()) {
    points += run.points;
    EXPECT_TRUE(run.intact);
  }
  EXPECT_EQ(points, std::uint64_t{kRuns * kPoints});
  EXPECT_EQ(catalog->GetStats().loads.failures, 0u);
}

}  // namespace
}  // namespace datamanager

#include "trainer/run_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/file.h"

namespace trainer {
namespace {

class FakeRows : public RunFiles::Rows {
 public:
  std::vector<ResultRow> rows;

  absl::StatusOr<ResultRow> LastThatFits(ResultFile file, std::int64_t size) override {
    ResultRow last;
    for (const ResultRow& row : rows) {
      if (row.ends[file] <= size) last = row;
    }
    return last;
  }
  // Two at a time, so that a repair has to ask again.
  absl::StatusOr<std::vector<ResultRow>> After(std::int64_t row) override {
    std::vector<ResultRow> after;
    for (const ResultRow& next : rows) {
      if (next.row > row && after.size() < 2) after.push_back(next);
    }
    return after;
  }
};

class RunFilesTest : public testing::Test {
 protected:
  RunFilesTest() {
    char name[] = "/tmp/rf-XXXXXX";
    directory_ = mkdtemp(name);
    RunFiles files(Options());
    FileEnds ends = files.Beginning();
    for (int i = 1; i <= 5; ++i) {
      ResultRow row;
      row.row = i;
      row.training_iteration = row.step = i;
      row.wall_time_us = 1'700'000'000'000'000 + i;
      row.metrics = absl::StrCat("{\"loss\":", i, ".5,\"s\":\"x\"}");
      files.Place(ends, row);
      ends = row.ends;
      rows_.rows.push_back(row);
    }
    EXPECT_TRUE(files.Repair(rows_).ok());
    whole_ = Contents();
  }
  ~RunFilesTest() override { std::filesystem::remove_all(directory_); }

  RunFiles::Options Options() const {
    return {directory_, {"t-abcde", "e", "host", 1'700'000'000'000'000, "events.tfevents"}, {}};
  }
  std::string Path(std::size_t file) const {
    static constexpr const char* kNames[] = {"result.json", "progress.csv", "events.tfevents"};
    return absl::StrCat(directory_, "/", kNames[file]);
  }
  std::vector<std::string> Contents() const {
    std::vector<std::string> contents;
    for (std::size_t i = 0; i < kResultFiles; ++i) {
      contents.push_back(runtime::ReadFile(Path(i), 1 << 20).value_or("missing"));
    }
    return contents;
  }

  std::string directory_;
  FakeRows rows_;
  std::vector<std::string> whole_;
};

TEST_F(RunFilesTest, PlacesRowsWhereTheyEnd) {
  for (std::size_t i = 0; i < kResultFiles; ++i) {
    EXPECT_EQ(rows_.rows.back().ends[i], static_cast<std::int64_t>(whole_[i].size()));
  }
}

TEST_F(RunFilesTest, AppendingWritesTheSameBytesAsRepair) {
  std::filesystem::remove_all(directory_);
  RunFiles files(Options());
  FakeRows none;
  ASSERT_TRUE(files.Repair(none).ok());
  for (const ResultRow& row : rows_.rows) ASSERT_TRUE(files.Append(row).ok());
  EXPECT_EQ(Contents(), whole_);
}

TEST_F(RunFilesTest, RepairsAFileTornAtAnyByte) {
  for (std::size_t file = 0; file < kResultFiles; ++file) {
    for (std::size_t size = 0; size <= whole_[file].size(); ++size) {
      ASSERT_EQ(truncate(Path(file).c_str(), static_cast<off_t>(size)), 0);
      RunFiles files(Options());
      ASSERT_TRUE(files.Repair(rows_).ok());
      ASSERT_EQ(Contents(), whole_) << Path(file) << " cut to " << size;
    }
  }
}

TEST_F(RunFilesTest, RepairCutsOffWhatBelongsToNoRow) {
  const std::vector<ResultRow> all = rows_.rows;
  for (std::size_t kept = 0; kept <= all.size(); ++kept) {
    rows_.rows = all;
    ASSERT_TRUE(RunFiles(Options()).Repair(rows_).ok());
    rows_.rows.resize(kept);
    RunFiles files(Options());
    ASSERT_TRUE(files.Repair(rows_).ok());
    for (std::size_t i = kept; i < all.size(); ++i) ASSERT_TRUE(files.Append(all[i]).ok());
    EXPECT_EQ(Contents(), whole_) << kept << " rows kept";
  }
}

TEST_F(RunFilesTest, RepairMakesADeletedDirectoryAgain) {
  std::filesystem::remove_all(directory_);
  ASSERT_TRUE(RunFiles(Options()).Repair(rows_).ok());
  EXPECT_EQ(Contents(), whole_);
}

TEST_F(RunFilesTest, ASymbolicLinkInPlaceOfAFileIsRefused) {
  ASSERT_EQ(unlink(Path(kResultJson).c_str()), 0);
  ASSERT_EQ(symlink("/dev/full", Path(kResultJson).c_str()), 0);
  EXPECT_FALSE(RunFiles(Options()).Repair(rows_).ok());
}

TEST_F(RunFilesTest, AfterAnErrorItIsBehindUntilRepaired) {
  RunFiles files(Options());
  EXPECT_TRUE(files.behind());
  EXPECT_EQ(files.Append(rows_.rows[0]).code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(files.Repair(rows_).ok());
  EXPECT_FALSE(files.behind());
}

}  // namespace
}  // namespace trainer

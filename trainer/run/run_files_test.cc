#include "trainer/run/run_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"

namespace trainer {
namespace {

class FakeRows : public RunFiles::Rows {
 public:
  std::vector<ResultRow> rows;
  std::vector<CsvWidening> widenings;

  absl::StatusOr<ResultRow> LastThatFits(ResultFile file, std::int64_t size) override {
    ResultRow last;
    for (const ResultRow& row : rows) {
      if (row.ends[file] <= size) last = row;
    }
    return last;
  }
  // Returns two rows at a time, so that a repair has to ask again.
  absl::StatusOr<std::vector<ResultRow>> After(std::int64_t row) override {
    std::vector<ResultRow> after;
    for (const ResultRow& next : rows) {
      if (next.row > row && after.size() < 2) after.push_back(next);
    }
    return after;
  }
  absl::StatusOr<std::vector<CsvWidening>> Widenings() override { return widenings; }
};

class RunFilesTest : public testing::Test {
 protected:
  RunFilesTest() {
    char name[] = "/tmp/rf-XXXXXX";
    directory_ = mkdtemp(name);
    RunFiles files(Options());
    FileEnds ends = files.Beginning();
    for (int i = 1; i <= 7; ++i) {
      ResultRow row;
      row.row = i;
      row.training_iteration = row.step = i;
      row.wall_time_us = 1'700'000'000'000'000 + i;
      row.metrics = absl::StrCat("{\"loss\":", i, ".5,\"s\":\"x\\ny\"}");
      // Rows 4 and 6 widen the table.
      if (i == 4) row.metrics = R"({"loss":4.5,"late":"a,b","more":1})";
      if (i == 6) row.metrics = R"({"last":1})";
      auto added = files.Place(ends, RowMetrics(row), row);
      if (!added.empty()) rows_.widenings.push_back({i, std::move(added)});
      ends = row.ends;
      rows_.rows.push_back(row);
    }
    EXPECT_TRUE(files.Repair(rows_).ok());
    whole_ = Contents();
  }
  ~RunFilesTest() override { std::filesystem::remove_all(directory_); }

  RunFiles::Options Options() const {
    return {directory_, {"t-abcde", "e", "host", 1'700'000'000'000'000, "events.tfevents", ""}};
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

TEST_F(RunFilesTest, WhatComesLaterIsAColumnOfTheWholeTable) {
  ASSERT_EQ(rows_.widenings.size(), 2u);
  const std::string& table = whole_[kProgressCsv];
  const std::string header = table.substr(0, table.find('\n'));
  EXPECT_EQ(header.substr(header.size() - 15), ",late,more,last");
  EXPECT_NE(table.find("1.5,\"x\ny\","), table.npos);
  EXPECT_NE(table.find(",\"a,b\",1,\n"), table.npos);
}

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
  FileEnds ends = files.Beginning();
  for (ResultRow& row : rows_.rows) {
    files.Place(ends, RowMetrics(row), row);
    ends = row.ends;
    ASSERT_TRUE(files.Append(row).ok());
  }
  EXPECT_EQ(Contents(), whole_);
  EXPECT_FALSE(std::filesystem::exists(Path(kProgressCsv) + ".new"));
}

TEST_F(RunFilesTest, RowsThatArePlacedTogetherAreWrittenOneAfterTheOther) {
  for (std::size_t together = 1; together <= rows_.rows.size(); ++together) {
    std::filesystem::remove_all(directory_);
    RunFiles files(Options());
    FakeRows none;
    ASSERT_TRUE(files.Repair(none).ok());
    FileEnds ends = files.Beginning();
    for (std::size_t begin = 0; begin < rows_.rows.size(); begin += together) {
      const std::size_t end = std::min(begin + together, rows_.rows.size());
      for (std::size_t i = begin; i < end; ++i) {
        files.Place(ends, RowMetrics(rows_.rows[i]), rows_.rows[i]);
        ends = rows_.rows[i].ends;
      }
      for (std::size_t i = begin; i < end; ++i) ASSERT_TRUE(files.Append(rows_.rows[i]).ok());
    }
    EXPECT_EQ(Contents(), whole_) << together;
  }
}

TEST_F(RunFilesTest, RowsThatDoNotCountLeaveNoColumns) {
  RunFiles files(Options());
  ASSERT_TRUE(files.Repair(rows_).ok());
  ResultRow row = rows_.rows.back();
  row.row = 8;
  row.metrics = R"({"never":1})";
  files.Place(rows_.rows.back().ends, RowMetrics(row), row);
  files.ForgetPlacesAfter(7);
  row.metrics = R"({"last":2})";
  EXPECT_TRUE(files.Place(rows_.rows.back().ends, RowMetrics(row), row).empty());
  ASSERT_TRUE(files.Append(row).ok());
  EXPECT_EQ(Contents()[kProgressCsv].find("never"), std::string::npos);
  EXPECT_EQ(row.ends[kProgressCsv], static_cast<std::int64_t>(Contents()[kProgressCsv].size()));
}

// A trainer was killed before it replaced the table by the wider one.
TEST_F(RunFilesTest, ATableThatIsTooNarrowIsWrittenAnew) {
  const std::vector<ResultRow> all = rows_.rows;
  const std::vector<CsvWidening> widenings = rows_.widenings;
  for (const CsvWidening& widening : widenings) {
    rows_.rows = all;
    rows_.rows.resize(static_cast<std::size_t>(widening.row) - 1);
    rows_.widenings.clear();
    for (const CsvWidening& known : widenings) {
      if (known.row < widening.row) rows_.widenings.push_back(known);
    }
    ASSERT_TRUE(RunFiles(Options()).Repair(rows_).ok());
    ASSERT_TRUE(runtime::WriteFileAtomically(Path(kProgressCsv) + ".new", "half a", 0644).ok());
    rows_.rows = all;
    rows_.widenings = widenings;
    ASSERT_TRUE(RunFiles(Options()).Repair(rows_).ok());
    EXPECT_EQ(Contents(), whole_) << "before row " << widening.row;
    EXPECT_FALSE(std::filesystem::exists(Path(kProgressCsv) + ".new"));
  }
}

TEST_F(RunFilesTest, ATableThatSomebodyElseChangedIsNotWidenedButRepaired) {
  RunFiles files(Options());
  ASSERT_TRUE(files.Repair(rows_).ok());
  ResultRow row = rows_.rows.back();
  row.row = 8;
  row.metrics = R"({"newest":1})";
  rows_.widenings.push_back({8, files.Place(row.ends, RowMetrics(row), row)});
  rows_.rows.push_back(row);
  ASSERT_EQ(truncate(Path(kProgressCsv).c_str(), 100), 0);
  EXPECT_EQ(files.Append(row).code(), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(files.behind());
  ASSERT_TRUE(files.Repair(rows_).ok());
  EXPECT_EQ(row.ends[kProgressCsv], static_cast<std::int64_t>(Contents()[kProgressCsv].size()));
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
  const std::vector<CsvWidening> widenings = rows_.widenings;
  for (std::size_t kept = 0; kept <= all.size(); ++kept) {
    rows_.rows = all;
    rows_.widenings = widenings;
    ASSERT_TRUE(RunFiles(Options()).Repair(rows_).ok());
    rows_.rows.resize(kept);
    rows_.widenings.clear();
    for (const CsvWidening& known : widenings) {
      if (known.row <= static_cast<std::int64_t>(kept)) rows_.widenings.push_back(known);
    }
    RunFiles files(Options());
    ASSERT_TRUE(files.Repair(rows_).ok());
    FileEnds ends = kept == 0 ? files.Beginning() : all[kept - 1].ends;
    for (std::size_t i = kept; i < all.size(); ++i) {
      ResultRow row = all[i];
      files.Place(ends, RowMetrics(row), row);
      EXPECT_EQ(row.ends, all[i].ends);
      ends = row.ends;
      ASSERT_TRUE(files.Append(row).ok());
    }
    EXPECT_EQ(Contents(), whole_) << kept << " rows kept";
  }
}

TEST_F(RunFilesTest, RepairMakesADeletedDirectoryAgain) {
  std::filesystem::remove_all(directory_);
  ASSERT_TRUE(RunFiles(Options()).Repair(rows_).ok());
  EXPECT_EQ(Contents(), whole_);
}

TEST_F(RunFilesTest, WhatIsRemovedWhileItIsWrittenIsMadeAnewAndThatIsSaid) {
  for (std::size_t file = 0; file <= kResultFiles; ++file) {
    RunFiles files(Options());
    rows_.rows.resize(6);
    ASSERT_TRUE(files.Repair(rows_).ok());
    EXPECT_FALSE(files.TakeMadeDirectory());
    ResultRow row = rows_.rows.back();
    row.row = 7;
    row.metrics = R"({"last":1})";
    EXPECT_TRUE(files.Place(rows_.rows.back().ends, RowMetrics(row), row).empty());
    rows_.rows.push_back(row);
    std::filesystem::remove_all(file < kResultFiles ? Path(file) : directory_);
    EXPECT_EQ(files.Append(row).code(), absl::StatusCode::kDataLoss);
    ASSERT_TRUE(files.Repair(rows_).ok());
    EXPECT_EQ(files.TakeMadeDirectory(), file == kResultFiles);
    EXPECT_EQ(files.TakeNotices().size(), file < kResultFiles ? 1u : 3u);
    EXPECT_TRUE(files.AreAsWritten(row.ends));
    const std::vector<std::string> contents = Contents();
    ASSERT_TRUE(RunFiles(Options()).Repair(rows_).ok());
    EXPECT_EQ(Contents(), contents);
  }
}

// Another program uses the same file name: it overwrites our file, appends to it, or moves its own
// file into its place.
TEST_F(RunFilesTest, AForeignFileIsPutAside) {
  const std::vector<std::function<void(const std::string&)>> kWays = {
      [](const std::string& path) { std::ofstream(path) << "mine"; },
      [](const std::string& path) { std::ofstream(path, std::ios::app) << "mine"; },
      [](const std::string& path) {
        std::ofstream(path + ".x") << "mine";
        std::filesystem::rename(path + ".x", path);
      }};
  for (std::size_t file = 0; file < kResultFiles; ++file) {
    const std::string aside = absl::StrCat(directory_, "/",
                                           file == kEventFile ? "event_file"
                                           : file == 0        ? "result.json"
                                                              : "progress.csv",
                                           ".put_aside");
    for (const auto& way : kWays) {
      for (const bool is_new : {false, true}) {
        RunFiles files(Options());
        ASSERT_TRUE(files.Repair(rows_).ok());
        EXPECT_TRUE(files.TakeNotices().empty());
        way(Path(file));
        EXPECT_FALSE(files.AreAsWritten(rows_.rows.back().ends));
        // A new trainer cannot tell whether text after its rows is foreign: those rows may be lost.
        const bool is_behind = Contents()[file].size() > whole_[file].size();
        if (is_new && is_behind) continue;
        RunFiles next(Options());
        RunFiles& repairs = is_new ? next : files;
        ASSERT_TRUE(repairs.Repair(rows_).ok());
        EXPECT_EQ(Contents(), whole_);
        EXPECT_EQ(repairs.TakeNotices().size(), 1u);
        const std::string found = runtime::ReadFile(aside, 1 << 20).value_or("missing");
        EXPECT_TRUE(found == "mine" || found == whole_[file] + "mine") << found;
        ASSERT_EQ(unlink(aside.c_str()), 0);
      }
    }
  }
}

TEST_F(RunFilesTest, TheSameFileAgainIsOurs) {
  RunFiles files(Options());
  ASSERT_TRUE(files.Repair(rows_).ok());
  for (std::size_t file = 0; file < kResultFiles; ++file) {
    std::filesystem::copy_file(Path(file), Path(file) + ".x");
    std::filesystem::rename(Path(file) + ".x", Path(file));
  }
  EXPECT_FALSE(files.AreAsWritten(rows_.rows.back().ends)) << "they have other numbers";
  ASSERT_TRUE(files.Repair(rows_).ok());
  EXPECT_TRUE(files.TakeNotices().empty());
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

#include "datamanager/run_loader.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "eventlog/event.h"

namespace datamanager {
namespace {

constexpr auto kLowest = std::numeric_limits<std::int64_t>::min();
constexpr auto kHighest = std::numeric_limits<std::int64_t>::max();

std::string Record(std::int64_t step, const std::string& tag, double value) {
  const eventlog::Scalar scalar{tag, value};
  return eventlog::RenderScalars(100.0 + static_cast<double>(step), step, {&scalar, 1});
}

class RunLoaderTest : public testing::Test {
 protected:
  RunLoaderTest() {
    char name[] = "/tmp/load-XXXXXX";
    directory_ = mkdtemp(name);
  }
  ~RunLoaderTest() override { std::filesystem::remove_all(directory_); }

  void Append(const std::string& file, const std::string& bytes) {
    std::ofstream(directory_ + "/" + file, std::ios::binary | std::ios::app) << bytes;
  }
  FoundRun Found(std::vector<std::string> files) const {
    return {.name = "run", .directory = directory_, .files = std::move(files)};
  }
  static std::vector<double> Values(RunLoader& loader, const std::string& tag) {
    std::vector<double> values;
    const auto found = loader.tags().find(tag);
    if (found == loader.tags().end()) return values;
    for (const Point& point : found->second.series.Range(kLowest, kHighest)) {
      values.push_back(point.value);
    }
    return values;
  }

  std::string directory_;
};

TEST_F(RunLoaderTest, ReadsAllFilesInTheOrderOfTheirNames) {
  Append("a.tfevents", eventlog::RenderFileHeader(1) + Record(1, "loss", 0.5));
  Append("b.tfevents", Record(2, "loss", 0.25));
  RunLoader loader(Found({"a.tfevents", "b.tfevents"}));
  EXPECT_EQ(loader.Load()["loss"].points.size(), 2u);
  EXPECT_EQ(Values(loader, "loss"), (std::vector<double>{0.5, 0.25}));
  EXPECT_EQ(loader.files().count, 2u);
  EXPECT_EQ(loader.tags().find("loss")->second.plugin, "scalars");
}

TEST_F(RunLoaderTest, LoadsOnlyWhatIsNew) {
  Append("a.tfevents", Record(1, "loss", 1));
  RunLoader loader(Found({"a.tfevents"}));
  loader.Load();
  EXPECT_TRUE(loader.Load().empty());
  Append("a.tfevents", Record(2, "loss", 2));
  const auto fresh = loader.Load();
  ASSERT_EQ(fresh.size(), 1u);
  EXPECT_EQ(fresh.at("loss").points.front().step, 2);
}

TEST_F(RunLoaderTest, AHalfWrittenRecordIsReadOnceItIsWhole) {
  const std::string record = Record(1, "loss", 1);
  RunLoader loader(Found({"a.tfevents"}));
  for (std::size_t i = 0; i < record.size(); ++i) {
    EXPECT_TRUE(loader.Load().empty()) << i;
    Append("a.tfevents", record.substr(i, 1));
  }
  EXPECT_EQ(loader.Load().size(), 1u);
  EXPECT_EQ(loader.bad_records(), 0u);
}

TEST_F(RunLoaderTest, ABadRecordCostsOneRecord) {
  std::string bad = Record(2, "loss", 2);
  bad[20] ^= 1;
  Append("a.tfevents", Record(1, "loss", 1) + bad + Record(3, "loss", 3));
  RunLoader loader(Found({"a.tfevents"}));
  loader.Load();
  EXPECT_EQ(Values(loader, "loss"), (std::vector<double>{1, 3}));
  EXPECT_EQ(loader.bad_records(), 1u);
}

TEST_F(RunLoaderTest, ABrokenFileDoesNotSpoilTheOthers) {
  std::string broken = Record(2, "loss", 2);
  broken[0] ^= 1;
  Append("a.tfevents", Record(1, "loss", 1) + broken + Record(3, "loss", 3));
  Append("b.tfevents", Record(4, "loss", 4));
  RunLoader loader(Found({"a.tfevents", "b.tfevents"}));
  loader.Load();
  loader.Load();
  EXPECT_EQ(Values(loader, "loss"), (std::vector<double>{1, 4}));
  EXPECT_EQ(loader.bad_records(), 1u);
}

TEST_F(RunLoaderTest, AFileThatWasCutShortIsReadAnew) {
  Append("a.tfevents", Record(1, "loss", 1) + Record(2, "loss", 2));
  RunLoader loader(Found({"a.tfevents"}));
  loader.Load();
  std::filesystem::resize_file(directory_ + "/a.tfevents", Record(1, "loss", 1).size());
  loader.Load();
  EXPECT_EQ(Values(loader, "loss"), (std::vector<double>{1}));
}

TEST_F(RunLoaderTest, AReplacedFileIsReadAnew) {
  Append("a.tfevents", Record(1, "loss", 1));
  RunLoader loader(Found({"a.tfevents"}));
  loader.Load();
  Append("new", Record(1, "loss", 7) + Record(2, "loss", 8));
  std::filesystem::rename(directory_ + "/new", directory_ + "/a.tfevents");
  loader.Load();
  EXPECT_EQ(Values(loader, "loss"), (std::vector<double>{7, 8}));
}

TEST_F(RunLoaderTest, AReplacedFileReturnsWhatIsBehindTheOldPoints) {
  Append("a.tfevents", Record(1, "loss", 1) + Record(1, "less", 1) + Record(2, "less", 2));
  RunLoader loader(Found({"a.tfevents"}));
  loader.Load();
  Append("new", Record(1, "loss", 7) + Record(2, "loss", 8) + Record(1, "less", 9));
  std::filesystem::rename(directory_ + "/new", directory_ + "/a.tfevents");
  auto fresh = loader.Load();
  EXPECT_EQ(fresh["loss"].first, 1u);
  EXPECT_EQ(fresh["loss"].points.size(), 1u);
  EXPECT_EQ(fresh["less"].first, 0u);
  EXPECT_EQ(fresh["less"].points.size(), 1u);
}

TEST_F(RunLoaderTest, WhatWasReadBeforeAReplacedFileWasFoundIsStillReturned) {
  Append("a.tfevents", Record(1, "loss", 1));
  Append("b.tfevents", Record(1, "accuracy", 1));
  RunLoader loader(Found({"a.tfevents", "b.tfevents"}));
  loader.Load();
  Append("a.tfevents", Record(2, "loss", 2));
  Append("new", Record(1, "accuracy", 7));
  std::filesystem::rename(directory_ + "/new", directory_ + "/b.tfevents");
  auto fresh = loader.Load();
  ASSERT_EQ(fresh.size(), 1u);
  EXPECT_EQ(fresh["loss"].first, 1u);
  EXPECT_EQ(fresh["loss"].points.size(), 1u);
}

TEST_F(RunLoaderTest, ATagWithAnEndlessNameIsLeftOut) {
  Append("a.tfevents", Record(1, std::string(RunLoader::kMaxTagBytes + 1, 't'), 1));
  Append("a.tfevents", Record(1, std::string(RunLoader::kMaxTagBytes, 't'), 1));
  RunLoader loader(Found({"a.tfevents"}));
  EXPECT_EQ(loader.Load().size(), 1u);
}

TEST_F(RunLoaderTest, RestoredPointsKeepTheOrderInWhichTheyWereRead) {
  Append("b.tfevents", Record(3, "loss", 3));
  RunLoader loader(Found({"b.tfevents"}));
  loader.Load();
  Append("a.tfevents", Record(1, "loss", 1));
  loader.SetFiles({"a.tfevents", "b.tfevents"});
  loader.Load();
  Append("b.tfevents", Record(4, "loss", 4));
  loader.Load();
  const auto in_file_order = [&] {
    std::vector<double> values;
    for (const Point& point : loader.tags().find("loss")->second.series.InFileOrder()) {
      values.push_back(point.value);
    }
    return values;
  };
  const std::vector<double> before = {3, 1, 4};
  EXPECT_EQ(in_file_order(), before);
  loader.Drop();
  // What nobody has read yet comes behind, though its file is the first one.
  Append("a.tfevents", Record(2, "loss", 2));
  auto fresh = loader.Restore();
  EXPECT_EQ(in_file_order(), (std::vector<double>{3, 1, 4, 2}));
  EXPECT_EQ(fresh["loss"].first, 3u);
  EXPECT_EQ(Values(loader, "loss"), (std::vector<double>{1, 2, 3, 4}));
  loader.Drop();
  EXPECT_TRUE(loader.Restore().empty());
  EXPECT_EQ(in_file_order(), (std::vector<double>{3, 1, 4, 2}));
}

TEST_F(RunLoaderTest, AFileThatIsGoneTakesItsPointsWithIt) {
  Append("a.tfevents", Record(1, "loss", 1));
  Append("b.tfevents", Record(2, "loss", 2));
  RunLoader loader(Found({"a.tfevents", "b.tfevents"}));
  loader.Load();
  std::filesystem::remove(directory_ + "/a.tfevents");
  loader.SetFiles({"b.tfevents"});
  loader.Load();
  EXPECT_EQ(Values(loader, "loss"), (std::vector<double>{2}));
}

TEST_F(RunLoaderTest, DroppedPointsAreCountedOnAndCanBeRestored) {
  Append("a.tfevents", Record(1, "loss", 1));
  RunLoader loader(Found({"a.tfevents"}));
  loader.Load();
  loader.Drop();
  EXPECT_EQ(loader.Bytes(), 0u);
  Append("a.tfevents", Record(2, "loss", 2) + Record(2, "accuracy", 3));
  EXPECT_EQ(loader.Load().size(), 2u);
  EXPECT_EQ(loader.Bytes(), 0u);
  EXPECT_EQ(loader.tags().find("loss")->second.series.summary().points, 2u);
  loader.Restore();
  EXPECT_FALSE(loader.dropped());
  EXPECT_EQ(Values(loader, "loss"), (std::vector<double>{1, 2}));
}

}  // namespace
}  // namespace datamanager

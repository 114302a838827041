#include "datamanager/brief/run_lineage.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "datamanager/brief/brief_cache.h"
#include "datamanager/brief/brief_item.h"
#include "datamanager/find/file_kind.h"
#include "datamanager/find/listed_run.h"
#include "eventlog/record.h"
#include "eventlog/testing/protobuf_bytes.h"

namespace datamanager {
namespace {

using eventlog::testing::Bytes;
using eventlog::testing::Double;
using eventlog::testing::Number;

// The field of a LineageEvent that holds the message.
enum Field : int { kVersion = 3, kTrain = 6, kEvaluation = 7, kDataset = 9, kUser = 10 };

std::string Record(Field field, std::string_view message) {
  std::string file;
  eventlog::AppendRecord(Double(1, 5) + Bytes(field, message), &file);
  return file;
}
std::string Epochs(std::uint64_t epochs) { return Bytes(1, Number(4, epochs)); }
std::string UserText(std::string_view key, std::string_view text) {
  return Bytes(1, Bytes(4, Bytes(1, key) + Bytes(2, text)));
}

class RunLineageTest : public ::testing::Test {
 protected:
  RunLineageTest() { std::filesystem::create_directories(directory_); }
  ~RunLineageTest() override { std::filesystem::remove_all(directory_); }

  void Write(const std::string& name, const std::string& content) {
    std::ofstream(directory_ + "/" + name, std::ios::binary) << content;
  }
  // Lists the files like a scan; a version stands for the times of a file.
  ListedRunPtr List(const std::vector<std::pair<std::string, int>>& names_and_versions) {
    auto run = std::make_shared<ListedRun>();
    run->name = "run";
    run->directory = directory_;
    std::int64_t created = 100;
    for (const auto& [name, version] : names_and_versions) {
      ListedFile& file = run->files.emplace_back();
      file.name = name;
      file.kind = ParseFileName(name).kind;
      // Creation times in the reverse order of the names.
      file.create_us = --created;
      file.state.changed_ns = version;
    }
    return run;
  }

  const std::string directory_ = ::testing::TempDir() + "run_lineage_" + std::to_string(getpid());
  const std::string first_ = "a.out.events.summary.2.0.host_MS_lineage";
  const std::string second_ = "b.out.events.summary.1.0.host_MS_lineage";
};

TEST_F(RunLineageTest, TheLastRecordOfEachKindCountsAndWhatUsersSayAddsUp) {
  Write(first_, Record(kVersion, "MindSpore.Event:1") + Record(kTrain, Epochs(3)) +
                    Record(kUser, UserText("who", "me")));
  // Created before the first file.
  Write(second_, Record(kTrain, Epochs(1)) + Record(kEvaluation, Bytes(2, "accuracy")) +
                     Record(kUser, UserText("why", "because")));
  const auto lineage = ReadRunLineage(*List({{first_, 1}, {second_, 1}}), nullptr);
  ASSERT_TRUE(lineage.ok()) << lineage.status();
  EXPECT_EQ(lineage->train, R"({"hyper_parameters":{"epoch":3}})");
  EXPECT_EQ(lineage->evaluation, R"({"metric":"accuracy"})");
  EXPECT_EQ(lineage->dataset, "");
  EXPECT_EQ(lineage->user_defined,
            R"({"user_info":[{"map_str":{"why":"because"}},{"map_str":{"who":"me"}}]})");
}

TEST_F(RunLineageTest, DamageCostsItsRecord) {
  std::string bad = Record(kTrain, Epochs(2));
  bad.back() ^= 1;
  std::string no_event;
  eventlog::AppendRecord("\xff\xff", &no_event);
  Write(first_, Record(kTrain, Epochs(1)) + bad + no_event + Record(kEvaluation, Bytes(2, "m")) +
                    "half a rec");
  const auto lineage = ReadRunLineage(*List({{first_, 1}}), nullptr);
  ASSERT_TRUE(lineage.ok()) << lineage.status();
  EXPECT_EQ(lineage->train, R"({"hyper_parameters":{"epoch":1}})");
  EXPECT_EQ(lineage->evaluation, R"({"metric":"m"})");
}

TEST_F(RunLineageTest, WhatCannotBeReadSaysWhy) {
  EXPECT_TRUE(absl::IsUnavailable(ReadRunLineage(*List({{first_, 1}}), nullptr).status()));
  Write(first_, Record(kTrain, Bytes(1, Bytes(4, "no number"))));
  EXPECT_TRUE(absl::IsInvalidArgument(ReadRunLineage(*List({{first_, 1}}), nullptr).status()));
  auto huge = std::make_shared<ListedRun>(*List({{first_, 1}}));
  huge->files[0].state.bytes = kMaxLineageBytes + 1;
  EXPECT_TRUE(absl::IsResourceExhausted(ReadRunLineage(*huge, nullptr).status()));
}

// Plays the brief cache's part: an item and its updater.
class Updated {
 public:
  explicit Updated(ListedRunPtr run) : item_(std::move(run)) {}

  absl::Status Update(ListedRunPtr run) {
    item_.SetRun(std::move(run));
    return updater_.update(item_);
  }
  // Returns "" if the key is missing.
  std::string Train() {
    const auto lineage = item_.Get<RunLineage>(BriefCache::kLineage, BriefItem::Missing::kNothing);
    EXPECT_TRUE(lineage.ok()) << lineage.status();
    return lineage.ok() && *lineage != nullptr ? (*lineage)->train : "";
  }

 private:
  BriefItem item_;
  const BriefCache::Updater updater_ = LineageUpdater(nullptr);
};

TEST_F(RunLineageTest, TheBriefCacheHasItAndReadsChangedFilesAlone) {
  Updated run(List({}));
  EXPECT_TRUE(run.Update(List({})).ok());
  EXPECT_EQ(run.Train(), "");
  Write(first_, Record(kTrain, Epochs(1)));
  EXPECT_TRUE(run.Update(List({{first_, 1}})).ok());
  EXPECT_EQ(run.Train(), R"({"hyper_parameters":{"epoch":1}})");
  // The file is not read again: the listing does not show the change.
  Write(first_, Record(kTrain, Epochs(2)));
  EXPECT_TRUE(run.Update(List({{first_, 1}, {"events.out.tfevents.1.x", 7}})).ok());
  EXPECT_EQ(run.Train(), R"({"hyper_parameters":{"epoch":1}})");
  EXPECT_TRUE(run.Update(List({{first_, 2}})).ok());
  EXPECT_EQ(run.Train(), R"({"hyper_parameters":{"epoch":2}})");
  EXPECT_TRUE(run.Update(List({})).ok());
  EXPECT_EQ(run.Train(), "");
}

TEST_F(RunLineageTest, AFailureIsSaidAgainWithoutReadingAndEndsWithTheFile) {
  Updated run(List({}));
  Write(first_, Record(kTrain, Bytes(1, Bytes(4, "no number"))));
  EXPECT_TRUE(absl::IsInvalidArgument(run.Update(List({{first_, 1}}))));
  Write(first_, Record(kTrain, Epochs(1)));
  EXPECT_TRUE(absl::IsInvalidArgument(run.Update(List({{first_, 1}}))));
  EXPECT_TRUE(run.Update(List({{first_, 2}})).ok());
  EXPECT_EQ(run.Train(), R"({"hyper_parameters":{"epoch":1}})");
}

TEST_F(RunLineageTest, WhatCouldNotBeOpenedIsTriedWithEachScan) {
  Updated run(List({}));
  const ListedRunPtr listed = List({{first_, 1}});
  EXPECT_TRUE(absl::IsUnavailable(run.Update(listed)));
  Write(first_, Record(kTrain, Epochs(1)));
  EXPECT_TRUE(run.Update(listed).ok());
  EXPECT_EQ(run.Train(), R"({"hyper_parameters":{"epoch":1}})");
}

}  // namespace
}  // namespace datamanager

// A trainer whose machine loses power: the disk then has the synced data, and whatever else the
// kernel happened to write back.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"
#include "runtime/file/unique_fd.h"
#include "trainer/checkpoint/checkpoint_directory.h"
#include "trainer/table/trials.h"
#include "trainer/testing/platter.h"
#include "trainer/testing/trials_fixture.h"

namespace trainer {
namespace {

using msg::TrialState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

const Platter::WrittenBack kNothing = [](const std::string&, bool) { return false; };
const Platter::WrittenBack kEverything = [](const std::string&, bool) { return true; };
const Platter::WrittenBack kNames = [](const std::string&, bool is_directory) {
  return is_directory;
};
const Platter::WrittenBack kContents = [](const std::string&, bool is_directory) {
  return !is_directory;
};
// Any subset of the files and directories.
Platter::WrittenBack Some(unsigned seed) {
  auto random = std::make_shared<std::mt19937>(seed);
  return [random](const std::string&, bool) { return (*random)() % 2 == 0; };
}

std::string Read(const std::string& path) {
  return runtime::ReadFile(path, 1 << 20).value_or("missing: " + path);
}
void Put(const std::string& path, const std::string& content) {
  ASSERT_TRUE(runtime::MakeDirectories(std::filesystem::path(path).parent_path()).ok());
  ASSERT_TRUE(runtime::WriteFileAtomically(path, content, 0644).ok());
}
void SyncDirectory(const std::string& path) {
  const runtime::UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(fsync(fd.get()), 0);
}

class PlatterTest : public testing::Test {
 protected:
  PlatterTest() {
    char name[] = "/tmp/pl-XXXXXX";
    directory_ = mkdtemp(name);
    root_ = directory_ + "/root";
    (void)runtime::MakeDirectories(root_);
  }
  ~PlatterTest() override { std::filesystem::remove_all(directory_); }

  std::string directory_, root_;
};

TEST_F(PlatterTest, HoldsWhatWasSyncedWithItsNames) {
  Platter platter(root_);
  ASSERT_TRUE(runtime::WriteFileAtomically(root_ + "/kept", "one", 0644, true).ok());
  Put(root_ + "/kept", "two");
  Put(root_ + "/unnamed", "x");
  EXPECT_EQ(platter.syncs(), 2) << "the file and the directory";
  platter.Recover(directory_ + "/strict", kNothing);
  EXPECT_EQ(Read(directory_ + "/strict/kept"), "one");
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/strict/unnamed"));
  platter.Recover(directory_ + "/names", kNames);
  EXPECT_EQ(Read(directory_ + "/names/unnamed"), "") << "as ext4 leaves a file that is new";
  platter.Recover(directory_ + "/all", kEverything);
  EXPECT_EQ(Read(directory_ + "/all/kept"), "two");
  EXPECT_EQ(Read(directory_ + "/all/unnamed"), "x");
}

TEST_F(PlatterTest, TakesWhatIsThereForSynced) {
  Put(root_ + "/a/b", "one");
  Platter platter(root_);
  Put(root_ + "/a/b", "two");
  platter.Recover(directory_ + "/strict", kNothing);
  EXPECT_EQ(Read(directory_ + "/strict/a/b"), "one");
  EXPECT_EQ(platter.syncs(), 0);
}

// Power fails after each sync of a commit, and at its named points.
TEST_F(PlatterTest, WhateverCarriesTheNameOfACheckpointIsWholeAtEveryMoment) {
  const std::string run = root_ + "/run";
  ASSERT_TRUE(runtime::MakeDirectories(run).ok());
  SyncDirectory(root_);
  Platter platter(root_);
  int moments = 0, found = 0;
  const auto look = [&] {
    for (const auto& written_back : {kNothing, kEverything, kNames, kContents}) {
      const std::string left = absl::StrCat(directory_, "/left", ++moments);
      platter.Recover(left, written_back);
      if (!std::filesystem::exists(left + "/run")) continue;
      for (const auto& entry : std::filesystem::directory_iterator(left + "/run")) {
        const std::string path = entry.path();
        if (IsTemporaryName(entry.path().filename().string()) || !entry.is_directory()) continue;
        EXPECT_TRUE(VerifyCheckpoint(path).ok()) << moments << ": " << VerifyCheckpoint(path);
        EXPECT_EQ(Read(path + "/a/b/w").substr(0, 7), "weights") << moments;
        ++found;
      }
    }
  };
  platter.OnSync(look);
  for (const char* const name : {"checkpoint_000001", "checkpoint_000002", "checkpoint_000001"}) {
    const std::string temporary = *MakeTemporaryCheckpoint(run);
    Put(temporary + "/a/b/w", absl::StrCat("weights of ", name, " ", moments));
    Put(temporary + "/top", "y");
    ASSERT_TRUE(CommitCheckpoint(temporary, name, {}, [&](std::string_view) { look(); }).ok());
    platter.OnSync(nullptr);
    const std::string left = absl::StrCat(directory_, "/after", moments);
    platter.Recover(left, kNothing);
    EXPECT_TRUE(VerifyCheckpoint(absl::StrCat(left, "/run/", name)).ok())
        << "what is committed is safe";
    platter.OnSync(look);
  }
  EXPECT_GT(found, 20);
}

class PowerLossTest : public TrialsFixture {
 protected:
  PowerLossTest() {
    state_ = root_ + "/state";
    options_.logdir = root_ + "/runs";
    options_.slots = 4;
    keeps_stores_open_ = true;
    (void)runtime::MakeDirectories(root_ + "/state");
    (void)runtime::MakeDirectories(root_ + "/runs");
    SyncDirectory(root_);
    platter_ = std::make_unique<Platter>(root_);
    Start();
  }
  ~PowerLossTest() override {
    if (loop_ != nullptr) Kill();
  }

  void Kill() {
    TrialsFixture::Kill();
    // Keeps stores open: closing them would sync them and remove files of their names.
    static auto* const killed = new std::vector<std::unique_ptr<TrialStore>>();
    killed->push_back(std::move(killed_.back()));
    killed_.clear();
  }
  // The next trainer sees the disk as it is at that moment.
  void LosePower(const Platter::WrittenBack& written_back) {
    Kill();
    const std::string left = directory_ + "/left";
    platter_->Recover(left, written_back);
    platter_.reset();
    std::filesystem::rename(root_, absl::StrCat(directory_, "/lost", ++losses_));
    std::filesystem::rename(left, root_);
    std::filesystem::create_directories(root_ + "/runs");
    platter_ = std::make_unique<Platter>(root_);
    Start();
  }

  std::string Run(const std::string& name, bool durable) {
    msg::RunTrialRequestT request = Request(name);
    request.options->durable = durable;
    return TrialsFixture::Run(request);
  }
  absl::StatusOr<msg::TrialT> Get(const std::string& id) {
    absl::StatusOr<msg::TrialT> trial;
    On([&] { trial = trials_->Get(id); });
    return trial;
  }
  std::string Say(const std::string& job, const std::string& line) {
    return TrialsFixture::Say(job, ++lines_[job], line);
  }
  void Report(const std::string& job, int count = 1) {
    for (int i = 0; i < count; ++i) {
      const std::string text =
          absl::StrCat(R"({"t":"report","m":{"value":)", ++reports_[job], "}}");
      ASSERT_THAT(Say(job, text), HasSubstr("\"ok\""));
    }
  }
  std::string Save(const std::string& job) {
    const std::string begun = Say(job, R"({"t":"ckpt_begin"})");
    const std::vector<std::string> parts = absl::StrSplit(begun, '"');
    const std::string path = parts.size() > 7 ? parts[7] : begun;
    Put(path + "/a/w", "weights");
    return Say(job, absl::StrCat(R"({"t":"ckpt_end","path":")", path, "\"}"));
  }
  std::vector<std::string> StoredValues(const std::string& id) {
    std::vector<std::string> values;
    On([&] {
      const auto rows = trials_->RowsAfter(id, 0);
      if (!rows.ok()) return;
      for (const ResultRow& row : *rows) values.push_back(row.metrics);
    });
    return values;
  }
  // Returns the number of rows in result.json and progress.csv, which must agree.
  std::size_t RowsInFiles(const std::string& name) const {
    const auto lines = [&](const char* file) {
      const std::string text = Read(absl::StrCat(root_, "/runs/", name, "/", file));
      return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    };
    EXPECT_EQ(lines("progress.csv"), lines("result.json") + 1) << "a header";
    return lines("result.json");
  }

  const std::string root_ = directory_ + "/root";
  std::unique_ptr<Platter> platter_;
  std::map<std::string, std::int64_t> lines_;
  std::map<std::string, int> reports_;
  int losses_ = 0;
};

TEST_F(PowerLossTest, WhatWasNotSyncedYetIsLost) {
  const std::string id = Run("n", false);
  Report("j-1", 3);
  LosePower(kNothing);
  EXPECT_EQ(Get(id).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(PowerLossTest, ReportsAreLostOfTheLastSecondAtMost) {
  const std::string id = Run("n", false);
  for (int round = 1; round <= 3; ++round) {
    Report("j-1", 4);
    Advance(absl::Seconds(1));
  }
  Report("j-1", 2);
  LosePower(kNothing);
  ASSERT_TRUE(Get(id).ok());
  EXPECT_THAT(StoredValues(id), SizeIs(12));
  EXPECT_EQ(RowsInFiles("n"), 12u) << "made anew from the rows";
}

TEST_F(PowerLossTest, NoReportWaitsForALargeCheckpointToBeSynced) {
  Kill();
  std::vector<std::function<void()>> never;  // Never finishes reading.
  options_.background = [&](std::function<void()> work) { never.push_back(std::move(work)); };
  int syncs = 0;
  options_.sync_background = [&](std::function<void()> work) {
    ++syncs;
    work();
  };
  Start();
  Run("large", false);
  EXPECT_THAT(Save("j-1"), HasSubstr("ERR UNAVAILABLE"));
  const std::string id = Run("n", false);
  Report("j-2", 3);
  Advance(absl::Seconds(1));
  Report("j-2", 1);
  LosePower(kNothing);
  EXPECT_THAT(never, SizeIs(1));
  EXPECT_EQ(syncs, 1);
  EXPECT_THAT(StoredValues(id), SizeIs(3));
}

TEST_F(PowerLossTest, ARemovedTrialDoesNotComeBackLater) {
  const std::string id = Run("n", false);
  Report("j-1", 1);
  EXPECT_THAT(Save("j-1"), HasSubstr("\"ok\""));  // The run is on the disk now.
  On([&] { jobs_.KillShim("j-1"); });
  Advance(absl::Seconds(1));
  On([&] { ASSERT_TRUE(trials_->RemoveTrial(id, "rm").ok()); });
  Advance(absl::Seconds(1));
  LosePower(kNothing);
  EXPECT_EQ(Get(id).status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(root_ + "/runs/n"));
  EXPECT_TRUE(std::filesystem::exists(absl::StrCat(root_, "/runs/.trash/", id)));
}

TEST_F(PowerLossTest, NothingIsSyncedWithoutNeed) {
  Run("n", false);
  Report("j-1");
  Advance(absl::Seconds(1));
  const int before = platter_->syncs();
  Advance(absl::Seconds(1));
  Advance(absl::Seconds(1));
  EXPECT_EQ(platter_->syncs(), before);
  Report("j-1");
  EXPECT_EQ(platter_->syncs(), before);
  Advance(absl::Seconds(1));
  EXPECT_EQ(platter_->syncs(), before + 1);
}

TEST_F(PowerLossTest, EveryReportOfADurableTrialIsThere) {
  const std::string id = Run("d", true);
  Report("j-1", 5);
  const std::string other = Run("n", false);
  Report("j-2", 5);
  LosePower(kNothing);
  EXPECT_THAT(StoredValues(id), SizeIs(5));
  EXPECT_FALSE(Get(other).ok());
  Report("j-1", 1);
  EXPECT_EQ(RowsInFiles("d"), 6u);
}

TEST_F(PowerLossTest, AnAcknowledgedCheckpointIsThereAndWhole) {
  const std::string id = Run("n", false);
  Report("j-1", 3);
  EXPECT_THAT(Save("j-1"), HasSubstr("checkpoint_000003"));
  Report("j-1", 2);
  LosePower(kNothing);
  ASSERT_TRUE(Get(id).ok());
  const std::string checkpoint = root_ + "/runs/n/checkpoint_000003";
  EXPECT_EQ(Get(id)->checkpoint, checkpoint);
  EXPECT_TRUE(VerifyCheckpoint(checkpoint).ok()) << VerifyCheckpoint(checkpoint);
  EXPECT_EQ(Read(checkpoint + "/a/w"), "weights");
  EXPECT_THAT(StoredValues(id), SizeIs(3)) << "what was reported before it is there, too";
}

TEST_F(PowerLossTest, FilesThatAreLongerThanTheRowsAreCut) {
  const std::string id = Run("n", false);
  Report("j-1", 4);
  Advance(absl::Seconds(1));
  Report("j-1", 3);
  LosePower([](const std::string& path, bool) { return absl::StartsWith(path, "/runs"); });
  EXPECT_THAT(StoredValues(id),
              ElementsAre("{\"value\":1}", "{\"value\":2}", "{\"value\":3}", "{\"value\":4}"));
  EXPECT_EQ(RowsInFiles("n"), 4u);
}

TEST_F(PowerLossTest, FilesOfATrialThatHadEndedAreMadeWholeAgain) {
  const std::string id = Run("n", false);
  Report("j-1", 4);
  On([&] { jobs_.KillShim("j-1"); });
  Advance(absl::Seconds(1));
  EXPECT_EQ(Get(id)->state, TrialState::Failed);
  LosePower(kNames);
  Advance(absl::Seconds(1));
  EXPECT_EQ(Get(id)->state, TrialState::Failed);
  EXPECT_EQ(RowsInFiles("n"), 4u);
}

// The store opens, no promised data is missing, and the files match the store, whatever the kernel
// wrote back by itself.
TEST_F(PowerLossTest, NoMixtureOfOldAndNewHarms) {
  Run("d", true);
  std::string checkpoint;
  for (unsigned seed = 0; seed < 12; ++seed) {
    const std::string id = *[&] {
      absl::StatusOr<std::string> found;
      On([&] { found = trials_->Find("d"); });
      return found;
    }();
    // On the way the WAL is emptied and begins again.
    Report("j-1", 20 + 40 * static_cast<int>(seed % 3));
    if (seed % 4 == 1) checkpoint = Save("j-1");
    const auto promised = static_cast<std::uint64_t>(reports_["j-1"]);
    LosePower(Some(seed));
    ASSERT_TRUE(Get(id).ok()) << seed;
    EXPECT_EQ(Get(id)->reports, promised) << seed;
    EXPECT_EQ(RowsInFiles("d"), promised) << seed;
    if (!checkpoint.empty()) {
      EXPECT_TRUE(VerifyCheckpoint(Get(id)->checkpoint).ok()) << seed;
    }
  }
}

}  // namespace
}  // namespace trainer

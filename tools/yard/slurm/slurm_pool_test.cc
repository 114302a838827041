#include "tools/yard/slurm/slurm_pool.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"

namespace yard {
namespace {

using Phase = SlurmPoolState::Phase;

class SlurmPoolTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(state_);
    std::filesystem::create_directories(state_);
  }
  static SlurmPool Full() {
    return {.pool = "lab",
            .revision = 7,
            .nodes = 4,
            .time_minutes = 480,
            .partition = "gpu,low",
            .account = "a1",
            .qos = "normal",
            .constraint = "ib&a100",
            .gpus = "a100:2",
            .cpus = 16,
            .memory_mib = 4096,
            .exclude = {"n1", "n[2-3]"},
            .sbatch_words = {"--mail-type=END", "--comment=x y"},
            .slots = 3,
            .directory = "/home/a b/.cache/trainyard/slurm",
            .gate = {"tcp://login1:7711", "tcp://10.0.0.1:7711"},
            .drain_seconds = 120,
            .idle_seconds = 30,
            .once = true,
            .sweep = "s-abcde",
            .removing = true};
  }
  static SlurmPoolState FullState() {
    return {.revision = 7,
            .number = 3,
            .name = "y-lab-3-0badcafe",
            .phase = Phase::kWaiting,
            .slurm_id = "17",
            .cluster = "c2",
            .submitted_us = 1'700'000'000'000'000,
            .state = "PENDING",
            .reason = "Priority",
            .node_list = "node[1-3]",
            .end_us = 1'700'000'100'000'000,
            .why = "Slurm job 17 waits: Priority",
            .excluded = {"n9"},
            .failures = 2,
            .asked_revision = 4,
            .tries = 3,
            .came = true,
            .programs = "/shared/b-0123456789abcdef",
            .last_end = "Slurm: TIMEOUT (Slurm job 12)"};
  }
  void WriteFile(const std::string& name, std::string_view text) const {
    std::filesystem::create_directories(files_.directory());
    std::filesystem::permissions(files_.directory(), std::filesystem::perms::owner_all);
    std::ofstream(files_.directory() + "/" + name) << text;
  }
  static mode_t ModeOf(const std::string& path) {
    struct stat found = {};
    return stat(path.c_str(), &found) == 0 ? found.st_mode & 0777 : 0;
  }

  const std::string state_ = testing::TempDir() + "/slurm_pool_test";
  const SlurmPoolFiles files_{state_};
};

TEST_F(SlurmPoolTest, WhatIsWrittenIsRead) {
  ASSERT_TRUE(files_.Write(Full()).ok());
  ASSERT_TRUE(files_.WriteState("lab", FullState()).ok());
  const auto pool = files_.Read("lab");
  ASSERT_TRUE(pool.ok()) << pool.status();
  EXPECT_EQ(*pool, Full());
  const auto state = files_.ReadState("lab");
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(*state, FullState());
}

TEST_F(SlurmPoolTest, EveryPhaseComesBack) {
  for (int i = 0; i <= static_cast<int>(Phase::kRefused); ++i) {
    SlurmPoolState state = FullState();
    state.phase = static_cast<Phase>(i);
    ASSERT_TRUE(files_.WriteState("lab", state).ok());
    EXPECT_EQ(files_.ReadState("lab")->phase, state.phase) << NameOfPhase(state.phase);
  }
}

TEST_F(SlurmPoolTest, FilesAreOfThisUserAlone) {
  ASSERT_TRUE(files_.Write(Full()).ok());
  ASSERT_TRUE(files_.WriteState("lab", FullState()).ok());
  EXPECT_EQ(ModeOf(files_.directory()), 0700);
  EXPECT_EQ(ModeOf(files_.directory() + "/lab.json"), 0600);
  EXPECT_EQ(ModeOf(files_.directory() + "/lab.state.json"), 0600);
}

TEST_F(SlurmPoolTest, PoolsAreListedByNameAndOtherFilesAreNone) {
  EXPECT_EQ(*files_.Names(), std::vector<std::string>{});
  for (const char* const name : {"b", "a.1", "c"}) {
    SlurmPool pool = Full();
    pool.pool = name;
    ASSERT_TRUE(files_.Write(pool).ok());
  }
  ASSERT_TRUE(files_.WriteState("b", FullState()).ok());
  ASSERT_TRUE(files_.WriteState("without", FullState()).ok());
  WriteFile("UPPER.json", "{}");
  WriteFile("b.json.tmp", "{}");
  WriteFile("notes", "");
  EXPECT_EQ(*files_.Names(), (std::vector<std::string>{"a.1", "b", "c"}));
}

TEST_F(SlurmPoolTest, AFileThatIsMissingIsNotFound) {
  EXPECT_TRUE(absl::IsNotFound(files_.Read("lab").status()));
  EXPECT_TRUE(absl::IsNotFound(files_.ReadState("lab").status()));
}

TEST_F(SlurmPoolTest, ADamagedFileIsDataLossThatNamesIt) {
  const std::string bads[] = {
      "",
      "[]",
      "{\"pool\": \"lab\"",
      "{\"pool\": \"other\", \"directory\": \"/d\", \"gate\": [\"tcp://a:1\"]}",
      "{\"pool\": \"lab\", \"directory\": \"d\", \"gate\": [\"tcp://a:1\"]}",
      "{\"pool\": \"lab\", \"directory\": \"/d\", \"gate\": []}",
      "{\"pool\": \"lab\", \"directory\": \"/d\", \"gate\": [1]}",
      "{\"pool\": \"lab\", \"directory\": \"/d\", \"gate\": [\"tcp://a:1\"], \"nodes\": -1}",
      "{\"pool\": \"lab\", \"directory\": \"/d\", \"gate\": [\"tcp://a:1\"], \"nodes\": 1e9}",
      "{\"pool\": \"lab\", \"directory\": \"/d\", \"gate\": [\"tcp://a:1\"], \"nodes\": "
      "4294967296}",
      "{\"pool\": \"lab\", \"directory\": \"/d\", \"gate\": [\"tcp://a:1\"], \"nodes\": 0}",
      "{\"pool\": \"lab\", \"directory\": \"/d\", \"gate\": [\"tcp://a:1\"], \"once\": 1}",
      std::string(1 << 20, ' '),
      "{\"pool\": " + std::string(200, '[') + std::string(200, ']') + "}",
  };
  for (const std::string& bad : bads) {
    WriteFile("lab.json", bad);
    const auto read = files_.Read("lab");
    EXPECT_TRUE(absl::IsDataLoss(read.status())) << bad.substr(0, 100) << ": " << read.status();
    EXPECT_NE(read.status().message().find("lab.json"), std::string::npos) << read.status();
  }
  for (const std::string bad : {"{}", "{\"phase\": \"dancing\"}", "{\"phase\": 3}",
                                "{\"phase\": \"idle\", \"excluded\": \"n1\"}"}) {
    WriteFile("lab.state.json", bad);
    EXPECT_TRUE(absl::IsDataLoss(files_.ReadState("lab").status())) << bad;
  }
}

TEST_F(SlurmPoolTest, AFieldThatIsNotKnownIsSkipped) {
  WriteFile("lab.json",
            "{\"pool\": \"lab\", \"directory\": \"/d\", \"gate\": [\"tcp://a:1\"], \"new\": [{}]}");
  EXPECT_TRUE(files_.Read("lab").ok()) << files_.Read("lab").status();
}

TEST_F(SlurmPoolTest, NamesLeadToNoOtherPlace) {
  for (const char* const name : {"", "..", "../lab", "a/b", "Lab", "rm", "lab.state"}) {
    SlurmPool pool = Full();
    pool.pool = name;
    EXPECT_TRUE(absl::IsInvalidArgument(files_.Write(pool))) << name;
    EXPECT_TRUE(absl::IsInvalidArgument(files_.WriteState(name, FullState()))) << name;
    EXPECT_TRUE(absl::IsInvalidArgument(files_.Read(name).status())) << name;
    EXPECT_TRUE(absl::IsInvalidArgument(files_.ReadState(name).status())) << name;
    EXPECT_TRUE(absl::IsInvalidArgument(files_.Remove(name, 7))) << name;
  }
}

TEST_F(SlurmPoolTest, AWordThatSbatchWouldReadOtherwiseIsRefused) {
  const auto refused = [](auto change) {
    SlurmPool pool = Full();
    change(pool);
    return absl::IsInvalidArgument(CheckSlurmPool(pool));
  };
  EXPECT_FALSE(refused([](SlurmPool&) {}));
  EXPECT_TRUE(refused([](SlurmPool& pool) { pool.partition = "a b"; }));
  EXPECT_TRUE(refused([](SlurmPool& pool) { pool.account = "a\nb"; }));
  EXPECT_TRUE(refused([](SlurmPool& pool) { pool.gpus = std::string(1000, '1'); }));
  EXPECT_TRUE(refused([](SlurmPool& pool) { pool.exclude = {""}; }));
  EXPECT_TRUE(refused([](SlurmPool& pool) { pool.exclude = {"a b"}; }));
  EXPECT_TRUE(refused([](SlurmPool& pool) { pool.sbatch_words = {std::string("a\0b", 3)}; }));
  EXPECT_TRUE(refused([](SlurmPool& pool) { pool.nodes = 0; }));
  EXPECT_TRUE(refused([](SlurmPool& pool) { pool.nodes = 100'000; }));
  EXPECT_TRUE(refused([](SlurmPool& pool) { pool.idle_seconds = 0; }));
  EXPECT_TRUE(refused([](SlurmPool& pool) { pool.directory = "/a\nb"; }));
}

TEST_F(SlurmPoolTest, LongTextsOfSlurmAreShortened) {
  SlurmPoolState state = FullState();
  state.why = std::string(1 << 20, 'w');
  ASSERT_TRUE(files_.WriteState("lab", state).ok());
  const auto read = files_.ReadState("lab");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_FALSE(read->why.empty());
  EXPECT_LT(read->why.size(), 5000);
}

TEST_F(SlurmPoolTest, APoolThatWasChangedMeanwhileStays) {
  ASSERT_TRUE(files_.Write(Full()).ok());
  ASSERT_TRUE(files_.WriteState("lab", FullState()).ok());
  EXPECT_TRUE(absl::IsAborted(files_.Remove("lab", 6)));
  EXPECT_TRUE(files_.ReadState("lab").ok());
  EXPECT_TRUE(files_.Remove("lab", 7).ok());
  EXPECT_TRUE(absl::IsNotFound(files_.Read("lab").status()));
  EXPECT_TRUE(absl::IsNotFound(files_.ReadState("lab").status()));
  EXPECT_TRUE(files_.Remove("lab", 7).ok());
}

TEST_F(SlurmPoolTest, ADirectoryOfOthersIsNotUsed) {
  std::filesystem::create_directories(files_.directory());
  std::filesystem::permissions(files_.directory(), std::filesystem::perms::all);
  EXPECT_TRUE(absl::IsPermissionDenied(files_.Write(Full())));
}

}  // namespace
}  // namespace yard

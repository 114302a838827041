#include "trainer/checkpoint/checkpoint_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"

namespace trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class CheckpointDirectoryTest : public testing::Test {
 protected:
  CheckpointDirectoryTest() {
    char name[] = "/tmp/cd-XXXXXX";
    run_ = mkdtemp(name);
  }
  ~CheckpointDirectoryTest() override { std::filesystem::remove_all(run_); }

  static void Put(const std::string& path, const std::string& content) {
    ASSERT_TRUE(runtime::MakeDirectories(path.substr(0, path.find_last_of('/'))).ok());
    ASSERT_TRUE(runtime::WriteFileAtomically(path, content, 0644).ok());
  }
  static std::string Read(const std::string& path) {
    return runtime::ReadFile(path, 1 << 20).value_or("missing");
  }
  // Makes a temporary checkpoint with the files a and sub/b.
  std::string Temporary() {
    const std::string directory = MakeTemporaryCheckpoint(run_).value();
    Put(directory + "/a", "weights");
    Put(directory + "/sub/b", "");
    return directory;
  }
  std::string Committed(int step) {
    CheckpointMetadata metadata;
    metadata.iteration = step;
    EXPECT_TRUE(CommitCheckpoint(Temporary(), CheckpointName(step), metadata).ok());
    return absl::StrCat(run_, "/", CheckpointName(step));
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(run_)) {
      names.push_back(entry.path().filename());
    }
    return names;
  }

  std::string run_;
};

TEST_F(CheckpointDirectoryTest, NamesAreRecognised) {
  EXPECT_EQ(CheckpointName(12), "checkpoint_000012");
  EXPECT_EQ(CheckpointName(12'345'678), "checkpoint_12345678");
  EXPECT_EQ(CheckpointName(-1), "checkpoint_-1");
  EXPECT_TRUE(IsTemporaryName("checkpoint_tmp01aF9c"));
  for (const char* name : {"checkpoint_000012", "checkpoint_tmp01aF9", "checkpoint_tmp01aF9cc",
                           "checkpoint_tmp01aF9x", "x", ""}) {
    EXPECT_FALSE(IsTemporaryName(name)) << name;
  }
}

TEST_F(CheckpointDirectoryTest, ATemporaryOneIsMarkedAndEachIsAnother) {
  const std::string first = *MakeTemporaryCheckpoint(run_), second = *MakeTemporaryCheckpoint(run_);
  EXPECT_NE(first, second);
  EXPECT_TRUE(IsTemporary(first));
  EXPECT_FALSE(IsNull(first));
  EXPECT_EQ(*FindCheckpointDirectory(first), first);
  EXPECT_FALSE(IsTemporary(run_ + "/none"));
  EXPECT_EQ(TemporaryStep(first), std::nullopt);
  EXPECT_EQ(TemporaryStep(*MakeTemporaryCheckpoint(run_, 40)), 40);
}

TEST_F(CheckpointDirectoryTest, ACommittedOneIsWholeAndCarriesItsCounters) {
  CheckpointMetadata metadata;
  metadata.experiment_id = "e\"x";
  metadata.iteration = 7;
  metadata.timesteps_total = 70;
  metadata.time_total_us = 61'000'005;
  metadata.saved_as_dict = true;
  metadata.step = 700;
  metadata.attempt = 2;
  metadata.line = 9;
  const std::string temporary = Temporary();
  const auto bytes = CommitCheckpoint(temporary, "checkpoint_000700", metadata);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_GT(*bytes, 7u);
  EXPECT_THAT(Names(), ElementsAre("checkpoint_000700"));
  const std::string directory = run_ + "/checkpoint_000700";
  EXPECT_FALSE(IsTemporary(directory));
  EXPECT_TRUE(VerifyCheckpoint(directory).ok());
  EXPECT_EQ(Read(directory + "/a"), "weights");
  const auto read = ReadMetadata(directory);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->experiment_id, "e\"x");
  EXPECT_EQ(read->iteration, 7);
  EXPECT_EQ(read->timesteps_total, 70);
  EXPECT_EQ(read->episodes_total, std::nullopt);
  EXPECT_EQ(read->time_total_us, 61'000'005);
  EXPECT_TRUE(read->saved_as_dict);
  EXPECT_EQ(read->step, 700);
  EXPECT_EQ(read->attempt, 2);
  EXPECT_EQ(read->line, 9);
}

TEST_F(CheckpointDirectoryTest, APermanentOneIsNotMadePermanentAgain) {
  const std::string directory = Committed(1);
  EXPECT_EQ(CommitCheckpoint(directory, "checkpoint_000002", {}).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(MakePermanentCheckpoint(directory, run_, 2, {}).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Names(), ElementsAre("checkpoint_000001"));
}

TEST_F(CheckpointDirectoryTest, OneOfTheSameNameIsReplaced) {
  const std::string directory = Committed(1);
  const std::string temporary = *MakeTemporaryCheckpoint(run_);
  Put(temporary + "/new", "n");
  ASSERT_TRUE(CommitCheckpoint(temporary, "checkpoint_000001", {}).ok());
  EXPECT_THAT(Names(), ElementsAre("checkpoint_000001"));
  EXPECT_EQ(Read(directory + "/new"), "n");
  EXPECT_EQ(Read(directory + "/a"), "missing");
  EXPECT_TRUE(VerifyCheckpoint(directory).ok());
}

TEST_F(CheckpointDirectoryTest, BeforeTheRenameItIsSyncedUnderItsTemporaryName) {
  std::vector<std::string> points;
  const std::string temporary = Temporary();
  const auto fault = [&](std::string_view point) {
    points.emplace_back(point);
    const bool renamed = points.size() == 2;
    EXPECT_EQ(std::filesystem::exists(temporary), !renamed);
    EXPECT_TRUE(VerifyCheckpoint(renamed ? run_ + "/checkpoint_000001" : temporary).ok());
  };
  ASSERT_TRUE(CommitCheckpoint(temporary, "checkpoint_000001", {}, fault).ok());
  EXPECT_THAT(points, ElementsAre("before checkpoint rename", "after checkpoint rename"));
}

TEST_F(CheckpointDirectoryTest, ItsLongPartMayBeDoneBefore) {
  const std::string temporary = Temporary();
  auto synced = SyncCheckpoint(temporary);
  ASSERT_TRUE(synced.ok()) << synced.status();
  EXPECT_EQ(synced->count("sub/b"), 1u);
  EXPECT_TRUE(IsTemporary(temporary)) << "it may still be given up";
  ASSERT_TRUE(CommitCheckpoint(temporary, "checkpoint_000001", {}, nullptr, *synced).ok());
  EXPECT_TRUE(VerifyCheckpoint(run_ + "/checkpoint_000001").ok());
  EXPECT_EQ(SyncCheckpoint(run_ + "/checkpoint_000001").status().code(),
            absl::StatusCode::kFailedPrecondition);

  const std::string changed = Temporary();
  synced = SyncCheckpoint(changed);
  Put(changed + "/a", "another one");
  ASSERT_TRUE(CommitCheckpoint(changed, "checkpoint_000002", {}, nullptr, *synced).ok());
  EXPECT_EQ(VerifyCheckpoint(run_ + "/checkpoint_000002").code(), absl::StatusCode::kDataLoss)
      << "the sums are those of what was synced";
}

TEST_F(CheckpointDirectoryTest, EveryKindOfDamageIsFoundAndNamed) {
  const auto damage = [&](const std::function<void(const std::string&)>& how) {
    const std::string directory = Committed(1);
    how(directory);
    const absl::Status status = VerifyCheckpoint(directory);
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    EXPECT_EQ(CopyInCheckpoint(directory, run_).status().code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(Names(), ElementsAre("checkpoint_000001")) << "a copy was left";
    return std::string(status.message());
  };
  EXPECT_THAT(damage([](const auto& at) { Put(at + "/a", "weighty"); }),
              HasSubstr("/a is damaged"));
  EXPECT_THAT(damage([](const auto& at) { Put(at + "/a", "w"); }), HasSubstr("/a"));
  EXPECT_THAT(damage([](const auto& at) { Put(at + "/sub/b", "x"); }), HasSubstr("/sub/b"));
  EXPECT_THAT(damage([](const auto& at) { unlink((at + "/a").c_str()); }), HasSubstr("/a"));
  EXPECT_THAT(damage([](const auto& at) { Put(at + "/.manifest.json", "{"); }),
              HasSubstr(".manifest.json"));
  EXPECT_THAT(damage([](const auto& at) { Put(at + "/.manifest.json", R"({"files":[1]})"); }),
              HasSubstr(".manifest.json"));
  EXPECT_THAT(damage([](const auto& at) {
                unlink((at + "/a").c_str());
                ASSERT_EQ(symlink("/etc/passwd", (at + "/a").c_str()), 0);
              }),
              HasSubstr("/a is a symbolic link"));
  const std::string directory = Committed(2);
  Put(directory + "/later", "x");
  EXPECT_TRUE(VerifyCheckpoint(directory).ok()) << "a file that was added is no damage";
  EXPECT_EQ(VerifyCheckpoint(run_ + "/none").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(VerifyCheckpoint(Temporary()).code(), absl::StatusCode::kNotFound);
}

TEST_F(CheckpointDirectoryTest, LinksAndSpecialFilesAreRefused) {
  const std::string linked = Temporary();
  ASSERT_EQ(symlink("a", (linked + "/sub/link").c_str()), 0);
  auto status = CommitCheckpoint(linked, "checkpoint_000001", {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("sub/link is a symbolic link"));
  const std::string piped = Temporary();
  ASSERT_EQ(mkfifo((piped + "/pipe").c_str(), 0644), 0);
  EXPECT_EQ(CommitCheckpoint(piped, "checkpoint_000001", {}).status().code(),
            absl::StatusCode::kInvalidArgument);
  const std::string odd = Temporary();
  Put(odd + "/\xFF", "x");
  EXPECT_EQ(CommitCheckpoint(odd, "checkpoint_000001", {}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(std::filesystem::exists(run_ + "/checkpoint_000001"));
  unlink((linked + "/sub/link").c_str());
  EXPECT_TRUE(CommitCheckpoint(linked, "checkpoint_000001", {}).ok()) << "it may be tried again";
}

TEST_F(CheckpointDirectoryTest, TooDeepATreeIsRefused) {
  const std::string temporary = Temporary();
  std::string deep = temporary;
  for (int i = 0; i < 40; ++i) deep += "/d";
  Put(deep + "/f", "x");
  EXPECT_FALSE(CommitCheckpoint(temporary, "checkpoint_000001", {}).ok());
}

TEST_F(CheckpointDirectoryTest, FindsTheCheckpointThatAPathLiesIn) {
  const std::string directory = Committed(3);
  EXPECT_EQ(*FindCheckpointDirectory(directory), directory);
  EXPECT_EQ(*FindCheckpointDirectory(directory + "/"), directory);
  EXPECT_EQ(*FindCheckpointDirectory(directory + "/sub/b"), directory);
  EXPECT_EQ(FindCheckpointDirectory(run_).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(FindCheckpointDirectory(directory + "/no").status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(CheckpointDirectoryTest, ATemporaryOneIsCopiedToAPermanentOneAndStays) {
  const std::string source = Committed(3);
  const std::string temporary = *CopyInCheckpoint(source, run_);
  EXPECT_TRUE(IsTemporary(temporary));
  EXPECT_TRUE(VerifyCheckpoint(temporary).ok());
  CheckpointMetadata metadata;
  metadata.iteration = 4;
  const auto path = MakePermanentCheckpoint(temporary + "/sub/b", run_, 4, metadata);
  ASSERT_TRUE(path.ok()) << path.status();
  EXPECT_EQ(*path, run_ + "/checkpoint_000004/sub/b");
  EXPECT_FALSE(IsTemporary(*FindCheckpointDirectory(*path)));
  EXPECT_EQ(ReadMetadata(run_ + "/checkpoint_000004")->iteration, 4);
  EXPECT_TRUE(VerifyCheckpoint(run_ + "/checkpoint_000004").ok());
  EXPECT_TRUE(IsTemporary(temporary)) << "a program may still read it";
}

TEST_F(CheckpointDirectoryTest, TheNullCheckpointStartsEverythingAnew) {
  ASSERT_EQ(*MakeNullCheckpoint(run_, "e"), run_ + "/checkpoint_-1");
  const std::string null = *MakeNullCheckpoint(run_, "e");
  EXPECT_TRUE(IsNull(null));
  EXPECT_FALSE(IsTemporary(null));
  EXPECT_EQ(ReadMetadata(null)->iteration, 0);
  EXPECT_EQ(ReadMetadata(null)->timesteps_total, 0);
  EXPECT_EQ(ReadMetadata(null)->episodes_total, 0);
  EXPECT_TRUE(IsNull(*CopyInCheckpoint(null, run_)));
}

TEST_F(CheckpointDirectoryTest, ADictionaryIsKeptAsItWasWritten) {
  const std::string temporary = *MakeTemporaryCheckpoint(run_);
  EXPECT_EQ(WriteDictionary(temporary, "[1]").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(WriteDictionary(temporary, "{").code(), absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(WriteDictionary(temporary, R"({"hi": 1.50})").ok());
  CheckpointMetadata metadata;
  metadata.saved_as_dict = true;
  ASSERT_TRUE(CommitCheckpoint(temporary, "checkpoint_000001", metadata).ok());
  EXPECT_EQ(*ReadDictionary(run_ + "/checkpoint_000001"), R"({"hi": 1.50})");
  Put(run_ + "/checkpoint_000001/checkpoint", "x");
  EXPECT_EQ(ReadDictionary(run_ + "/checkpoint_000001").status().code(),
            absl::StatusCode::kDataLoss);
}

TEST_F(CheckpointDirectoryTest, DamagedMetadataIsNoMetadata) {
  const std::string directory = Committed(1);
  for (const char* text : {"", "[]", "{}", R"({"iteration":1.5})", R"({"iteration":-1})",
                           R"({"iteration":9223372036854775807})"}) {
    Put(directory + "/.metadata.json", text);
    EXPECT_EQ(ReadMetadata(directory).status().code(), absl::StatusCode::kDataLoss) << text;
  }
  Put(directory + "/.metadata.json",
      R"({"iteration":4,"time_total":-1,"experiment_id":5,"line":"x"})");
  EXPECT_EQ(ReadMetadata(directory)->iteration, 4);
  EXPECT_EQ(ReadMetadata(directory)->time_total_us, 0);
  EXPECT_EQ(ReadMetadata(directory)->line, 0);
}

TEST_F(CheckpointDirectoryTest, RemovesCheckpointsAndNothingElse) {
  const std::string directory = Committed(1);
  EXPECT_TRUE(RemoveCheckpoint(directory).ok());
  EXPECT_TRUE(RemoveCheckpoint(directory).ok()) << "it is gone already";
  EXPECT_THAT(Names(), IsEmpty());
  Put(run_ + "/other/file", "x");
  EXPECT_EQ(RemoveCheckpoint(run_ + "/other").code(), absl::StatusCode::kInvalidArgument);
  Committed(2);
  Temporary();
  Put(run_ + "/checkpoint_tmp12345/file", "not one of ours");
  EXPECT_TRUE(RemoveTemporaryCheckpoints(run_).ok());
  EXPECT_THAT(Names(), UnorderedElementsAre("other", "checkpoint_000002", "checkpoint_tmp12345"));
  EXPECT_TRUE(RemoveTemporaryCheckpoints(run_ + "/none").ok());
}

}  // namespace
}  // namespace trainer

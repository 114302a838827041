#include "datamanager/catalog/run_removal.h"

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/fake_clock.h"
#include "runtime/file/file.h"

namespace datamanager {
namespace {

using ::testing::HasSubstr;

constexpr char kId[] = "0123456789abcdef";

class RunRemovalTest : public testing::Test {
 protected:
  RunRemovalTest()
      : root_(testing::TempDir() + "/" +
              testing::UnitTest::GetInstance()->current_test_info()->name()) {
    clock_.Advance(absl::Hours(1));
    options_ = {.logdir = root_,
                .runs = [this] { return runs_; },
                .trials = [this] { return trials_; },
                .clock = &clock_};
  }

  std::string Path(const std::string& name) const { return root_ + "/" + name; }
  bool Exists(const std::string& name) const { return std::filesystem::exists(Path(name)); }

  // Makes a run that has not changed for a minute.
  void Make(const std::string& name) {
    ASSERT_TRUE(runtime::MakeDirectories(Path(name)).ok());
    ASSERT_TRUE(runtime::WriteFileAtomically(Path(name) + "/events", name, 0644).ok());
    runs_.push_back({.name = name,
                     .directory = Path(name),
                     .update_us = absl::ToUnixMicros(clock_.Now() - absl::Minutes(1)),
                     .generation = 3});
  }
  static RunRemovalRequest Request(const std::string& run) {
    return {.run = run, .request_id = kId};
  }
  // Expects an error that contains `words`, and that no file was moved.
  void ExpectRefusal(const RunRemovalRequest& request, const std::string& words,
                     absl::StatusCode code = absl::StatusCode::kFailedPrecondition) {
    const auto refused = RemoveRun(options_, request);
    EXPECT_EQ(refused.status().code(), code) << refused.status();
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr(words));
    for (const RemovableRun& run : runs_) EXPECT_TRUE(Exists(run.name + "/events")) << run.name;
    EXPECT_FALSE(Exists(".trash"));
  }

  const std::string root_;
  runtime::FakeClock clock_;
  std::vector<RemovableRun> runs_;
  absl::StatusOr<std::vector<TrialPlace>> trials_ = std::vector<TrialPlace>();
  RunRemovalOptions options_;
};

TEST_F(RunRemovalTest, MovesTheDirectoryToTheTrashOfTheLogDirectory) {
  Make("first");
  Make("group/second");
  EXPECT_EQ(*RemoveRun(options_, Request("first")), Path(".trash/first-01234567"));
  EXPECT_EQ(*RemoveRun(options_, Request("group/second")), Path(".trash/second-01234567"));
  EXPECT_FALSE(Exists("first"));
  EXPECT_TRUE(Exists(".trash/first-01234567/events"));
  EXPECT_TRUE(Exists(".trash/second-01234567/events"));
}

TEST_F(RunRemovalTest, TheSameRequestAgainFindsWhatItDidWhateverIsThereByNow) {
  Make("first");
  const std::string place = *RemoveRun(options_, Request("first"));
  runs_.clear();
  EXPECT_EQ(*RemoveRun(options_, Request("first")), place) << "it is gone";
  Make("first");
  EXPECT_EQ(*RemoveRun(options_, Request("first")), place) << "a new one has its name";
  EXPECT_TRUE(Exists("first/events"));
  RunRemovalRequest other = Request("first");
  other.request_id = "fedcba9876543210";
  EXPECT_EQ(*RemoveRun(options_, other), Path(".trash/first-fedcba98"));
}

TEST_F(RunRemovalTest, WhatIsNoRunIsNotFound) {
  Make("first");
  ASSERT_TRUE(runtime::MakeDirectories(Path("other")).ok());
  for (const char* name :
       {"other", "fir", "", "..", "../first", "/etc", "first/", "first/../first", "a//b"}) {
    SCOPED_TRACE(name);
    ExpectRefusal(Request(name), "no run ", absl::StatusCode::kNotFound);
  }
  ExpectRefusal(Request(std::string("first\0", 6)), "no run ", absl::StatusCode::kNotFound);
  EXPECT_TRUE(Exists("other"));
}

TEST_F(RunRemovalTest, ItNeedsAnIdThatCannotLeadElsewhere) {
  Make("first");
  ExpectRefusal({.run = "first", .request_id = ""}, "request id",
                absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(*RemoveRun(options_, {.run = "first", .request_id = "../../x"}),
            Path(".trash/first-.._.._x"));
}

TEST_F(RunRemovalTest, TheRunDirectoryItselfStays) {
  runs_.push_back({.name = ".", .directory = root_});
  ASSERT_TRUE(runtime::MakeDirectories(root_).ok());
  ASSERT_TRUE(runtime::WriteFileAtomically(Path("events"), "", 0644).ok());
  ExpectRefusal(Request("."), "the run directory itself");
}

TEST_F(RunRemovalTest, RunsBelowItAreRemovedOnlyIfThatWasSaid) {
  Make("a");
  Make("a/b");
  Make("ab");
  ExpectRefusal(Request("a"), "runs below it, such as a/b");
  RunRemovalRequest request = Request("a");
  request.nested = true;
  ASSERT_TRUE(RemoveRun(options_, request).ok());
  EXPECT_FALSE(Exists("a"));
  EXPECT_TRUE(Exists("ab/events")) << "that is not below it";
  EXPECT_TRUE(Exists(".trash/a-01234567/b/events"));
}

TEST_F(RunRemovalTest, WhatIsBeingWrittenStays) {
  Make("a");
  Make("a/b");
  runs_[1].update_us = absl::ToUnixMicros(clock_.Now() - absl::Milliseconds(900));
  RunRemovalRequest request = Request("a");
  request.nested = request.force = true;
  ExpectRefusal(request, "a/b was written to within the last second");
  ExpectRefusal(Request("a/b"), "it was written to within the last second");
  clock_.Advance(absl::Milliseconds(200));
  EXPECT_TRUE(RemoveRun(options_, request).ok());
}

TEST_F(RunRemovalTest, OneThatWasReplacedMeanwhileStays) {
  Make("a");
  RunRemovalRequest request = Request("a");
  request.generation = 2;
  ExpectRefusal(request, "generation 3, not 2");
  request.generation = 3;
  EXPECT_TRUE(RemoveRun(options_, request).ok());
}

TEST_F(RunRemovalTest, WhatATrialHasIsTheTrainers) {
  Make("group/first/eval");
  std::filesystem::create_directory_symlink(Path("group"), Path("link"));
  struct Row {
    const char* trial_directory;
    bool has_ended;
    const char* words;  // Null: the run may be removed.
  };
  const Row kRows[] = {
      {"group/first/eval", false, "that of trial t-abcde"},
      {"group/first/eval", true, "yard rm t-abcde"},
      {"link/first/eval", true, "that of trial t-abcde"},
      {"group/first/eval/deep", true, "trial t-abcde is below it"},
      {"group/first", false, "part of trial t-abcde, which has not ended"},
      {"group/first/evaluation", false, nullptr},
      {"group/first", true, nullptr},
  };
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.trial_directory);
    trials_ = std::vector<TrialPlace>{{"t-abcde", Path(row.trial_directory), row.has_ended}};
    if (row.words != nullptr) {
      ExpectRefusal(Request("group/first/eval"), row.words);
      continue;
    }
    const auto place = RemoveRun(options_, Request("group/first/eval"));
    ASSERT_TRUE(place.ok()) << place.status();
    std::filesystem::rename(*place, Path("group/first/eval"));
  }
}

TEST_F(RunRemovalTest, WithoutTheTrainerItMustBeForced) {
  Make("a");
  trials_ = absl::UnavailableError("trainer is not there");
  RunRemovalRequest request = Request("a");
  ExpectRefusal(request, "cannot be asked whose it is: trainer is not there");
  request.force = true;
  EXPECT_TRUE(RemoveRun(options_, request).ok());
}

TEST_F(RunRemovalTest, WhileNobodyKnowsTheRunsNothingIsRemoved) {
  Make("a");
  options_.runs = []() -> absl::StatusOr<std::vector<RemovableRun>> {
    return absl::UnavailableError("the first scan goes on");
  };
  ExpectRefusal(Request("a"), "the first scan goes on", absl::StatusCode::kUnavailable);
}

TEST_F(RunRemovalTest, ALongNameFits) {
  const std::string name(255, 'n');
  Make(name);
  EXPECT_EQ(*RemoveRun(options_, Request(name)),
            Path(".trash/" + std::string(200, 'n') + "-01234567"));
}

}  // namespace
}  // namespace datamanager

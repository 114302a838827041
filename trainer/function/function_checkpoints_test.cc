// Checkpoints of functions: Ray Tune's FunctionCheckpointingTest, the checkpoint rows of its
// FunctionApiTest, and further tests.

#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/checkpoint/checkpoint_directory.h"
#include "trainer/function/function_runner.h"
#include "trainer/function/functions.h"
#include "trainer/function/named_values.h"
#include "trainer/function/reporter.h"
#include "trainer/function/training_progress.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string Read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Returns the names in a directory, sorted, without those that begin with a dot.
std::vector<std::string> UserFiles(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) {
    std::string name = entry.path().filename().string();
    if (!name.starts_with('.')) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

void SaveLog(Reporter& reporter, std::int64_t step, const std::string& text,
             const std::string& name = "ckpt.log") {
  reporter.SaveCheckpoint(
      step, [&](const std::string& directory) { std::ofstream(directory + "/" + name) << text; });
}

// Ray's function of the checkpointing tests: before each report it saves a checkpoint whose only
// file has the number of the step.
void CountInFiles(const NamedValues& config, Reporter& reporter) {
  std::int64_t step = 0;
  if (const auto checkpoint = reporter.checkpoint()) {
    if (UserFiles(checkpoint->directory) != std::vector<std::string>{"ckpt.log"}) {
      throw std::runtime_error("not exactly one file");
    }
    step = std::stoi(Read(checkpoint->directory + "/ckpt.log")) + 1;
  }
  for (; step < config.Integer("max", 1000); ++step) {
    SaveLog(reporter, step, absl::StrCat(step));
    reporter.Report({{"test", step}});
  }
}

class FunctionCheckpointsTest : public ::testing::Test {
 protected:
  FunctionCheckpointsTest() {
    std::string name = absl::StrCat(::testing::TempDir(), "/checkpoints-XXXXXX");
    root_ = mkdtemp(name.data());
    directory_ = root_ + "/run";
  }

  template <typename F>
  std::unique_ptr<FunctionRunner> Make(F function) {
    return MakeIn(directory_, std::move(function));
  }
  template <typename F>
  std::unique_ptr<FunctionRunner> MakeIn(const std::string& directory, F function) {
    FunctionRunner::Options options;
    options.trial = {"t-abcde", "trial", directory};
    options.config = config_;
    options.warn = [this](const std::string& text) { warnings_.push_back(text); };
    return std::make_unique<FunctionRunner>(MakeFunction("train", std::move(function)),
                                            std::move(options));
  }

  // Takes a step that must return a result.
  Result Step(FunctionRunner& runner) {
    auto result = runner.Step();
    EXPECT_EQ(result.status(), absl::OkStatus());
    return result.ok() ? *std::move(result) : Result();
  }

  std::string root_, directory_;
  NamedValues config_;
  std::vector<std::string> warnings_;
};

TEST_F(FunctionCheckpointsTest, OneThatWasDeletedIsNotGivenOut) {
  const auto runner = Make(CountInFiles);
  Step(*runner);
  const auto checkpoint = runner->Save();
  ASSERT_EQ(checkpoint.status(), absl::OkStatus());
  fs::remove_all(*checkpoint);
  for (const absl::Status& status : {runner->Save().status(), runner->SaveToObject().status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
    EXPECT_THAT(std::string(status.message()), HasSubstr(*checkpoint));
  }
  Step(*runner);
  EXPECT_EQ(runner->Save().status(), absl::OkStatus()) << "the next one is there";
}

TEST_F(FunctionCheckpointsTest, Reuse) {
  std::string checkpoint;
  Result result;
  for (int round = 0; round < 5; ++round) {
    const auto runner = Make(CountInFiles);
    if (!checkpoint.empty()) {
      ASSERT_EQ(runner->Restore(checkpoint), absl::OkStatus());
    }
    for (int i = 0; i < 2; ++i) result = Step(*runner);
    checkpoint = runner->Save().value_or("");
    EXPECT_EQ(checkpoint, absl::StrCat(directory_, "/", CheckpointName(2 * round + 1)));
    EXPECT_EQ(runner->Stop(), absl::OkStatus());
  }
  EXPECT_EQ(result.training_iteration, 10);
  EXPECT_EQ(result.Get("test"), Value(9));
}

TEST_F(FunctionCheckpointsTest, ReuseObject) {
  std::optional<std::string> object;
  Result result;
  for (int round = 0; round < 5; ++round) {
    const auto runner = MakeIn(absl::StrCat(root_, "/", round), CountInFiles);
    if (object) {
      ASSERT_EQ(runner->RestoreFromObject(*object), absl::OkStatus());
    }
    for (int i = 0; i < 2; ++i) result = Step(*runner);
    auto saved = runner->SaveToObject();
    ASSERT_EQ(saved.status(), absl::OkStatus());
    object = *std::move(saved);
    EXPECT_EQ(runner->Stop(), absl::OkStatus());
  }
  EXPECT_EQ(result.training_iteration, 10);
}

TEST_F(FunctionCheckpointsTest, ReuseObjectWithoutTraining) {
  const auto first = Make(CountInFiles);
  Step(*first);
  Step(*first);
  const auto object = first->SaveToObject();
  ASSERT_EQ(object.status(), absl::OkStatus());
  EXPECT_EQ(first->Stop(), absl::OkStatus());
  const auto second = Make(CountInFiles);
  EXPECT_EQ(second->RestoreFromObject(*object), absl::OkStatus());
  EXPECT_EQ(second->Stop(), absl::OkStatus());
  const auto third = Make(CountInFiles);
  EXPECT_EQ(third->RestoreFromObject(*object), absl::OkStatus());
  EXPECT_EQ(Step(*third).training_iteration, 3);
}

TEST_F(FunctionCheckpointsTest, MultipleNullCheckpoints) {
  std::string checkpoint;
  for (int round = 0; round < 5; ++round) {
    const auto runner = Make([](const NamedValues&, Reporter& reporter) {
      for (int i = 0; i < 10; ++i) {
        reporter.Report({{"test", i}, {"restored", reporter.checkpoint().has_value()}});
      }
    });
    if (!checkpoint.empty()) {
      ASSERT_EQ(runner->Restore(checkpoint), absl::OkStatus());
    }
    const Result result = Step(*runner);
    EXPECT_EQ(result.training_iteration, 1);
    EXPECT_EQ(result.Get("test"), Value(0));
    EXPECT_EQ(result.Get("restored"), Value(false));
    EXPECT_FALSE(result.should_checkpoint);
    checkpoint = runner->Save().value_or("");
    EXPECT_EQ(checkpoint, directory_ + "/checkpoint_-1");
    EXPECT_TRUE(IsNull(checkpoint));
    // The counters start afresh.
    EXPECT_EQ(ReadMetadata(checkpoint)->iteration, 0);
  }
}

TEST_F(FunctionCheckpointsTest, FunctionNoCheckpointing) {
  const auto train = [](const NamedValues&, Reporter& reporter) {
    const auto checkpoint = reporter.checkpoint();
    if (checkpoint && !fs::exists(checkpoint->directory)) throw std::runtime_error("missing");
    for (int i = 0; i < 10; ++i) reporter.Report({{"test", i}});
  };
  const auto first = Make(train);
  Step(*first);
  const auto checkpoint = first->Save();
  ASSERT_EQ(checkpoint.status(), absl::OkStatus());
  EXPECT_EQ(first->Stop(), absl::OkStatus());
  const auto second = Make(train);
  EXPECT_EQ(second->Restore(*checkpoint), absl::OkStatus());
  EXPECT_EQ(Step(*second).training_iteration, 1);
  EXPECT_EQ(second->Save().status(), absl::OkStatus());
  EXPECT_EQ(second->Stop(), absl::OkStatus());
}

TEST_F(FunctionCheckpointsTest, FunctionRecurringSave) {
  const auto train = [](const NamedValues&, Reporter& reporter) {
    const auto checkpoint = reporter.checkpoint();
    if (checkpoint && !fs::exists(checkpoint->directory)) throw std::runtime_error("missing");
    for (int step = 0; step < 10; ++step) {
      if (step % 3 == 0) SaveLog(reporter, step, absl::StrCat(step));
      reporter.Report({{"test", step}});
    }
  };
  const auto first = Make(train);
  Step(*first);
  const auto object = first->SaveToObject();
  ASSERT_EQ(object.status(), absl::OkStatus());
  EXPECT_EQ(first->RestoreFromObject(*object), absl::OkStatus());
  const auto checkpoint = first->Save();
  ASSERT_EQ(checkpoint.status(), absl::OkStatus());
  EXPECT_FALSE(IsTemporary(*checkpoint));
  EXPECT_EQ(first->Stop(), absl::OkStatus());
  const auto second = Make(train);
  EXPECT_EQ(second->Restore(*checkpoint), absl::OkStatus());
  Step(*second);
  EXPECT_EQ(second->Stop(), absl::OkStatus());
}

// testCheckpointFunctionAtEnd, and AtEndContext.
TEST_F(FunctionCheckpointsTest, OneAfterTheLastReportComesWithTheEnd) {
  const auto runner = Make([](const NamedValues&, Reporter& reporter) {
    for (int i = 0; i < 10; ++i) reporter.Report({{"test", i}});
    SaveLog(reporter, 10, "bye");
  });
  Result result;
  for (int i = 0; i < 10; ++i) result = Step(*runner);
  EXPECT_FALSE(result.should_checkpoint);
  const Result end = Step(*runner);
  EXPECT_TRUE(end.duplicate);
  EXPECT_TRUE(end.should_checkpoint);
  const auto checkpoint = runner->Save();
  ASSERT_EQ(checkpoint.status(), absl::OkStatus());
  EXPECT_EQ(Read(*checkpoint + "/ckpt.log"), "bye");
  EXPECT_EQ(ReadMetadata(*checkpoint)->iteration, 10);
}

// testVariousCheckpointFunctionAtEnd.
TEST_F(FunctionCheckpointsTest, TheLastOfManyIsTheNewest) {
  const auto runner = Make([](const NamedValues&, Reporter& reporter) {
    for (int i = 0; i < 10; ++i) {
      SaveLog(reporter, i, "hello");
      reporter.Report({{"test", i}});
    }
    SaveLog(reporter, 10, "bye", "ckpt.log2");
  });
  while (!Step(*runner).duplicate) {
  }
  const auto checkpoint = runner->Save();
  ASSERT_EQ(checkpoint.status(), absl::OkStatus());
  EXPECT_THAT(UserFiles(*checkpoint), ElementsAre("ckpt.log2"));
  EXPECT_THAT(UserFiles(directory_), SizeIs(11));
}

// testReuseCheckpoint.
TEST_F(FunctionCheckpointsTest, AnotherTrialGoesOnWhereOneEnded) {
  config_ = {{"max", 5}};
  const auto first = Make(CountInFiles);
  while (!Step(*first).duplicate) {
  }
  const auto checkpoint = first->Save();
  ASSERT_EQ(checkpoint.status(), absl::OkStatus());
  config_ = {{"max", 10}};
  const auto second = MakeIn(root_ + "/other", CountInFiles);
  ASSERT_EQ(second->Restore(*checkpoint), absl::OkStatus());
  int rows = 0;
  Result result = Step(*second);
  for (; !result.duplicate; result = Step(*second)) ++rows;
  EXPECT_EQ(rows, 5);
  EXPECT_EQ(result.training_iteration, 10);
}

TEST_F(FunctionCheckpointsTest, IsAnnouncedOnceAndKeepsTheCountersOfItsResult) {
  const auto runner = Make([](const NamedValues&, Reporter& reporter) {
    for (int i = 1; i <= 4; ++i) {
      if (i == 2) SaveLog(reporter, 77, "two");
      reporter.Report({{"timesteps_this_iter", 5}, {"episodes_this_iter", 1}});
    }
  });
  EXPECT_FALSE(Step(*runner).should_checkpoint);
  const Result announced = Step(*runner);
  EXPECT_TRUE(announced.should_checkpoint);
  // The checkpoint is on the disk even if Save() is called late.
  EXPECT_EQ(VerifyCheckpoint(directory_ + "/checkpoint_000077"), absl::OkStatus());
  EXPECT_TRUE(Step(*runner).should_checkpoint);
  const auto path = runner->Save();
  ASSERT_EQ(path.status(), absl::OkStatus());
  EXPECT_FALSE(Step(*runner).should_checkpoint);
  const auto metadata = ReadMetadata(*path);
  ASSERT_EQ(metadata.status(), absl::OkStatus());
  EXPECT_EQ(metadata->iteration, 2);
  EXPECT_EQ(metadata->step, 77);
  EXPECT_EQ(metadata->timesteps_total, 10);
  EXPECT_EQ(metadata->episodes_total, 2);
  EXPECT_EQ(metadata->experiment_id, announced.source->experiment_id);
  EXPECT_FALSE(metadata->saved_as_dict);
}

TEST_F(FunctionCheckpointsTest, AFailedFunctionGoesOnFromTheNewest) {
  const auto runner = Make([](const NamedValues&, Reporter& reporter) {
    const auto checkpoint = reporter.checkpoint();
    int step = checkpoint ? std::stoi(Read(checkpoint->directory + "/ckpt.log")) : 0;
    reporter.Report({{"from", step}});
    ++step;
    SaveLog(reporter, step, absl::StrCat(step));
    throw std::runtime_error("boom");
  });
  for (int from = 0; from < 3; ++from) {
    EXPECT_EQ(Step(*runner).Get("from"), Value(from));
    EXPECT_THAT(runner->Step().status().ToString(), HasSubstr("boom"));
  }
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(FunctionCheckpointsTest, ARestoreCountsFromTheNextStart) {
  config_ = {{"max", 2}};
  const auto runner = Make(CountInFiles);
  Step(*runner);
  const auto early = runner->Save();
  ASSERT_EQ(early.status(), absl::OkStatus());
  ASSERT_EQ(runner->Restore(*early), absl::OkStatus());
  EXPECT_EQ(Step(*runner).Get("test"), Value(1)) << "the function runs on";
  EXPECT_TRUE(Step(*runner).duplicate);
  ASSERT_EQ(runner->Restore(*early), absl::OkStatus());
  EXPECT_TRUE(absl::IsOutOfRange(runner->Step().status()));
  const Result anew = Step(*runner);
  EXPECT_EQ(anew.Get("test"), Value(1));
  EXPECT_EQ(anew.training_iteration, 2);
  EXPECT_EQ(anew.iterations_since_restore, 1);
}

TEST_F(FunctionCheckpointsTest, TheReporterGivesTheNewestWhileItRuns) {
  const auto runner = Make([](const NamedValues&, Reporter& reporter) {
    const auto newest = [&] {
      const auto checkpoint = reporter.checkpoint();
      return checkpoint ? Read(checkpoint->directory + "/ckpt.log") : "none";
    };
    const std::string none = newest();
    SaveLog(reporter, 1, "one");
    const std::string one = newest();
    SaveLog(reporter, 2, "two");
    reporter.Report({{"none", none}, {"one", one}, {"two", newest()}});
    const std::string directory = reporter.checkpoint()->directory;
    reporter.Report({{"two", newest()}, {"directory", directory}});
  });
  Result result = Step(*runner);
  EXPECT_EQ(result.reported.ToJson(), R"({"none":"none","one":"one","two":"two"})");
  EXPECT_THAT(UserFiles(directory_), ElementsAre("checkpoint_000001", "checkpoint_000002"));
  result = Step(*runner);
  EXPECT_EQ(result.Get("two"), Value("two"));
  EXPECT_EQ(result.Get("directory"), Value(directory_ + "/checkpoint_000002"));
}

TEST_F(FunctionCheckpointsTest, ADirectoryThatIsThereIsCopied) {
  const std::string source = root_ + "/model";
  fs::create_directory(source);
  std::ofstream(source + "/ckpt.log") << "weights";
  const auto runner = Make([&](const NamedValues&, Reporter& reporter) {
    reporter.SaveCheckpoint(3, source);
    std::ofstream(source + "/ckpt.log") << "changed";
    std::string refused;
    try {
      reporter.SaveCheckpoint(4, source + "/none");
    } catch (const std::runtime_error& error) {
      refused = error.what();
    }
    reporter.Report({{"refused", refused}});
  });
  EXPECT_THAT(*Step(*runner).Get("refused").AsText(), HasSubstr("/model/none"));
  const auto path = runner->Save();
  ASSERT_EQ(path.status(), absl::OkStatus());
  EXPECT_EQ(*path, directory_ + "/checkpoint_000003");
  EXPECT_EQ(VerifyCheckpoint(*path), absl::OkStatus());
  EXPECT_EQ(Read(*path + "/ckpt.log"), "weights");
  EXPECT_THAT(UserFiles(directory_), ElementsAre("checkpoint_000003"));
}

TEST_F(FunctionCheckpointsTest, ValuesAreACheckpointToo) {
  const NamedValues state{{"lr", 0.1}, {"epoch", 3}, {"name", "n\xC3\xA4"}, {"whole", 2.0}};
  const auto train = [&](const NamedValues&, Reporter& reporter) {
    const auto checkpoint = reporter.checkpoint();
    const bool same = checkpoint && checkpoint->values == state;
    reporter.SaveCheckpoint(state);
    reporter.Report({{"same", same}});
  };
  const auto first = Make(train);
  const Result result = Step(*first);
  EXPECT_EQ(result.Get("same"), Value(false));
  EXPECT_TRUE(result.should_checkpoint);
  const auto path = first->Save();
  const auto object = first->SaveToObject();
  ASSERT_EQ(object.status(), absl::OkStatus());
  EXPECT_EQ(*path, directory_ + "/checkpoint_000001");
  EXPECT_TRUE(ReadMetadata(*path)->saved_as_dict);
  EXPECT_EQ(*ReadDictionary(*path), state.ToJson());
  const auto second = MakeIn(root_ + "/second", train);
  ASSERT_EQ(second->Restore(*path), absl::OkStatus());
  EXPECT_TRUE(ReadMetadata(*second->Save())->saved_as_dict) << "also of a permanent copy";
  EXPECT_EQ(Step(*second).Get("same"), Value(true));
  const auto third = MakeIn(root_ + "/third", train);
  ASSERT_EQ(third->RestoreFromObject(*object), absl::OkStatus());
  EXPECT_EQ(Step(*third).Get("same"), Value(true));
}

// Ray's last_result of a trainable that was restored and not trained afterwards.
TEST_F(FunctionCheckpointsTest, TheEndAfterARestoreHasTheCountersOfTheCheckpoint) {
  config_ = {{"max", 2}};
  const auto runner = Make(CountInFiles);
  const Result first = Step(*runner);
  const auto path = runner->Save();
  ASSERT_EQ(path.status(), absl::OkStatus());
  EXPECT_EQ(Step(*runner).training_iteration, 2);
  ASSERT_EQ(runner->Restore(*path), absl::OkStatus());
  const Result end = Step(*runner);
  EXPECT_TRUE(end.duplicate);
  EXPECT_EQ(end.training_iteration, 1);
  EXPECT_TRUE(end.reported.empty());
  EXPECT_LE(absl::AbsDuration(end.time_total - first.time_total), absl::Milliseconds(1));
}

TEST_F(FunctionCheckpointsTest, ALargeObjectIsWorthAWord) {
  const auto runner = Make([](const NamedValues&, Reporter& reporter) {
    for (const std::size_t bytes : {1'000u, 10'000'000u}) {
      SaveLog(reporter, 1, std::string(bytes, 'x'));
      reporter.Report({});
    }
  });
  Step(*runner);
  EXPECT_EQ(runner->SaveToObject().status(), absl::OkStatus());
  EXPECT_THAT(warnings_, IsEmpty());
  Step(*runner);
  const auto object = runner->SaveToObject();
  ASSERT_EQ(object.status(), absl::OkStatus());
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr(absl::StrCat("has ", object->size(), " bytes"))));
}

// Ray's is_new_checkpoint, "fresh": only checkpoints that the function saves are announced.
TEST_F(FunctionCheckpointsTest, WhatIsRestoredIsNotAnnounced) {
  const auto saved = Make(CountInFiles);
  Step(*saved);
  const auto object = saved->SaveToObject();
  ASSERT_EQ(object.status(), absl::OkStatus());
  const auto runner = MakeIn(root_ + "/other", [](const NamedValues&, Reporter& reporter) {
    while (true) reporter.Report({});
  });
  ASSERT_EQ(runner->RestoreFromObject(*object), absl::OkStatus());
  EXPECT_FALSE(Step(*runner).should_checkpoint);
  ASSERT_EQ(runner->RestoreFromObject(*object), absl::OkStatus());
  EXPECT_FALSE(Step(*runner).should_checkpoint);
}

TEST_F(FunctionCheckpointsTest, RefusesWhatCannotBeOne) {
  const auto refused = [](const std::function<void()>& save) -> std::string {
    try {
      save();
    } catch (const std::logic_error& error) {
      return error.what();
    }
    return "not refused";
  };
  const auto runner = Make([&](const NamedValues&, Reporter& reporter) {
    NamedValues report;
    report.Set("step", refused([&] { SaveLog(reporter, -1, "x"); }));
    report.Set("bytes", refused([&] { reporter.SaveCheckpoint({{"blob", "\xff\xfe"}}); }));
    report.Set("size", refused([&] {
                 reporter.SaveCheckpoint({{"big", std::string((16 << 20) + 1, 'x')}});
               }));
    report.Set("thrown", refused([&] {
                 reporter.SaveCheckpoint(1, [](const std::string& directory) {
                   std::ofstream(directory + "/half") << "x";
                   throw std::logic_error("half of it");
                 });
               }));
    report.Set("none", !reporter.checkpoint().has_value());
    for (int i = 0; i < 16; ++i) SaveLog(reporter, i, "x");
    report.Set("many", refused([&] { SaveLog(reporter, 16, "x"); }));
    reporter.Report(report);
  });
  const Result result = Step(*runner);
  EXPECT_THAT(*result.Get("step").AsText(), HasSubstr("step -1 of a checkpoint is negative"));
  EXPECT_THAT(*result.Get("bytes").AsText(), HasSubstr("\"blob\" of a checkpoint is not UTF-8"));
  EXPECT_THAT(*result.Get("size").AsText(), HasSubstr("over the limit of 16777216"));
  EXPECT_EQ(result.Get("thrown"), Value("half of it"));
  EXPECT_EQ(result.Get("none"), Value(true));
  EXPECT_THAT(*result.Get("many").AsText(), HasSubstr("16 checkpoints without a report"));
  EXPECT_THAT(UserFiles(directory_), SizeIs(16)) << "what was refused left nothing";
}

// A link inside a checkpoint could lead anywhere, so it is refused.
TEST_F(FunctionCheckpointsTest, OneThatTheDiskRefusesCostsItselfAndNoResult) {
  const auto runner = Make([](const NamedValues&, Reporter& reporter) {
    SaveLog(reporter, 1, "good");
    reporter.Report({{"x", 1}});
    reporter.SaveCheckpoint(2, [](const std::string& directory) {
      fs::create_symlink("/etc/passwd", directory + "/link");
    });
    reporter.Report({{"x", 2}});
    reporter.Report({{"x", 3}, {"newest", Read(reporter.checkpoint()->directory + "/ckpt.log")}});
  });
  EXPECT_EQ(Step(*runner).Get("x"), Value(1));
  const absl::Status refused = runner->Step().status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.ToString(), HasSubstr("cannot commit a checkpoint of function train"));
  EXPECT_EQ(Step(*runner).Get("x"), Value(2));
  const Result third = Step(*runner);
  EXPECT_EQ(third.Get("newest"), Value("good"));
  EXPECT_EQ(third.training_iteration, 3);
  EXPECT_THAT(UserFiles(directory_), ElementsAre("checkpoint_000001"));
}

TEST_F(FunctionCheckpointsTest, StopWarnsOfAResultThatWasNotRead) {
  const auto runner = Make([](const NamedValues&, Reporter& reporter) {
    reporter.SaveCheckpoint(2, [](const std::string& directory) {
      fs::create_symlink("/etc/passwd", directory + "/link");
    });
    reporter.Report({{"x", 2}});
  });
  EXPECT_FALSE(runner->Step().ok());
  EXPECT_EQ(runner->Stop(), absl::OkStatus());
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("results of function train of trial t-abcde came")));
}

TEST_F(FunctionCheckpointsTest, StopRemovesEveryTemporaryOneAndThenReturnsTheError) {
  const auto source = MakeIn(root_ + "/source", CountInFiles);
  Step(*source);
  const auto object = source->SaveToObject();
  const auto path = source->Save();
  ASSERT_EQ(object.status(), absl::OkStatus());
  const auto runner = Make([](const NamedValues&, Reporter& reporter) {
    try {
      reporter.Report({{"from", reporter.checkpoint()->directory}});
    } catch (...) {
      throw std::runtime_error("cannot clean up");
    }
  });
  ASSERT_EQ(runner->RestoreFromObject(*object), absl::OkStatus());
  ASSERT_EQ(runner->Restore(*path), absl::OkStatus());
  const Result result = Step(*runner);
  EXPECT_TRUE(IsTemporary(*result.Get("from").AsText()));
  ASSERT_EQ(runner->RestoreFromObject(*object), absl::OkStatus());
  EXPECT_TRUE(fs::exists(*result.Get("from").AsText())) << "the function may read it yet";
  EXPECT_THAT(runner->Stop().ToString(), HasSubstr("cannot clean up"));
  EXPECT_THAT(UserFiles(directory_), IsEmpty());
}

TEST_F(FunctionCheckpointsTest, OneThatIsSavedWhileItUnwindsIsKept) {
  const auto runner = Make([](const NamedValues&, Reporter& reporter) {
    try {
      while (true) reporter.Report({{"x", 1}});
    } catch (const StopTrial&) {
      SaveLog(reporter, 9, "last words");
      throw;
    }
  });
  Step(*runner);
  EXPECT_EQ(runner->Stop(), absl::OkStatus());
  const std::string path = directory_ + "/checkpoint_000009";
  EXPECT_EQ(VerifyCheckpoint(path), absl::OkStatus());
  EXPECT_EQ(Read(path + "/ckpt.log"), "last words");
  EXPECT_THAT(UserFiles(directory_), ElementsAre("checkpoint_000009"));
}

TEST_F(FunctionCheckpointsTest, APathInsideOfACheckpointStaysOne) {
  const auto first = Make([](const NamedValues&, Reporter& reporter) {
    reporter.SaveCheckpoint(1, [](const std::string& directory) {
      fs::create_directory(directory + "/model");
      std::ofstream(directory + "/model/ckpt.log") << "1";
    });
    reporter.Report({});
  });
  Step(*first);
  const auto path = first->Save();
  ASSERT_EQ(path.status(), absl::OkStatus());
  const auto second = MakeIn(root_ + "/other", CountInFiles);
  ASSERT_EQ(second->Restore(*path + "/model/"), absl::OkStatus());
  EXPECT_EQ(*second->Save(), root_ + "/other/checkpoint_000001/model");
  EXPECT_EQ(Step(*second).Get("test"), Value(2));
}

TEST_F(FunctionCheckpointsTest, ADamagedOneIsRefusedAlsoInTheOwnDirectory) {
  const auto runner = Make(CountInFiles);
  Step(*runner);
  const auto path = runner->Save();
  ASSERT_EQ(path.status(), absl::OkStatus());
  std::ofstream(*path + "/ckpt.log") << "7";
  const absl::Status refused = runner->Restore(*path);
  EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(refused.ToString(), HasSubstr("ckpt.log"));
  EXPECT_EQ(Step(*runner).Get("test"), Value(1));
}

TEST_F(FunctionCheckpointsTest, ANewStartGoesOnFromTheNewestThatIsWhole) {
  const auto runner = Make([](const NamedValues&, Reporter& reporter) {
    const auto checkpoint = reporter.checkpoint();
    reporter.Report({{"from", checkpoint ? Read(checkpoint->directory + "/ckpt.log") : "none"}});
    if (checkpoint) throw std::runtime_error("boom");
    for (const int step : {1, 2, 3}) SaveLog(reporter, step, absl::StrCat("log", step));
    throw std::runtime_error("boom");
  });
  EXPECT_EQ(Step(*runner).Get("from"), Value("none"));
  EXPECT_FALSE(runner->Step().ok());
  std::ofstream(directory_ + "/checkpoint_000003/ckpt.log") << "lOg3";
  fs::remove_all(directory_ + "/checkpoint_000002");
  EXPECT_EQ(Step(*runner).Get("from"), Value("log1"));
  EXPECT_THAT(warnings_,
              ElementsAre(HasSubstr("checkpoint_000003/ckpt.log"),
                          HasSubstr("goes on from " + directory_ + "/checkpoint_000001")));
  EXPECT_FALSE(runner->Step().ok());
  fs::remove_all(directory_ + "/checkpoint_000001");
  EXPECT_EQ(Step(*runner).Get("from"), Value("none"));
}

TEST_F(FunctionCheckpointsTest, APermanentOneIsNotMadePermanentAgain) {
  const auto runner = Make(CountInFiles);
  Step(*runner);
  const auto path = runner->Save();
  ASSERT_EQ(path.status(), absl::OkStatus());
  EXPECT_EQ(MakePermanentCheckpoint(*path, directory_, 4, {}).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(*runner->Save(), *path);
  EXPECT_THAT(UserFiles(directory_), ElementsAre("checkpoint_000000"));
}

}  // namespace
}  // namespace trainer

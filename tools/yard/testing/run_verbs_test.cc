// Tests the verbs about runs on disk, against a data manager in this process.

#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <sstream>
#include <streambuf>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "bus/schema/envelope_generated.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tools/yard/cli/verb.h"
#include "tools/yard/testing/fake_yard.h"

namespace yard {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

// Parses each line of `text`, which must be JSON.
std::vector<json> Objects(const std::string& text) {
  std::vector<json> objects;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    objects.push_back(json::parse(line, nullptr, false));
    EXPECT_TRUE(objects.back().is_object()) << line;
  }
  return objects;
}

std::vector<std::string> Values(const std::vector<json>& objects, const char* key) {
  std::vector<std::string> values;
  for (const json& object : objects) values.push_back(object.value(key, "none"));
  return values;
}

class RunVerbsTest : public ::testing::Test {
 protected:
  // Adds "first" with a loss and an accuracy, "second" with a loss, and "third" with another
  // metric.
  void AddThree() {
    yard_.AddSeries({.run = "first", .tag = "loss", .values = {3, 2, 1}});
    yard_.AddSeries({.run = "first", .tag = "eval/accuracy", .values = {0.5}});
    yard_.AddSeries({.run = "second", .tag = "loss", .values = {3, 2, 0.5}});
    yard_.AddSeries({.run = "third", .tag = "eval/recall", .values = {0.25}});
  }
  void AddConfig(const std::string& run, const std::map<std::string, std::string>& config) {
    msg::RunHParamsT hparams;
    hparams.run = run;
    for (const auto& [key, value] : config) {
      hparams.hparams.push_back(std::make_unique<msg::KeyValueT>());
      hparams.hparams.back()->key = key;
      hparams.hparams.back()->value = value;
    }
    yard_.AddHParams(std::move(hparams));
  }

  FakeYard yard_;
};

// ---- runs

using RunsTest = RunVerbsTest;

TEST_F(RunsTest, ListsWhatIsOnDisk) {
  AddThree();
  yard_.Start();
  const auto result = yard_.Run({"runs"});
  EXPECT_EQ(result.code, kDone);
  EXPECT_THAT(result.out, HasSubstr("first"));
  EXPECT_EQ(result.err, "3 runs in " + yard_.logdir() + "\n");
  const auto objects = Objects(yard_.Run({"runs", "--json"}).out);
  ASSERT_EQ(objects.size(), 3U);
  EXPECT_EQ(objects[0].value("points", 0), 4);
  EXPECT_EQ(objects[0].value("last_step", 0), 2);
}

TEST_F(RunsTest, AQueryChoosesAndAWordIsAName) {
  AddThree();
  yard_.AddQuery("loss<1 & label:base", {"second"});
  yard_.Start();
  EXPECT_THAT(Values(Objects(yard_.Run({"runs", "loss<1 & label:base", "--json"}).out), "run"),
              ElementsAre("second"));
  EXPECT_THAT(Values(Objects(yard_.Run({"runs", "fi", "--json"}).out), "run"),
              ElementsAre("first"));
  EXPECT_EQ(yard_.Run({"runs", "nothing"}).code, kNotFound);
  EXPECT_EQ(yard_.Run({"runs", "frist"}).err, "yard runs: no run frist; did you mean first?\n");
}

TEST_F(RunsTest, ABeginningOfNamesListsThemAlsoOneThatReadsLikeAQuery) {
  for (const char* run : {"lr=0.1", "lr=0.1,bs=32", "lr=0.15", "2021/resnet/a", "2021/resnet/b",
                          "2021/resnet2", "2024-11-22T10:00:00"}) {
    yard_.AddSeries({.run = run, .tag = "loss", .values = {1}});
  }
  yard_.Start();
  const auto runs = [&](const std::string& word) {
    return Values(Objects(yard_.Run({"runs", word, "--json"}).out), "run");
  };
  EXPECT_THAT(runs("lr=0.1,bs=32"), ElementsAre("lr=0.1,bs=32"));
  EXPECT_THAT(runs("lr=0.1"), ElementsAre("lr=0.1", "lr=0.1,bs=32", "lr=0.15"));
  EXPECT_THAT(runs("2024-11-22T10:"), ElementsAre("2024-11-22T10:00:00"));
  EXPECT_THAT(runs("2021/resnet"), ElementsAre("2021/resnet/a", "2021/resnet/b", "2021/resnet2"));
  std::filesystem::create_directories(yard_.logdir() + "/2021/resnet");
  EXPECT_THAT(runs(yard_.logdir() + "/2021/resnet/"),
              ElementsAre("2021/resnet/a", "2021/resnet/b"));
  EXPECT_THAT(runs(yard_.logdir()), SizeIs(7));
  EXPECT_THAT(runs("."), SizeIs(0)) << "no directory of runs";
}

TEST_F(RunsTest, ParametersAreShownAsTheyAreCompared) {
  AddThree();
  AddConfig("first", {{"lr", "0.1"}, {"command", "\"python3 t.py\""}});
  yard_.Start();
  EXPECT_THAT(yard_.Run({"show", "first", "--run"}).out,
              HasSubstr("config     command=\"python3 t.py\"\nconfig     lr=0.1\n"));
}

TEST_F(RunsTest, AThingThatIsNotThereIsToldWithWhatIsNear) {
  AddThree();
  yard_.SetNames("datamanager", {"first", "second"});
  yard_.Start();
  EXPECT_EQ(yard_.Run({"show", "frist"}).err,
            "yard show: no trial, sweep or job frist; did you mean first?\n");
}

TEST_F(RunsTest, NamesThatNoRunHasAreSaid) {
  AddThree();
  yard_.AddQuery("los<1", {});
  yard_.SetNames("datamanager", {"los"});
  yard_.Start();
  const auto result = yard_.Run({"runs", "los<1"});
  EXPECT_EQ(result.code, kDone);
  EXPECT_THAT(result.err, HasSubstr("no run has los\n"));
}

TEST_F(RunsTest, AWrongQueryIsShownWithItsCaret) {
  AddThree();
  yard_.Start();
  const auto result = yard_.Run({"runs", "loss<"});
  EXPECT_EQ(result.code, kUsage);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err,
            "yard runs: query, column 1: expected something else\n"
            "  loss<\n"
            "  ^\n");
}

TEST_F(RunsTest, PagesAreOneList) {
  for (int i = 0; i < 7; ++i) {
    yard_.AddSeries({.run = absl::StrCat("r", i), .tag = "loss", .values = {1}});
  }
  yard_.SetPage(3);
  yard_.Start();
  EXPECT_THAT(Values(Objects(yard_.Run({"runs", "--json"}).out), "run"),
              ElementsAre("r0", "r1", "r2", "r3", "r4", "r5", "r6"));
  const auto some = yard_.Run({"runs", "-n", "4", "--json"});
  EXPECT_THAT(Values(Objects(some.out), "run"), ElementsAre("r0", "r1", "r2", "r3"));
  EXPECT_THAT(some.err, StartsWith("4 runs"));
  const auto table = yard_.Run({"runs"}).out;
  EXPECT_THAT(table, HasSubstr("r6"));
  EXPECT_EQ(table.find("RUN"), table.rfind("RUN")) << "one table";
}

TEST_F(RunsTest, SaysWhatIsMissingInTheList) {
  AddThree();
  yard_.AddQuery("loss<1", {"second"});
  yard_.SetUndecided(2);
  yard_.SetUnreadable({"pri\x1bvate"});
  yard_.Start();
  const auto result = yard_.Run({"runs", "loss<1"});
  EXPECT_EQ(result.code, kDone);
  EXPECT_THAT(result.err, HasSubstr("of 2 runs it is not known yet"));
  EXPECT_THAT(result.err, HasSubstr("1 directory cannot be read, such as pri\\x1Bvate\n"));
}

TEST_F(RunsTest, TheFirstScanIsWaitedForAndSaid) {
  AddThree();
  yard_.HoldScan();
  yard_.Start();
  const auto result = yard_.Run({"runs", "--json"});
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_EQ(Objects(result.out).size(), 3U);
  EXPECT_THAT(result.err, StartsWith("yard runs: the first scan has seen 3 directories; waiting"));
}

TEST_F(RunsTest, AnotherErrorIsNotWaitedFor) {
  yard_.Break("datamanager", absl::InternalError("no disk"));
  yard_.Start();
  const auto result = yard_.Run({"runs"});
  EXPECT_EQ(result.code, kFailed);
  EXPECT_EQ(result.err, "yard runs: no disk\n");
}

TEST_F(RunsTest, ColumnsMakeALeaderboard) {
  AddThree();
  AddConfig("first", {{"lr", "0.1"}});
  AddConfig("second", {{"lr", "0.01"}});
  yard_.AddTrial("t-abcde", "second", msg::TrialState::Failed);
  yard_.EditRun("second", [](msg::RunT& run) { run.trial = "t-abcde"; });
  yard_.SetPage(1);
  yard_.Start();
  const auto result =
      yard_.Run({"runs", "--columns", "config.lr,loss,state", "--sort", "loss", "-n", "2"});
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_EQ(result.out,
            "RUN     config.lr  loss  state\n"
            "second       0.01   0.5  failed\n"
            "first         0.1     1  -\n");
  EXPECT_EQ(result.err, "2 runs of 3 in " + yard_.logdir() + "\n");
  const auto objects = Objects(yard_.Run({"runs", "--sort", "-min:loss", "--json"}).out);
  EXPECT_THAT(Values(objects, "run"), ElementsAre("first", "second", "third"));
  EXPECT_EQ(objects[0]["cols"], (json{{"min:loss", 1}}));
  EXPECT_EQ(objects[2]["cols"], (json{{"min:loss", nullptr}})) << "last, as it has none";
  EXPECT_THAT(
      Values(Objects(yard_.Run({"runs", "--columns", "loss", "-n", "2", "--json"}).out), "run"),
      ElementsAre("first", "second"));
}

TEST_F(RunsTest, AColumnThatNoRunHasIsAnErrorAndNothingIsListed) {
  AddThree();
  yard_.SetNames("datamanager", {"los"});
  yard_.Start();
  const auto result = yard_.Run({"runs", "--columns", "loss", "--sort", "-los"});
  EXPECT_EQ(result.code, kNotFound);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, "yard runs: no run has los\n");
  EXPECT_EQ(yard_.Run({"runs", "--columns", "loss,"}).code, kUsage);
}

TEST_F(RunsTest, WhileRunsAreReadAColumnMayStillCome) {
  AddThree();
  yard_.SetNames("datamanager", {"accuracy"});
  yard_.EditRun("second", [](msg::RunT& run) { run.counted = run.intact = false, run.tags = 0; });
  yard_.Start();
  const auto result = yard_.Run({"runs", "--columns", "accuracy", "--json"});
  EXPECT_EQ(result.code, kDone);
  EXPECT_EQ(Objects(result.out).size(), 3U);
  EXPECT_THAT(result.err, StartsWith("no run has accuracy\n"));
}

// ---- show

using ShowRunTest = RunVerbsTest;

TEST_F(ShowRunTest, ARunIsShownWithItsTags) {
  AddThree();
  yard_.EditRun("first", [](msg::RunT& run) { run.labels = {"base"}; });
  yard_.EditTag("eval/accuracy", [](msg::TagT& tag) {
    tag.plugin = "images";
    tag.data_class = msg::DataClass::BlobSequence;
  });
  yard_.SetPage(1);
  yard_.Start();
  const auto result = yard_.Run({"show", "first"});
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_THAT(result.out, StartsWith("run        first\n"));
  EXPECT_THAT(result.out, HasSubstr("label      base\n"));
  EXPECT_THAT(result.out, HasSubstr("images"));
  EXPECT_THAT(result.out, HasSubstr("next       yard plot first\n"));
  const auto objects = Objects(yard_.Run({"show", "first", "--json"}).out);
  EXPECT_THAT(Values(objects, "tag"), ElementsAre("loss", "eval/accuracy"));
  EXPECT_EQ(objects[0]["min"], 1);
}

TEST_F(ShowRunTest, SystemMetricsAreCountedAndListedInJson) {
  AddThree();
  yard_.AddSeries({.run = "first", .tag = "sys/cpu_percent", .values = {50}});
  yard_.AddSeries({.run = "first", .tag = "sys/gpu0/power_watts", .values = {100}});
  yard_.Start();
  const auto result = yard_.Run({"show", "first"});
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_THAT(result.out, Not(HasSubstr("sys/cpu_percent")));
  EXPECT_THAT(result.out, HasSubstr("system     2 metrics: yard plot first --tags sys/\n"));
  EXPECT_THAT(Values(Objects(yard_.Run({"show", "first", "--json"}).out), "tag"),
              ElementsAre("loss", "eval/accuracy", "sys/cpu_percent", "sys/gpu0/power_watts"));
}

TEST_F(ShowRunTest, WhatATrialHasWrittenIsShownOnRequest) {
  AddThree();
  yard_.AddTrial("t-abcde", "first", msg::TrialState::Done);
  yard_.Start();
  EXPECT_THAT(yard_.Run({"show", "first"}).out, StartsWith("trial      t-abcde\n"));
  for (const char* name : {"first", "t-abcde"}) {
    EXPECT_THAT(yard_.Run({"show", name, "--run"}).out, StartsWith("run        first\n")) << name;
  }
}

TEST_F(ShowRunTest, TheRunOfATrialThatTheDataManagerHasNotReadIsThereAfterAReload) {
  AddThree();
  yard_.AddTrial("t-abcde", "first", msg::TrialState::Done);
  yard_.LeaveUnread("first");
  yard_.Start();
  const auto result = yard_.Run({"show", "first", "--run"});
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_THAT(result.out, StartsWith("run        first\n"));
}

TEST_F(ShowRunTest, FilesAreShownWithWhatIsWrongWithThem) {
  AddThree();
  msg::FilesReplyT files;
  files.run = "first";
  for (const char* name : {"a.tfevents", "b.tfevents", "c.tfevents"}) {
    files.files.push_back(std::make_unique<msg::RunFileT>());
    files.files.back()->name = name;
  }
  files.files[1]->faults.push_back(std::make_unique<msg::FaultT>());
  files.files[1]->faults[0]->kind = msg::FaultKind::BadLength;
  files.files[1]->faults[0]->count = 1;
  files.files[1]->faults[0]->bytes = 77;
  yard_.AddFiles(std::move(files));
  yard_.SetPage(2);
  yard_.Start();
  const auto result = yard_.Run({"show", "fir", "--files"});
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_THAT(result.out, HasSubstr("a.tfevents"));
  EXPECT_THAT(result.out, HasSubstr("c.tfevents"));
  EXPECT_THAT(result.out, HasSubstr("fault      b.tfevents: 1 bad length, 77 bytes skipped\n"));
  const auto objects = Objects(yard_.Run({"show", "first", "--files", "--json"}).out);
  EXPECT_THAT(Values(objects, "file"), ElementsAre("a.tfevents", "b.tfevents", "c.tfevents"));
  EXPECT_EQ(objects[1]["faults"][0]["kind"], "bad_length");
  EXPECT_EQ(yard_.Run({"show", "nothing", "--files"}).code, kNotFound);
}

TEST_F(ShowRunTest, WhatIsLeftOutOfARunIsToldWithItsTags) {
  AddThree();
  yard_.EditRun("first", [](msg::RunT& run) { run.why_failed = "cannot open c.tfevents: no"; });
  msg::FilesReplyT files;
  files.run = "first";
  const auto add = [&](const std::string& name, msg::FaultKind kind, const std::string& text) {
    files.files.push_back(std::make_unique<msg::RunFileT>());
    files.files.back()->name = name;
    files.files.back()->faults.push_back(std::make_unique<msg::FaultT>());
    msg::FaultT& fault = *files.files.back()->faults.back();
    fault.kind = kind;
    fault.count = 1;
    fault.text = text;
  };
  add("a.tar", msg::FaultKind::BadLength, "no event file");
  add("grown", msg::FaultKind::Rewritten, "rewritten");
  for (int file = 1; file < 8; ++file) {
    add(absl::StrCat(file), msg::FaultKind::BadValue, "not what tag \"x\" holds");
  }
  yard_.AddFiles(std::move(files));
  yard_.SetPage(2);
  yard_.Start();
  const auto result = yard_.Run({"show", "first"});
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_THAT(result.out, HasSubstr("not whole  cannot open c.tfevents: no\n"
                                    "left out   a.tar: 1 bad length: no event file\n"
                                    "left out   1: 1 bad value: not what tag \"x\" holds\n"));
  EXPECT_THAT(result.out, HasSubstr("left out   4: "));
  EXPECT_THAT(result.out, Not(HasSubstr("left out   5: ")));
  EXPECT_THAT(result.out, HasSubstr("           and 3 more (--files)\n"));
}

TEST_F(ShowRunTest, ManyTagsAreCutInATableAndWholeInJson) {
  for (int tag = 0; tag < 10'020; ++tag) {
    yard_.AddSeries({.run = "wide", .tag = absl::StrCat("layer/", tag), .values = {1}});
  }
  yard_.Start();
  const auto result = yard_.Run({"show", "wide"});
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_THAT(result.out, HasSubstr("layer/9999 "));
  EXPECT_THAT(result.out, Not(HasSubstr("layer/10000 ")));
  EXPECT_THAT(result.out, HasSubstr("and 20 tags more (--json lists all)\n"));
  EXPECT_EQ(Objects(yard_.Run({"show", "wide", "--json"}).out).size(), 10'020U);
}

TEST_F(ShowRunTest, OneThatIsStillBeingReadIsMarked) {
  AddThree();
  yard_.LeaveIncomplete();
  yard_.Start();
  EXPECT_EQ(yard_.Run({"show", "second"}).err, "run second is still being read: there is more\n");
}

// ---- plot

using PlotRunsTest = RunVerbsTest;

TEST_F(PlotRunsTest, APatternGivesAChartForEachTagOfAnyRun) {
  AddThree();
  yard_.Start();
  const auto result = yard_.Run({"plot", "first", "third", "--tags", "eval/", "--json"});
  EXPECT_EQ(result.code, kDone) << result.err;
  const auto objects = Objects(result.out);
  EXPECT_THAT(Values(objects, "tag"), ElementsAre("eval/accuracy", "eval/recall"));
  EXPECT_THAT(Values(objects, "run"), ElementsAre("first", "third"));
  const auto none = yard_.Run({"plot", "first", "--tags", "recall", "--timeout", "0"});
  EXPECT_EQ(none.code, kNotFound);
  EXPECT_THAT(none.err, HasSubstr("recall"));
}

TEST_F(PlotRunsTest, ATagThatWasNamedMustBeThere) {
  AddThree();
  yard_.Start();
  EXPECT_EQ(yard_.Run({"plot", "third", "-m", "loss", "--timeout", "0"}).code, kNotFound);
}

TEST_F(PlotRunsTest, AQueryGivesTheNewestRuns) {
  std::vector<std::string> names;
  for (int i = 0; i < 12; ++i) {
    names.push_back(absl::StrCat("r", i));
    yard_.AddSeries({.run = names.back(), .tag = "loss", .values = {1, 2}});
  }
  yard_.AddQuery("label:base", names);
  yard_.AddQuery("label:no", {});
  yard_.Start();
  const auto result = yard_.Run({"plot", "--query", "label:base", "--json"});
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_EQ(Objects(result.out).size(), 10U);
  EXPECT_EQ(result.err, "the newest 10 of 12 runs\n");
  EXPECT_EQ(yard_.Run({"plot", "--query", "label:no"}).code, kNotFound);
  EXPECT_EQ(yard_.Run({"plot", "--query", "wrong<"}).code, kUsage);
  EXPECT_EQ(yard_.Run({"plot"}).code, kUsage);
}

TEST_F(PlotRunsTest, APolicyDecidesAboutStepsWrittenAgain) {
  yard_.AddSeries({.run = "again", .tag = "loss", .values = {5, 9, 4, 3}, .steps = {0, 1, 1, 2}});
  yard_.Start();
  EXPECT_THAT(yard_.Run({"plot", "again"}).out, HasSubstr("again  4 points"));
  EXPECT_THAT(yard_.Run({"plot", "again", "--overlap", "last"}).out,
              HasSubstr("again  3 of 4 points"));
  const auto wrong = yard_.Run({"plot", "again", "--overlap", "newest"});
  EXPECT_EQ(wrong.code, kUsage);
  EXPECT_THAT(wrong.err, HasSubstr("none of raw, last, tensorboard"));
}

TEST_F(PlotRunsTest, APlotDrawsTheFirstScalarWhereNothingIsCalledLoss) {
  yard_.AddSeries({.run = "trial", .tag = "a_picture", .values = {1}});
  yard_.AddSeries({.run = "trial", .tag = "reward", .values = {1, 2}});
  yard_.AddSeries({.run = "images", .tag = "a_picture", .values = {1}});
  yard_.EditTag("a_picture", [](msg::TagT& tag) {
    tag.plugin = "images";
    tag.data_class = msg::DataClass::BlobSequence;
  });
  yard_.Start();
  const auto result = yard_.Run({"plot", "trial", "--timeout", "0"});
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_THAT(result.out, HasSubstr("reward\n"));
  const auto images = yard_.Run({"plot", "images", "--timeout", "0"});
  EXPECT_EQ(images.code, kNotFound);
  EXPECT_EQ(images.err, "yard plot: run images has no scalars, but 1 tag of images\n");
}

TEST_F(PlotRunsTest, SystemMetricsAreDrawnWhenTheyAreAskedFor) {
  yard_.AddSeries({.run = "trial", .tag = "a/first", .values = {1, 2}});
  yard_.AddSeries(
      {.run = "trial", .tag = "sys/cpu_percent", .values = {1, 2, 3}, .steps = {0, 1, 1}});
  yard_.AddSeries({.run = "silent", .tag = "sys/loss", .values = {1}});
  yard_.Start();
  EXPECT_THAT(yard_.Run({"plot", "trial", "--timeout", "0"}).out, HasSubstr("a/first\n"));
  const auto silent = yard_.Run({"plot", "silent", "--timeout", "0"});
  EXPECT_EQ(silent.err, "yard plot: run silent has system metrics alone: --tags sys/ draws them\n");
  const auto asked = yard_.Run({"plot", "trial", "--tags", "sys/", "--timeout", "0"});
  EXPECT_EQ(asked.code, kDone);
  EXPECT_THAT(asked.out, HasSubstr("sys/cpu_percent\n"));
  EXPECT_THAT(asked.out, HasSubstr("3 points"));
  EXPECT_EQ(asked.err, "");
}

TEST_F(PlotRunsTest, ARunWithoutTheTagIsNamedAndTheOthersAreDrawn) {
  AddThree();
  yard_.AddQuery("label:all", {"first", "second", "third"});
  yard_.Start();
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"plot", "first", "second", "third", "-m", "loss", "--timeout",
                                 "0"},
        std::vector<std::string>{"plot", "--query", "label:all", "-m", "loss"}}) {
    const auto result = yard_.Run(words);
    EXPECT_EQ(result.code, kDone) << result.err;
    EXPECT_EQ(result.err, "without loss: third\n");
    EXPECT_THAT(result.out, HasSubstr("a  first  3 points\n  b  second  3 points\n"));
  }
}

TEST_F(PlotRunsTest, APlotSaysWhatIsOddAboutItsPoints) {
  yard_.AddSeries({.run = "nan", .tag = "loss", .values = {1, std::nan(""), 2}});
  yard_.EditTag("loss", [](msg::TagT& tag) { tag.not_finite = tag.points == 3 ? 1 : 0; });
  yard_.AddSeries({.run = "once", .tag = "x", .values = {1, 2}, .steps = {5, 5}});
  yard_.AddSeries({.run = "again", .tag = "x", .values = {1, 2, 3}, .steps = {1, 2, 2}});
  yard_.Start();
  EXPECT_THAT(yard_.Run({"plot", "nan"}).out,
              HasSubstr("nan  3 points, 1 of 3 is NaN or infinite (\u00d7)\n"));
  EXPECT_EQ(yard_.Run({"plot", "once"}).err, "all 2 points of once are at step 5\n");
  EXPECT_EQ(yard_.Run({"plot", "again"}).err,
            "1 point of again is at a step that is there twice: --overlap last draws the newest\n");
  EXPECT_EQ(yard_.Run({"plot", "again", "--overlap", "last"}).err, "");
}

// ---- compare

using CompareTest = RunVerbsTest;

TEST_F(CompareTest, SystemMetricsAreComparedWhenTheyAreAskedFor) {
  AddThree();
  yard_.AddSeries({.run = "first", .tag = "sys/cpu_percent", .values = {50}});
  yard_.AddSeries({.run = "second", .tag = "sys/cpu_percent", .values = {60}});
  yard_.Start();
  EXPECT_THAT(yard_.Run({"compare", "first", "second"}).out, Not(HasSubstr("sys/")));
  EXPECT_THAT(yard_.Run({"compare", "first", "second", "--tags", "cpu"}).out,
              HasSubstr("sys/cpu_percent"));
}

TEST_F(CompareTest, ShowsOnlyWhatDiffers) {
  AddThree();
  AddConfig("first", {{"lr", "0.1"}, {"layers", "3"}});
  AddConfig("second", {{"lr", "0.01"}, {"layers", "3.0"}});
  yard_.Start();
  const auto result = yard_.Run({"compare", "first", "sec", "--tags", "loss"});
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_EQ(result.out,
            "           first  second\n"
            "config.lr    0.1    0.01\n"
            "loss           1     0.5\n"
            "min:loss       1     0.5\n");
  EXPECT_EQ(result.err, "1 parameter and 1 number of metrics are the same (--all)\n");
  const auto all = yard_.Run({"compare", "first", "second", "--all", "--json"});
  const auto objects = Objects(all.out);
  EXPECT_THAT(Values(objects, "name"),
              ElementsAre("config.layers", "config.lr", "eval/accuracy", "min:eval/accuracy",
                          "max:eval/accuracy", "loss", "min:loss", "max:loss"));
  EXPECT_EQ(objects[0]["differs"], false);
  EXPECT_EQ(objects[1]["values"]["second"], 0.01);
  EXPECT_EQ(objects[2]["values"]["second"], nullptr) << "it has none";
}

TEST_F(CompareTest, ARunOfWhichSomethingCannotBeReadIsToldToBeSo) {
  AddThree();
  yard_.EditRun("second", [](msg::RunT& run) { run.why_failed = "cannot open b.tfevents: no"; });
  yard_.Start();
  const auto result = yard_.Run({"compare", "first", "second"});
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_THAT(result.err, HasSubstr("run second is not whole: cannot open b.tfevents: no\n"));
  EXPECT_THAT(result.err, Not(HasSubstr("run first")));
}

TEST_F(CompareTest, AQueryNamesTheRunsAndOneRunIsNotEnough) {
  AddThree();
  yard_.AddQuery("loss<9", {"first", "second"});
  yard_.Start();
  const auto objects = Objects(yard_.Run({"compare", "--query", "loss<9", "--json"}).out);
  ASSERT_FALSE(objects.empty());
  EXPECT_EQ(objects[0]["values"].size(), 2U);
  EXPECT_EQ(yard_.Run({"compare", "first"}).code, kUsage);
  EXPECT_EQ(yard_.Run({"compare", "first", "fir"}).code, kUsage) << "the same one twice";
  EXPECT_EQ(yard_.Run({"compare", "first", "nothing"}).code, kNotFound);
}

// ---- export

using ExportTest = RunVerbsTest;

TEST_F(ExportTest, WritesEveryPointAsCsv) {
  yard_.AddSeries({.run = "a,b",
                   .tag = "loss",
                   .values = {0.1, std::nan(""), -std::numeric_limits<double>::infinity()}});
  yard_.CutPoints(2);
  yard_.Start();
  const auto result = yard_.Run({"export", "a,b"});
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_EQ(result.out,
            "run,tag,step,wall_time,value\r\n"
            "\"a,b\",loss,0,1000,0.1\r\n"
            "\"a,b\",loss,1,1000.5,nan\r\n"
            "\"a,b\",loss,2,1001,-inf\r\n");
  EXPECT_EQ(result.err, "3 points\n");
}

TEST_F(ExportTest, WritesLinesOfJson) {
  AddThree();
  yard_.Start();
  const auto result = yard_.Run({"export", "first", "second", "-m", "loss", "--format", "jsonl"});
  EXPECT_EQ(result.code, kDone) << result.err;
  const auto objects = Objects(result.out);
  ASSERT_EQ(objects.size(), 6U);
  EXPECT_EQ(
      objects[5],
      json({{"run", "second"}, {"tag", "loss"}, {"step", 2}, {"wall_time", 1001}, {"value", 0.5}}));
  EXPECT_EQ(yard_.Run({"export", "first", "second", "-m", "loss", "--json"}).out, result.out);
}

TEST_F(ExportTest, PatternStepsQueryAndPolicyChoose) {
  AddThree();
  yard_.AddSeries({.run = "again", .tag = "loss", .values = {5, 9, 4, 3}, .steps = {0, 1, 1, 2}});
  yard_.AddQuery("label:base", {"first", "again"});
  yard_.Start();
  const auto lines = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "export");
    words.emplace_back("--json");
    const auto result = yard_.Run(words);
    EXPECT_EQ(result.code, kDone) << result.err;
    std::vector<std::string> points;
    for (const json& object : Objects(result.out)) {
      points.push_back(absl::StrCat(object["run"].get<std::string>(), " ",
                                    object["step"].get<int>(), " ", object["value"].get<double>()));
    }
    return points;
  };
  EXPECT_THAT(lines({"first", "third", "--tags", "eval"}),
              ElementsAre("first 0 0.5", "third 0 0.25"));
  EXPECT_THAT(lines({"--query", "label:base", "-m", "loss", "--steps", "1:1", "--overlap", "last"}),
              ElementsAre("first 1 2", "again 1 4"));
  EXPECT_THAT(lines({"again", "--steps", "1:"}),
              ElementsAre("again 1 9", "again 1 4", "again 2 3"));
  EXPECT_THAT(lines({"again", "--steps", ":0"}), ElementsAre("again 0 5"));
}

TEST_F(ExportTest, ATrialIsItsRunAndARunThatIsNamedTwiceComesOnce) {
  AddThree();
  yard_.AddTrial("t-abcde", "second", msg::TrialState::Done);
  yard_.Start();
  EXPECT_EQ(Objects(yard_.Run({"export", "t-abcde", "second", "--json"}).out).size(), 3U);
}

TEST_F(ExportTest, WhatCannotBeUnderstoodIsRefusedBeforeAnythingIsWritten) {
  AddThree();
  yard_.Start();
  const std::vector<std::vector<std::string>> kWrong = {
      {"export"},
      {"export", "first", "--format", "xml"},
      {"export", "first", "--steps", "5"},
      {"export", "first", "--steps", "a:b"},
      {"export", "first", "--steps", "1:2:3"},
      {"export", "first", "--overlap", "newest"},
  };
  for (const auto& words : kWrong) {
    const auto result = yard_.Run(words);
    EXPECT_EQ(result.code, kUsage) << words.back();
    EXPECT_EQ(result.out, "") << words.back();
  }
  EXPECT_EQ(yard_.Run({"export", "nothing"}).code, kNotFound);
}

TEST_F(ExportTest, OneThatBreaksSaysHowFarItCame) {
  AddThree();
  yard_.CutPoints(1, /*goes_after=*/2);
  yard_.Start();
  const auto result = yard_.Run({"export", "first", "-m", "loss", "--json"});
  EXPECT_EQ(result.code, kUnreachable);
  EXPECT_EQ(Objects(result.out).size(), 2U) << "nothing comes twice";
  EXPECT_EQ(result.err, "yard export: ends after 2 points: the data manager is gone\n");
}

TEST_F(ExportTest, OfARunThatGrowsItIsSaidThatThereIsMore) {
  AddThree();
  yard_.LeaveIncomplete();
  yard_.Start();
  const auto result = yard_.Run({"export", "first", "second", "--json"});
  EXPECT_EQ(result.code, kFailed);
  EXPECT_EQ(Objects(result.out).size(), 7U);
  EXPECT_EQ(result.err,
            "run first is still being read: there is more\n"
            "run second is still being read: there is more\n7 points\n");
}

TEST_F(ExportTest, WhatCannotBeHadIsToldBehindWhatCould) {
  AddThree();
  yard_.EditRun("second", [](msg::RunT& run) {
    run.cache = msg::CacheState::Cached;
    run.why_failed = "cannot open /runs/second/b.tfevents: Permission denied";
  });
  yard_.Start();
  for (const auto& words : {std::vector<std::string>{"export", "second", "--json"},
                            {"export", "first", "second", "--json"}}) {
    const auto result = yard_.Run(words);
    EXPECT_EQ(result.code, kFailed);
    EXPECT_GT(Objects(result.out).size(), 2U);
    EXPECT_THAT(result.err, StartsWith("run second is not whole: cannot open "
                                       "/runs/second/b.tfevents: Permission denied\n"));
    EXPECT_THAT(result.err, HasSubstr(" points\n"));
  }
  EXPECT_EQ(yard_.Run({"export", "first"}).code, kDone) << "another run is whole";
}

TEST_F(ExportTest, AFullDiskIsAFailure) {
  class Full : public std::streambuf {};
  Full full;
  std::ostream out(&full);
  AddThree();
  yard_.SetOut(&out);
  yard_.Start();
  const auto result = yard_.Run({"export", "first"});
  EXPECT_EQ(result.code, kFailed);
  EXPECT_EQ(result.err, "yard export: cannot write the points; is the disk full?\n");
}

TEST_F(ExportTest, NamesCannotDriveATerminalButAFileHasTheirBytes) {
  yard_.AddSeries({.run = "r", .tag = "a\x1b[2Jb", .values = {1}});
  yard_.Start();
  EXPECT_THAT(yard_.Run({"export", "r"}).out, HasSubstr("a\x1b[2Jb"));
  yard_.context().out_is_terminal = true;
  EXPECT_THAT(yard_.Run({"export", "r"}).out, HasSubstr("a\\x1B[2Jb"));
}

// ---- rm

using RemoveRunTest = RunVerbsTest;

TEST_F(RemoveRunTest, ARunThatIsNoTrialsGoesToTheTrash) {
  AddThree();
  yard_.AddSeries({.run = "group/deep", .tag = "loss", .values = {1}});
  yard_.Start();
  const auto result = yard_.Run({"rm", "first", "group/deep", "--nested", "--force"});
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_THAT(result.out, HasSubstr("first removed; its files are in " + yard_.logdir() +
                                    "/.trash/first-01234567\n"));
  EXPECT_THAT(yard_.asked(), ElementsAre("remove run first 7 nested force",
                                         "remove run group/deep 7 nested force"));
  const auto objects = Objects(yard_.Run({"rm", "second", "--json"}).out);
  ASSERT_EQ(objects.size(), 1U);
  EXPECT_EQ(objects[0]["run"], "second");
  EXPECT_EQ(yard_.asked().back(), "remove run second 7");
}

TEST_F(RemoveRunTest, ATrialIsTheTrainers) {
  AddThree();
  yard_.AddTrial("t-abcde", "first", msg::TrialState::Done);
  yard_.Start();
  EXPECT_EQ(yard_.Run({"rm", "first"}).code, kDone);
  EXPECT_THAT(yard_.asked(), ElementsAre("remove t-abcde"));
}

TEST_F(RemoveRunTest, OnlyByItsWholeName) {
  AddThree();
  yard_.Start();
  const auto result = yard_.Run({"rm", "fir"});
  EXPECT_EQ(result.code, kNotFound);
  EXPECT_THAT(result.err, HasSubstr("did you mean first?"));
  EXPECT_EQ(yard_.Run({"rm", "nothing"}).code, kNotFound);
  EXPECT_THAT(yard_.asked(), ElementsAre());
}

TEST_F(RemoveRunTest, OneThatStaysDoesNotKeepTheOthers) {
  AddThree();
  yard_.AddSeries({.run = "busy", .tag = "loss", .values = {1}});
  yard_.Start();
  const auto result = yard_.Run({"rm", "busy", "first"});
  EXPECT_EQ(result.code, kRefused);
  EXPECT_THAT(result.err, HasSubstr("run busy stays"));
  EXPECT_THAT(result.out, HasSubstr("first removed"));
}

}  // namespace
}  // namespace yard

// Tests every verb as users call it, against services in this process.

#include "tools/yard/verbs/verbs.h"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "re2/re2.h"
#include "runtime/fake_clock.h"
#include "tools/yard/cli/verb.h"
#include "tools/yard/state/wanted.h"
#include "tools/yard/testing/fake_yard.h"

namespace yard {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
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

class VerbsTest : public ::testing::Test {
 protected:
  FakeYard yard_;
};

// ---- status

using StatusTest = VerbsTest;

TEST_F(StatusTest, GivesOneObjectAService) {
  yard_.Start();
  const auto result = yard_.Run({"status", "--json"});
  ASSERT_EQ(result.code, kDone) << result.err;
  const auto services = Objects(result.out);
  ASSERT_EQ(services.size(), 5U);
  for (const json& service : services) {
    EXPECT_EQ(service.value("state", ""), "up") << service;
    EXPECT_GT(service.value("pid", 0), 0) << service;
  }
  EXPECT_EQ(services[0].value("service", ""), "registry");
  EXPECT_EQ(services[3].value("restarts", 0), 3) << "the trainer's, from the launcher";
}

TEST_F(StatusTest, ShowsWhatShouldBeThereButIsNot) {
  yard_.LeaveOut("trainer");
  yard_.Start();
  const auto result = yard_.Run({"status"});
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_THAT(result.out, HasSubstr("trainer      down"));
}

TEST_F(StatusTest, StillAnswersWithoutTheRegistry) {
  yard_.LeaveOut("registry");
  yard_.Start();
  const auto result = yard_.Run({"status", "--json"});
  EXPECT_EQ(result.code, kUnreachable);
  EXPECT_EQ(Objects(result.out)[0].value("state", ""), "down");
  EXPECT_NE(result.err, "");
}

TEST_F(StatusTest, AYardThatIsNotUpSaysWhatToDo) {
  const auto result = yard_.Run({"status"});  // Nothing was started.
  EXPECT_EQ(result.code, kUnreachable);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("yard up"));
}

TEST_F(StatusTest, CheckSaysNothingOfAYardThatIsUp) {
  yard_.Start();
  const auto result = yard_.Run({"status", "--check"});
  EXPECT_EQ(result.code, kDone);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, "");
}

TEST_F(StatusTest, CheckNamesEachServiceThatIsNotUpOrDoesNotAnswer) {
  yard_.LeaveOut("trainer");
  yard_.Unregister("launcher");
  yard_.Break("datamanager", absl::InternalError("no\x1b[2J disk"));
  yard_.Start();
  const auto result = yard_.Run({"status", "--check"});
  EXPECT_EQ(result.code, kFailed);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err,
            "yard status: launcher is starting\n"
            "yard status: datamanager does not answer: no\\x1B[2J disk\n"
            "yard status: trainer is down\n");
}

TEST_F(StatusTest, CheckWithoutTheRegistryIsUnreachable) {
  yard_.LeaveOut("registry");
  yard_.Start();
  const auto result = yard_.Run({"status", "--check"});
  EXPECT_EQ(result.code, kUnreachable);
  EXPECT_THAT(result.err, StartsWith("yard status: registry is down\n"));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 5) << result.err;
}

// ---- doctor

class DoctorTest : public VerbsTest {
 protected:
  // Returns the findings of this check, of which there must be at least one.
  static std::vector<json> On(const std::string& check, const FakeYard::Output& result) {
    std::vector<json> found;
    for (const json& finding : Objects(result.out)) {
      if (finding.value("check", "") == check) found.push_back(finding);
    }
    EXPECT_FALSE(found.empty()) << check << " in " << result.out;
    return found;
  }
  static json First(const std::string& check, const FakeYard::Output& result) {
    const auto found = On(check, result);
    return found.empty() ? json::object() : found[0];
  }
};

// Returns the checks that docs/health.md lists, without words in parentheses.
std::set<std::string> DocumentedChecks() {
  std::ifstream page("docs/health.md");
  std::set<std::string> checks;
  std::string line;
  while (std::getline(page, line) && line != "| check | warn | bad |") continue;
  while (std::getline(page, line) && line.starts_with('|')) {
    std::string cell = line.substr(1, line.find(" | ") - 1);
    RE2::GlobalReplace(&cell, R"(\(.*?\))", "");
    re2::StringPiece rest(cell);
    for (std::string check; RE2::FindAndConsume(&rest, "`([^`]+)`", &check);) checks.insert(check);
    if (cell.find("each service") == std::string::npos) continue;
    checks.insert({"registry", "launcher", "datamanager", "trainer", "web"});
  }
  return checks;
}

TEST_F(DoctorTest, FindsNothingBadInAYardThatIsUp) {
  msg::KillModesReplyT modes;
  modes.modes.push_back(std::make_unique<msg::KillModeOfferT>());
  modes.chosen = modes.modes.back()->name = "subreaper";
  modes.modes.back()->offered = true;
  yard_.SetKillModes(std::move(modes));
  ASSERT_TRUE(WriteWanted(yard_.locations(), {.logdir = "/", .trainer = ""}).ok());
  yard_.Start();
  const auto result = yard_.Run({"doctor", "--json"});
  EXPECT_EQ(result.code, kDone) << result.out;
  EXPECT_EQ(result.err, "");
  for (const json& finding : Objects(result.out)) {
    EXPECT_EQ(finding.size(), 4U) << finding;
    EXPECT_NE(finding.value("level", ""), "bad") << finding;
    EXPECT_NE(finding.value("found", ""), "") << finding;
    EXPECT_EQ(finding.value("level", "") == "ok", finding.value("fix", "") == "") << finding;
  }
  std::set<std::string> checks;
  for (const json& finding : Objects(result.out)) checks.insert(finding.value("check", ""));
  // Checks that only report faults, or whose subject a machine may lack.
  checks.insert(
      {"ready files", "task sockets", "stray shim", "unreachable shim", "swap", "inodes", "proxy"});
  EXPECT_EQ(checks, DocumentedChecks());
  for (const char* service : {"registry", "launcher", "datamanager", "trainer", "web"}) {
    EXPECT_EQ(First(service, result).value("level", ""), "ok");
  }
}

TEST_F(DoctorTest, ShowsHowTasksAreKilled) {
  msg::KillModesReplyT modes;
  for (const char* name : {"freezer", "subreaper"}) {
    modes.modes.push_back(std::make_unique<msg::KillModeOfferT>());
    modes.modes.back()->name = name;
    modes.modes.back()->offered = modes.modes.size() == 2;
    modes.modes.back()->detail = "because\x1b[2J";
  }
  modes.chosen = "subreaper";
  yard_.SetKillModes(std::move(modes));
  yard_.Start();
  const auto result = yard_.Run({"doctor"});
  EXPECT_THAT(result.out, HasSubstr("kill mode          freezer is not offered: because\\x1B"));
  EXPECT_THAT(result.out, HasSubstr("kill mode          subreaper (what tasks get): because"));
  const auto found = On("kill mode", yard_.Run({"doctor", "--json"}));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].value("level", ""), "ok");
}

TEST_F(DoctorTest, NeedsNoYardAndMakesNothing) {
  std::filesystem::remove_all(yard_.locations().state_directory);
  const auto result = yard_.Run({"doctor"});
  EXPECT_EQ(result.code, kDone) << result.out;
  EXPECT_THAT(result.out, HasSubstr("not up\n"));
  EXPECT_THAT(result.out, HasSubstr("fix: yard up\n"));
  EXPECT_FALSE(std::filesystem::exists(yard_.locations().state_directory));
}

TEST_F(DoctorTest, AnOpenStateDirectoryIsBad) {
  ASSERT_EQ(chmod(yard_.locations().state_directory.c_str(), 0777), 0);
  const auto result = yard_.Run({"doctor", "--json"});
  EXPECT_EQ(result.code, kFailed);
  EXPECT_EQ(First("state directory", result).value("fix", ""),
            "chmod 700 " + yard_.locations().state_directory);
}

TEST_F(DoctorTest, TellsWhichServiceIsNotRegisteredOrDoesNotAnswerOrHasDropped) {
  msg::StatsReplyT stats;
  stats.version = "9.9";
  stats.counters.push_back(std::make_unique<msg::CounterT>());
  stats.counters.back()->name = "bus.replies_dropped";
  stats.counters.back()->value = 3;
  yard_.SetStats("registry", std::move(stats));
  yard_.Unregister("launcher");
  yard_.Break("datamanager", absl::InternalError("no disk"));
  yard_.Start();
  const auto result = yard_.Run({"doctor", "--json"});
  EXPECT_EQ(result.code, kFailed);
  EXPECT_THAT(First("launcher", result).value("found", ""), HasSubstr("not registered"));
  EXPECT_THAT(First("datamanager", result).value("found", ""), HasSubstr("no disk"));
  ASSERT_EQ(On("registry", result).size(), 2U);
  EXPECT_THAT(On("registry", result)[0].value("found", ""), HasSubstr("version 9.9"));
  EXPECT_THAT(On("registry", result)[1].value("found", ""), HasSubstr("replies_dropped is 3"));
  EXPECT_EQ(First("trainer", result).value("level", ""), "ok");
}

TEST_F(DoctorTest, WhatADeadYardLeavesIsFound) {
  ASSERT_TRUE(WriteWanted(yard_.locations(), {.logdir = "/a\x1b[2Jb", .trainer = ""}).ok());
  std::ofstream(yard_.locations().runtime_directory + "/trainer.ready") << "1\n";
  const auto result = yard_.Run({"doctor"});
  EXPECT_EQ(result.code, kFailed);
  EXPECT_THAT(result.out, HasSubstr("no launcher keeps it running"));
  EXPECT_THAT(result.out, HasSubstr("/trainer.ready"));
  EXPECT_THAT(result.out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(result.err, HasSubstr("bad"));
}

// ---- up and down, as far as they start and stop nothing

TEST_F(VerbsTest, UpRefusesAnotherRunDirectoryNamingBoth) {
  ASSERT_TRUE(WriteWanted(yard_.locations(), {.logdir = "/old/runs", .trainer = ""}).ok());
  yard_.Start();
  const auto result = yard_.Run({"up", "--logdir", "/new/runs"});
  EXPECT_EQ(result.code, kRefused);
  EXPECT_THAT(result.err, HasSubstr("/old/runs"));
  EXPECT_THAT(result.err, HasSubstr("/new/runs"));
  EXPECT_EQ(ReadWanted(yard_.locations()).value()->logdir, "/old/runs");
}

TEST_F(VerbsTest, UpKeepsTheResourcesOfARunningYard) {
  ASSERT_TRUE(WriteWanted(yard_.locations(), {.logdir = "/runs", .resources = {"slots=4"}}).ok());
  yard_.Start();
  const auto result = yard_.Run({"up", "--resources", "slots=4", "--resources", "gpu=0,1"});
  EXPECT_EQ(result.code, kRefused);
  EXPECT_THAT(result.err, HasSubstr("up with --resources slots=4, not with --resources slots=4 "
                                    "--resources gpu=0,1; `yard down"));
  EXPECT_THAT(ReadWanted(yard_.locations()).value()->resources, ElementsAre("slots=4"));
}

TEST_F(VerbsTest, UpKeepsTheSlotsOfARunningYard) {
  ASSERT_TRUE(WriteWanted(yard_.locations(), {.logdir = "/runs", .slots = 4}).ok());
  yard_.Start();
  const auto result = yard_.Run({"up", "--slots", "5"});
  EXPECT_EQ(result.code, kRefused);
  EXPECT_THAT(result.err, HasSubstr("up with 4 slots, not with 5; `yard down"));
  EXPECT_EQ(ReadWanted(yard_.locations()).value()->slots, 4);
  for (const char* none : {"0", "-1", "many", "1.5"}) {
    EXPECT_EQ(yard_.Run({"up", "--slots", none}).code, kUsage) << none;
  }
}

TEST_F(VerbsTest, UpChecksHowManyTrialsAreKept) {
  for (const char* wrong : {"0", "-1", "many", "1.5", "9999999999"}) {
    const auto result = yard_.Run({"up", "--keep_trials", wrong});
    EXPECT_EQ(result.code, kUsage) << wrong;
    EXPECT_THAT(result.err, HasSubstr("is no number from 1 on")) << wrong;
    EXPECT_FALSE(ReadWanted(yard_.locations()).value().has_value()) << wrong;
  }
}

TEST_F(VerbsTest, UpKeepsTheDataManagersFlagsOfARunningYard) {
  ASSERT_TRUE(
      WriteWanted(yard_.locations(), {.logdir = "/runs", .datamanager = {"cache_mb=4"}}).ok());
  yard_.Start();
  const auto result = yard_.Run({"up", "--datamanager", "cache_mb=5"});
  EXPECT_EQ(result.code, kRefused);
  EXPECT_THAT(result.err, HasSubstr("up with --datamanager cache_mb=4, not with --datamanager "
                                    "cache_mb=5; `yard down"));
  EXPECT_THAT(ReadWanted(yard_.locations()).value()->datamanager, ElementsAre("cache_mb=4"));
}

TEST_F(VerbsTest, UpChecksTheDataManagersFlagsBeforeItStartsAnything) {
  for (const char* wrong : {"", "cache_mb", "=5", "--cache_mb=5", "cache mb=5", "logdir=/x",
                            "listen=ipc://x", "supervisor=external"}) {
    const auto result = yard_.Run({"up", std::string("--datamanager=") + wrong});
    EXPECT_EQ(result.code, kUsage) << wrong;
    EXPECT_FALSE(ReadWanted(yard_.locations()).value().has_value()) << wrong;
  }
}

TEST_F(VerbsTest, UpChecksResourcesBeforeItStartsAnything) {
  const auto result = yard_.Run({"up", "--resources", "gpu=0-3"});
  EXPECT_EQ(result.code, kUsage);
  EXPECT_THAT(result.err, HasSubstr("\"gpu=0-3\": members are named one by one: 0,1,2"));
  EXPECT_FALSE(ReadWanted(yard_.locations()).value().has_value());
}

TEST_F(VerbsTest, DownOfAYardThatIsNotUpIsDone) {
  const auto result = yard_.Run({"down"});
  EXPECT_EQ(result.code, kDone);
  EXPECT_THAT(result.out, HasSubstr("not up"));
}

// ---- Lookup

using LookupTest = VerbsTest;

TEST_F(LookupTest, AnIdAPrefixAndANameAllDo) {
  yard_.AddTrial("t-abcde", "first", msg::TrialState::Done);
  yard_.AddTrial("t-xyzzy", "second", msg::TrialState::Done);
  yard_.AddJob("j-qqqqq", "sleeper", msg::TaskState::Exited);
  yard_.Start();
  for (const char* name : {"t-abcde", "t-a", "first"}) {
    EXPECT_EQ(Objects(yard_.Run({"show", name, "--json"}).out).at(0).value("id", ""), "t-abcde");
  }
  for (const char* name : {"j-qqqqq", "j-q", "sleeper", "j-qqqqq/worker-0"}) {
    EXPECT_EQ(Objects(yard_.Run({"show", name, "--json"}).out).at(0).value("id", ""), "j-qqqqq");
  }
}

TEST_F(LookupTest, ShowHasTheDetailsOfATrial) {
  yard_.AddTrial("t-abcde", "first", msg::TrialState::Done);
  msg::TrialDetailsReplyT details;
  details.options = std::make_unique<msg::TrialOptionsT>();
  details.options->stop = R"({"loss":3})";
  details.statistics.push_back(std::make_unique<msg::MetricStatisticsT>());
  details.statistics[0]->name = "loss";
  details.statistics[0]->count = 12;
  for (int i = 0; i < 12; ++i) {
    details.log.push_back(std::make_unique<msg::TrialLogLineT>());
    details.log[i]->text = "warmed up " + std::to_string(i);
  }
  yard_.SetDetails("t-abcde", details);
  yard_.Start();
  const auto result = yard_.Run({"show", "first"});
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_THAT(result.out, HasSubstr("stops at   loss >= 3\n"));
  EXPECT_THAT(result.out, HasSubstr("loss       12"));
  EXPECT_THAT(result.out, HasSubstr("warmed up 2\n"));
  EXPECT_THAT(result.out, Not(HasSubstr("warmed up 1\n")));
  const auto object = Objects(yard_.Run({"show", "first", "--json"}).out).at(0);
  EXPECT_EQ(object["name"], "first");
  EXPECT_EQ(object["statistics"]["loss"]["count"], 12);
  EXPECT_EQ(object["log"].size(), 12u);
}

TEST_F(LookupTest, ShowHasTheEnvironmentOfATrialAlone) {
  yard_.AddTrial("t-abcde", "first", msg::TrialState::Done);
  msg::TrialDetailsReplyT details;
  details.environment = {"A=1=2", "B=\x1b[2J", "C="};
  yard_.SetDetails("t-abcde", details);
  yard_.Start();
  EXPECT_EQ(yard_.Run({"show", "first", "--environment"}).out, "A=1=2\nB=\\x1B[2J\nC=\n");
  const auto object = Objects(yard_.Run({"show", "first", "--environment", "--json"}).out).at(0);
  EXPECT_EQ(object["id"], "t-abcde");
  EXPECT_EQ(object["environment"], (nlohmann::json{{"A", "1=2"}, {"B", "\x1b[2J"}, {"C", ""}}));
}

TEST_F(LookupTest, TwoMatchesAreNotFoundNamingBoth) {
  yard_.AddTrial("t-abcde", "first", msg::TrialState::Done);
  yard_.AddTrial("t-abxyz", "second", msg::TrialState::Done);
  yard_.Start();
  for (const char* verb : {"show", "logs", "stop", "wait", "watch"}) {
    const auto result = yard_.Run({verb, "t-ab"});
    EXPECT_EQ(result.code, kNotFound) << verb;
    EXPECT_THAT(result.err, HasSubstr("t-abcde")) << verb;
    EXPECT_THAT(result.err, HasSubstr("t-abxyz")) << verb;
    EXPECT_EQ(result.out, "") << verb;
  }
}

TEST_F(LookupTest, WhatIsNotThereIsNotFound) {
  yard_.Start();
  for (const char* verb : {"show", "logs", "stop", "wait", "watch"}) {
    const auto result = yard_.Run({verb, "nosuch"});
    EXPECT_EQ(result.code, kNotFound) << verb;
    EXPECT_THAT(result.err, HasSubstr("nosuch")) << verb;
  }
}

TEST_F(LookupTest, ANameCannotDriveTheTerminal) {
  yard_.AddTrial("t-abcde", "a\x1b]0;x\x07", msg::TrialState::Done);
  yard_.AddReport("t-abcde", R"({"\u001b[31m":1})");
  yard_.FailTrial("t-abcde", "why\x1b[2J", {"line\x1b[2J"});
  yard_.Start();
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"ps"},
                                             {"show", "t-abcde"},
                                             {"wait", "t-abcde"},
                                             {"stop", "t-abcde"},
                                             {"watch", "t-abcde"},
                                             {"run", "--", "x"}}) {
    const auto result = yard_.Run(words);
    EXPECT_EQ(result.out.find('\x1b'), std::string::npos) << words[0] << result.out;
    EXPECT_EQ(result.err.find('\x1b'), std::string::npos) << words[0] << result.err;
  }
}

// ---- ps, wait, stop

TEST_F(VerbsTest, PsShowsTrialsAndJobs) {
  yard_.AddTrial("t-abcde", "first", msg::TrialState::Running);
  yard_.AddReport("t-abcde", R"({"loss":0.5})");
  yard_.AddJob("j-qqqqq", "sleeper", msg::TaskState::Running);
  yard_.Start();
  const auto result = yard_.Run({"ps"});
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_THAT(result.out, HasSubstr("t-abcde  first    running        1"));
  EXPECT_THAT(result.out, HasSubstr("loss 0.5"));
  EXPECT_THAT(result.out, HasSubstr("j-qqqqq  sleeper  running"));
  EXPECT_EQ(Objects(yard_.Run({"ps", "--json"}).out).size(), 2U);
}

TEST_F(VerbsTest, PsPassesOnWhatTheTrainerSays) {
  yard_.Break("trainer", absl::InternalError("the disk is full"));
  yard_.Start();
  const auto result = yard_.Run({"ps"});
  EXPECT_EQ(result.code, kFailed);
  EXPECT_THAT(result.err, HasSubstr("the disk is full"));
}

TEST_F(VerbsTest, WaitTellsSuccessFromFailure) {
  yard_.AddTrial("t-good1", "good", msg::TrialState::Running);
  yard_.AddTrial("t-bad11", "bad", msg::TrialState::Running);
  yard_.FailTrial("t-bad11", "exit code 3", {});
  yard_.AddJob("j-job11", "job", msg::TaskState::Running);
  yard_.Start();
  EXPECT_EQ(yard_.Run({"wait", "good"}).code, kDone);
  EXPECT_EQ(yard_.Run({"wait", "job"}).code, kDone);
  const auto bad = yard_.Run({"wait", "good", "bad"});
  EXPECT_EQ(bad.code, kFailed);
  EXPECT_THAT(bad.out, HasSubstr("exit code 3"));
}

TEST_F(VerbsTest, StopAsksOnceAndWaits) {
  yard_.AddTrial("t-abcde", "first", msg::TrialState::Running);
  yard_.AddJob("j-qqqqq", "sleeper", msg::TaskState::Running);
  yard_.Start();
  const auto result = yard_.Run({"stop", "first", "sleeper"});
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_THAT(yard_.stopped(), ElementsAre("t-abcde", "j-qqqqq"));
  EXPECT_THAT(result.out, HasSubstr("t-abcde stopped"));
  EXPECT_EQ(yard_.Run({"stop", "first"}).code, kDone);
  EXPECT_EQ(yard_.stopped().size(), 2U) << "it has ended already";
}

TEST_F(VerbsTest, OfSeveralWithOneNameTheOneThatLivesIsMeant) {
  yard_.AddTrial("t-abcde", "x", msg::TrialState::Done);
  yard_.AddJob("j-qqqqq", "x", msg::TaskState::Running);
  yard_.Start();
  const auto result = yard_.Run({"stop", "x"});
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_THAT(yard_.stopped(), ElementsAre("j-qqqqq"));
  // All have ended, so the name means the trial, except for requests that only a job accepts.
  EXPECT_THAT(yard_.Run({"stop", "x"}).out, HasSubstr("t-abcde done"));
  EXPECT_THAT(yard_.Run({"restart", "x"}).err, Not(HasSubstr("is a trial")));
}

TEST_F(VerbsTest, TrialsArePausedResumedToldAndRemoved) {
  yard_.AddTrial("t-abcde", "first", msg::TrialState::Running);
  yard_.Start();
  const auto paused = yard_.Run({"pause", "first"});
  EXPECT_EQ(paused.code, kDone) << paused.err;
  EXPECT_EQ(paused.out, "t-abcde paused\n");
  EXPECT_EQ(yard_.Run({"resume", "first"}).out, "t-abcde pending\n");
  EXPECT_EQ(yard_.Run({"tell", "first", "{\"lr\":1}"}).out, "t-abcde event 7\n");
  EXPECT_THAT(yard_.Run({"rm", "first"}).out, HasSubstr("t-abcde removed; its files are in "));
  EXPECT_THAT(yard_.asked(), ElementsAre("pause t-abcde", "resume t-abcde",
                                         "tell {\"lr\":1} to t-abcde", "remove t-abcde"));
  for (const char* verb : {"pause", "resume", "rm"}) {
    EXPECT_EQ(yard_.Run({verb, "nobody"}).code, kNotFound) << verb;
  }
  EXPECT_EQ(yard_.Run({"tell", "nobody", "1"}).code, kNotFound);
}

// ---- run

using RunTest = VerbsTest;

TEST_F(RunTest, SendsTheCallersPlace) {
  yard_.AddTrial("t-abcde", "first", msg::TrialState::Running);
  yard_.context().environment = {"PATH=/p", "TEST_DATA=/y", "MINE=a=b"};
  yard_.context().working_directory = "/somewhere";
  yard_.Start();
  const auto result = yard_.Run({"run", "--detach", "--name", "first", "--max_restarts", "2",
                                 "--logdir", "here", "--", "train", "--lr", "0.1"});
  ASSERT_EQ(result.code, kDone) << result.err;
  EXPECT_EQ(result.out, "t-abcde\n");
  const msg::RunTrialRequestT request = yard_.last_run();
  EXPECT_THAT(request.argv, ElementsAre("train", "--lr", "0.1"));
  EXPECT_THAT(request.environment, ElementsAre("PATH=/p", "TEST_DATA=/y", "MINE=a=b"));
  ASSERT_NE(request.options->caller, nullptr);
  EXPECT_NE(request.options->caller->cpus, "");
  EXPECT_EQ(request.working_directory, "/somewhere");
  EXPECT_EQ(request.logdir, "/somewhere/here");
  EXPECT_EQ(request.name, "first");
  EXPECT_EQ(request.max_restarts, 2U);
}

TEST_F(RunTest, PrintsWhatHasNoNewlineToo) {
  yard_.AddTrial("t-abcde", "first", msg::TrialState::Running);
  yard_.AddOutput("j-qqqqq", msg::LogStream::Stdout, "Name? ");
  yard_.Start();
  EXPECT_EQ(yard_.Run({"run", "--", "train"}).out, "Name? ");
}

TEST_F(RunTest, StreamsTheOutputAndEndsWithASummary) {
  yard_.AddTrial("t-abcde", "first", msg::TrialState::Running);
  yard_.AddReport("t-abcde", R"({"loss":0.25})");
  yard_.AddOutput("j-qqqqq", msg::LogStream::Stdout, "epoch 1\n");
  yard_.AddOutput("j-qqqqq", msg::LogStream::Stderr, "a warning\n");
  yard_.Start();
  const auto result = yard_.Run({"run", "--", "train"});
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_EQ(result.out, "epoch 1\n");
  EXPECT_THAT(result.err, HasSubstr("a warning\n"));
  EXPECT_THAT(result.err, HasSubstr("t-abcde done"));
  EXPECT_THAT(result.err, HasSubstr(", 1 report  loss 0.25"));
  EXPECT_EQ(result.err.find('\r'), std::string::npos) << "a live line, but no terminal";
}

// A terminal whose reader takes 10 s of the verb's clock for the first line of output.
class SlowTerminal : public std::stringbuf {
 public:
  explicit SlowTerminal(runtime::FakeClock* clock) : clock_(clock) {}

 protected:
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    if (std::string_view(text, static_cast<std::size_t>(size)) == "epoch 1\n") {
      EXPECT_TRUE(clock_->AwaitWaiters(1)) << "the trial has ended, and the output is waited for";
      clock_->Advance(absl::Seconds(10));
    }
    return std::stringbuf::xsputn(text, size);
  }

 private:
  runtime::FakeClock* const clock_;
};

TEST_F(RunTest, WaitsForWhoReadsTheOutputSlowly) {
  yard_.AddTrial("t-abcde", "first", msg::TrialState::Running);
  yard_.AddOutput("j-qqqqq", msg::LogStream::Stderr, "epoch 1\n");
  yard_.AddOutput("j-qqqqq", msg::LogStream::Stderr, "epoch 2\n");
  runtime::FakeClock clock;
  SlowTerminal terminal(&clock);
  std::ostream err(&terminal);
  yard_.SetErr(&err);
  yard_.context().clock = &clock;
  yard_.Start();
  EXPECT_EQ(yard_.Run({"run", "--", "train"}).code, kDone);
  EXPECT_THAT(terminal.str(), HasSubstr("epoch 1\nepoch 2\n"));
  EXPECT_THAT(terminal.str(), Not(HasSubstr("is missing")));
}

TEST_F(RunTest, ShowsALiveLineOnATerminal) {
  yard_.AddTrial("t-abcde", "first", msg::TrialState::Running);
  yard_.AddReport("t-abcde", R"({"loss":0.25})");
  yard_.context().err_is_terminal = true;
  yard_.Start();
  const auto result = yard_.Run({"run", "--", "train"});
  EXPECT_THAT(result.err, HasSubstr("step 1  loss 0.25"));
  EXPECT_THAT(result.err, HasSubstr("\r\x1b[K"));
}

TEST_F(RunTest, WhatFailedIsTheLastThingPrinted) {
  yard_.AddTrial("t-abcde", "first", msg::TrialState::Running);
  yard_.AddOutput("j-qqqqq", msg::LogStream::Stdout, "working\n");
  yard_.FailTrial("t-abcde", "exit code 3", {"Traceback", "ValueError: no"});
  yard_.Start();
  const auto result = yard_.Run({"run", "--", "train"});
  EXPECT_EQ(result.code, kFailed);
  const auto failed = result.err.find("t-abcde first FAILED: exit code 3");
  ASSERT_NE(failed, std::string::npos) << result.err;
  const std::string block = result.err.substr(failed);
  EXPECT_THAT(block, HasSubstr("| ValueError: no"));
  EXPECT_THAT(block, HasSubstr("attempt   1, after 0 reports\n"));
  EXPECT_THAT(block, HasSubstr("yard logs t-abcde"));
}

TEST_F(RunTest, WithoutAProgramIsAnErrorOfUsage) {
  yard_.Start();
  EXPECT_EQ(yard_.Run({"run", "--name", "x"}).code, kUsage);
}

TEST_F(RunTest, JsonIsOneObjectAReportAndTheTrial) {
  yard_.AddTrial("t-abcde", "first", msg::TrialState::Running);
  yard_.AddReport("t-abcde", R"({"loss":NaN})");
  yard_.AddOutput("j-qqqqq", msg::LogStream::Stdout, "not JSON\n");
  yard_.Start();
  const auto result = yard_.Run({"run", "--json", "--", "train"});
  EXPECT_THAT(result.err, HasSubstr("not JSON"));
  const auto objects = Objects(result.out);
  ASSERT_EQ(objects.size(), 2U);
  EXPECT_EQ(objects[0]["metrics"]["loss"], "NaN");
  EXPECT_EQ(objects[1]["id"], "t-abcde");
  EXPECT_EQ(objects[1]["state"], "done");
}

// ---- logs, watch

TEST_F(VerbsTest, LogsHavePrefixesUnlessRaw) {
  yard_.AddTrial("t-abcde", "first", msg::TrialState::Done);
  yard_.AddOutput("j-qqqqq", msg::LogStream::Stdout, "hello\n");
  yard_.AddOutput("j-qqqqq", msg::LogStream::Stderr, "oops\n");
  yard_.Start();
  EXPECT_EQ(yard_.Run({"logs", "first"}).out, "[worker-0]:    hello\n[worker-0]:    oops\n");
  EXPECT_EQ(yard_.Run({"logs", "first", "--raw"}).out, "hello\noops\n");
  EXPECT_EQ(yard_.Run({"logs", "first", "--err", "--raw"}).out, "oops\n");
  const auto objects = Objects(yard_.Run({"logs", "first", "--json"}).out);
  ASSERT_EQ(objects.size(), 2U);
  EXPECT_EQ(objects[1].value("stream", ""), "stderr");
}

TEST_F(VerbsTest, LogsOnATerminalAreHarmlessAndAFileGetsTheBytes) {
  yard_.AddTrial("t-abcde", "first", msg::TrialState::Done);
  yard_.AddOutput("j-qqqqq", msg::LogStream::Stdout, "a\x1b[2Jb\n");
  yard_.Start();
  EXPECT_THAT(yard_.Run({"logs", "first", "--raw"}).out, HasSubstr("\x1b[2J"));
  yard_.context().out_is_terminal = true;
  EXPECT_THAT(yard_.Run({"logs", "first"}).out, HasSubstr("a\\x1B[2Jb"));
}

TEST_F(VerbsTest, WatchPrintsOneLineAReport) {
  yard_.AddTrial("t-abcde", "first", msg::TrialState::Done);
  yard_.AddReport("t-abcde", R"({"loss":0.5,"acc":1})");
  yard_.AddReport("t-abcde", R"({"loss":Infinity})");
  yard_.Start();
  EXPECT_EQ(yard_.Run({"watch", "first", "loss"}).out,
            "step 1  loss 0.5\nstep 2  loss \"Infinity\"\n");
  EXPECT_EQ(yard_.Run({"watch", "first", "-n", "1", "acc"}).out, "step 1  acc 1\n");
  const auto objects = Objects(yard_.Run({"watch", "first", "--json"}).out);
  ASSERT_EQ(objects.size(), 2U);
  EXPECT_EQ(objects[1]["metrics"]["loss"], "Infinity");
}

TEST_F(VerbsTest, AJobCannotBeWatched) {
  yard_.AddJob("j-qqqqq", "sleeper", msg::TaskState::Running);
  yard_.Start();
  EXPECT_EQ(yard_.Run({"watch", "sleeper"}).code, kUsage);
}

// ---- plot

TEST_F(VerbsTest, PlotDrawsRunsAndTrials) {
  yard_.AddTrial("t-abcde", "first", msg::TrialState::Done);
  yard_.AddSeries({.run = "first", .tag = "loss", .values = {3, 100, 1}});
  yard_.Start();
  for (const char* name : {"first", "t-abcde"}) {
    const auto result = yard_.Run({"plot", name, "--width", "60", "--height", "10"});
    EXPECT_EQ(result.code, kDone) << result.err;
    EXPECT_THAT(result.out, HasSubstr("       100 "));
    EXPECT_THAT(result.out, HasSubstr("first  3 points"));
  }
}

TEST_F(VerbsTest, PlotGivesItsColumnsAsJson) {
  yard_.AddSeries({.run = "first", .tag = "loss", .values = {3, std::nan(""), 1}});
  yard_.Start();
  const auto objects = Objects(yard_.Run({"plot", "first", "-m", "loss", "--json"}).out);
  ASSERT_EQ(objects.size(), 1U);
  ASSERT_EQ(objects[0]["columns"].size(), 3U);
  EXPECT_EQ(objects[0]["columns"][1]["max"], "NaN");
}

TEST_F(VerbsTest, PlotOfARunThatIsNowhereIsAnsweredAtOnceWithTheNearestName) {
  yard_.AddSeries({.run = "baseline", .tag = "loss", .values = {1}});
  // The fake clock stands still, so a wait would never end.
  runtime::FakeClock clock;
  yard_.context().clock = &clock;
  yard_.Start();
  const auto result = yard_.Run({"plot", "basline"});
  EXPECT_EQ(result.code, kNotFound);
  EXPECT_THAT(result.err, HasSubstr("no run basline; did you mean baseline?"));
  EXPECT_THAT(yard_.Run({"plot", "something else"}).err, Not(HasSubstr("mean")));
}

TEST_F(VerbsTest, PlotWaitsForARunThatIsOnTheDiskAndNotReadYet) {
  yard_.Start();
  const std::string runs = yard_.logdir();
  std::filesystem::create_directories(runs + "/group/first");
  for (const char* name : {"group/first", "gro", "group/f"}) {
    const auto result = yard_.Run({"plot", name, "--timeout", "0"});
    EXPECT_EQ(result.code, kNotFound) << name;
    EXPECT_THAT(result.err, HasSubstr("nothing of it has been read within 0 s")) << name;
  }
}

// ---- pub, sub, call

TEST_F(VerbsTest, PubSaysWhoHeard) {
  yard_.Start();
  const auto objects = Objects(yard_.Run({"pub", "e/note", R"({"a":1})", "--json"}).out);
  ASSERT_EQ(objects.size(), 1U);
  EXPECT_EQ(objects[0]["topic"], "e/note/");
  EXPECT_EQ(objects[0]["seq"], 1);
  EXPECT_EQ(objects[0]["subscribers"], 0);
}

TEST_F(VerbsTest, PubRefusesWhatIsNotJsonAndOthersTopics) {
  yard_.Start();
  EXPECT_EQ(yard_.Run({"pub", "e/note", "{bad"}).code, kUsage);
  EXPECT_EQ(yard_.Run({"pub", "e/note", "{bad", "--raw"}).code, kDone);
  EXPECT_EQ(yard_.Run({"pub", "$sys/note", "{}"}).code, kRefused);
}

TEST_F(VerbsTest, SubTimesOutWithItsCode) {
  yard_.Start();
  EXPECT_EQ(yard_.Run({"sub", "e/", "-n", "1", "--timeout", "0.05"}).code, kTimedOut);
}

TEST_F(VerbsTest, SubPrintsEventsWithTheirBodies) {
  yard_.Start();
  FakeYard::Output heard;
  std::thread listener([&] {
    heard = yard_.Run({"sub", "t/", "-n", "1", "--timeout", "30", "--json"});
  });
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  while (yard_.hub().CountSubscriptions("t/t-abcde/") == 0 && absl::Now() < deadline) {
    std::this_thread::yield();
  }
  msg::TrialEventT event;
  event.trial = std::make_unique<msg::TrialT>();
  event.trial->id = "t-abcde";
  event.trial->created_us = (std::int64_t{1} << 53) + 1;
  event.trial->reason = "a\xff";
  msg::EnvelopeT envelope;
  envelope.body.Set(std::move(event));
  ASSERT_TRUE(yard_.hub().Publish("t/t-abcde/", std::move(envelope)).ok());
  listener.join();
  ASSERT_EQ(heard.code, kDone) << heard.err;
  const auto objects = Objects(heard.out);
  ASSERT_EQ(objects.size(), 1U);
  EXPECT_EQ(objects[0]["topic"], "t/t-abcde/");
  EXPECT_EQ(objects[0]["type"], "TrialEvent");
  EXPECT_EQ(objects[0]["body"]["trial"]["id"], "t-abcde");
  EXPECT_EQ(objects[0]["body"]["trial"]["created_us"], "9007199254740993");
}

TEST_F(VerbsTest, CallReachesAnyMethodOfAnyService) {
  yard_.AddJob("j-qqqqq", "sleeper", msg::TaskState::Running);
  yard_.Start();
  const auto jobs = yard_.Run({"call", "launcher", "Jobs", "{job: \"sleeper\",}", "--json"});
  ASSERT_EQ(jobs.code, kDone) << jobs.err;
  EXPECT_EQ(Objects(jobs.out).at(0)["jobs"][0]["id"], "j-qqqqq");
  const auto stats = yard_.Run({"call", "trainer", "Stats", "--json"});
  ASSERT_EQ(stats.code, kDone) << stats.err;
  EXPECT_EQ(Objects(stats.out).at(0)["service"], "trainer");
}

TEST_F(VerbsTest, CallPrintsOneObjectAPart) {
  yard_.AddTrial("t-abcde", "first", msg::TrialState::Done);
  yard_.AddReport("t-abcde", "{}");
  yard_.AddReport("t-abcde", "{}");
  yard_.Start();
  const auto result = yard_.Run({"call", "trainer", "FollowTrial", "{trial: \"first\"}", "--json"});
  ASSERT_EQ(result.code, kDone) << result.err;
  EXPECT_EQ(Objects(result.out).size(), 3U);
}

TEST_F(VerbsTest, CallSaysWhereAFieldIsUnknown) {
  yard_.Start();
  const auto result = yard_.Run({"call", "launcher", "Jobs", "{\n  nope: 1\n}"});
  EXPECT_EQ(result.code, kUsage);
  EXPECT_THAT(result.err, HasSubstr("line 2"));
  EXPECT_THAT(result.err, HasSubstr("column"));
  EXPECT_THAT(result.err, HasSubstr("live_only"));
}

TEST_F(VerbsTest, CallOfWhatIsNotThereIsNotFound) {
  yard_.Start();
  EXPECT_EQ(yard_.Run({"call", "launcher", "Nope"}).code, kNotFound);
  EXPECT_EQ(yard_.Run({"call", "nosuch", "Stats"}).code, kNotFound);
  EXPECT_EQ(yard_.Run({"call", "launcher"}).code, kUsage);
}

TEST_F(VerbsTest, CallWaitsForAsLongAsItIsTold) {
  yard_.NeverAnswer("trainer");
  yard_.Start();
  const absl::Time begin = absl::Now();
  const auto result = yard_.Run({"call", "trainer", "Stats", "--timeout", "0.1"});
  EXPECT_EQ(result.code, kTimedOut) << result.err;
  EXPECT_LT(absl::Now() - begin, absl::Seconds(4)) << "the method's own time is 5 s";
  EXPECT_EQ(result.out, "");
}

TEST_F(VerbsTest, CallPrintsAFieldAlone) {
  yard_.AddTrial("t-abcde", "first", msg::TrialState::Done);
  yard_.Start();
  const auto id = yard_.Run({"call", "trainer", "Trials", "{}", "--field", "trials[0].id"});
  EXPECT_EQ(id.code, kDone) << id.err;
  EXPECT_EQ(id.out, "t-abcde\n");
  EXPECT_EQ(yard_.Run({"call", "trainer", "Trials", "--field", "trials[0].id", "--json"}).out,
            "\"t-abcde\"\n");
  const auto missing = yard_.Run({"call", "trainer", "Trials", "{}", "--field", "trials[1].id"});
  EXPECT_EQ(missing.code, kNotFound);
  EXPECT_EQ(missing.out, "");
  EXPECT_THAT(missing.err, HasSubstr("the answer has no trials[1].id"));
}

TEST_F(VerbsTest, CallListsMethods) {
  yard_.Start();
  const auto result = yard_.Run({"call", "--list"});
  EXPECT_EQ(result.code, kDone);
  EXPECT_THAT(result.out, HasSubstr("FollowTrial"));
  EXPECT_THAT(result.out, HasSubstr("from_row: ulong"));
}

// ---- All verbs

TEST_F(VerbsTest, WithoutAYardEveryVerbThatNeedsOneSaysSo) {
  for (const VerbEntry& entry : Verbs()) {
    if (!entry.needs_yard) continue;
    std::vector<std::string> words = {entry.name, "x", "{}"};
    if (std::string(entry.name) == "status" || std::string(entry.name) == "ps" ||
        std::string(entry.name) == "top" || std::string(entry.name) == "alerts") {
      words.resize(1);
    }
    if (std::string(entry.name) == "show" || std::string(entry.name) == "logs" ||
        std::string(entry.name) == "runs" || std::string(entry.name) == "rm" ||
        std::string(entry.name) == "ui") {
      words.resize(2);
    }
    const auto result = yard_.Run(words);
    EXPECT_EQ(result.code, kUnreachable) << entry.name << ": " << result.err;
    EXPECT_THAT(result.err, HasSubstr("yard up")) << entry.name;
    EXPECT_EQ(result.out, "") << entry.name;
  }
}

}  // namespace
}  // namespace yard

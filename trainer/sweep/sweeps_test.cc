// Sweeps over trials whose programs the test plays, with a fake launcher and clock.

#include "trainer/sweep/sweeps.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"
#include "runtime/text/json_value.h"
#include "trainer/store/trial_store.h"
#include "trainer/table/trials.h"
#include "trainer/testing/trials_fixture.h"

namespace trainer {
namespace {

using msg::SweepOrder;
using msg::SweepStage;
using msg::SweepState;
using msg::TrialState;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kRandom[] =
    R"({"method":"random","metric":{"name":"loss"},"run_cap":6,"parallel":2,"seed":3,)"
    R"("parameters":{"x":{"min":0.0,"max":1.0}}})";
constexpr char kAsha[] =
    R"({"method":"random","metric":{"name":"loss"},"run_cap":9,"parallel":3,"seed":3,)"
    R"("early_terminate":{"type":"asha","min":1,"max":9,"eta":3},)"
    R"("parameters":{"x":{"min":0.0,"max":1.0}}})";

class SweepsTest : public TrialsFixture {
 protected:
  SweepsTest() {
    options_.slots = 4;
    Start();
  }
  ~SweepsTest() override {
    if (loop_ != nullptr) Kill();
  }

  void BeforeOpen(Trials::Options& options) override {
    auto sweeps =
        Sweeps::Open({.loop = options.loop,
                      .clock = options.clock,
                      .store = options.store,
                      .logdir = options.logdir,
                      .on_event = [this](msg::SweepEventT event) { heard_.push_back(event); }});
    ASSERT_TRUE(sweeps.ok()) << sweeps.status();
    sweeps_ = *std::move(sweeps);
    options.judge = sweeps_.get();
  }
  void AfterResume() override { sweeps_->Resume(trials_.get()); }
  void AfterKill() override { sweeps_.reset(); }

  static msg::RunSweepRequestT Asked(const std::string& plan, const std::string& name = "study") {
    msg::RunSweepRequestT request;
    request.name = name;
    request.plan = plan;
    request.trial = std::make_unique<msg::RunTrialRequestT>(Request());
    return request;
  }
  absl::StatusOr<msg::SweepT> TryBegin(const msg::RunSweepRequestT& request,
                                       const std::string& request_id = "") {
    absl::StatusOr<msg::SweepT> sweep;
    const std::string id = request_id.empty() ? absl::StrCat("sweep-", ++requests_) : request_id;
    On([&] { sweep = sweeps_->Run(id, request, "trace"); });
    return sweep;
  }
  std::string Begin(const std::string& plan, const std::string& name = "study") {
    const auto sweep = TryBegin(Asked(plan, name));
    EXPECT_TRUE(sweep.ok()) << sweep.status();
    return sweep.ok() ? sweep->id : "";
  }
  msg::SweepT Sweep(const std::string& id) {
    absl::StatusOr<msg::SweepT> sweep;
    On([&] { sweep = sweeps_->Get(id); });
    EXPECT_TRUE(sweep.ok()) << sweep.status();
    return sweep.ok() ? *std::move(sweep) : msg::SweepT();
  }
  msg::SweepDetailsReplyT Details(const std::string& id) {
    absl::StatusOr<msg::SweepDetailsReplyT> details;
    On([&] { details = sweeps_->Details(id); });
    EXPECT_TRUE(details.ok()) << details.status();
    return details.ok() ? *std::move(details) : msg::SweepDetailsReplyT();
  }
  absl::StatusOr<msg::SweepT> Change(const std::string& id, SweepOrder order, bool whether = false,
                                     const std::string& text = "",
                                     const std::string& request_id = "") {
    msg::ChangeSweepRequestT request;
    request.sweep = id;
    request.order = order;
    request.whether = whether;
    if (order == SweepOrder::Change) request.plan = text;
    if (order == SweepOrder::Enqueue) request.config = text;
    absl::StatusOr<msg::SweepT> sweep;
    const std::string unique =
        request_id.empty() ? absl::StrCat("order-", ++requests_) : request_id;
    On([&] { sweep = sweeps_->Change(id, request, unique, "trace"); });
    return sweep;
  }

  // ---- Programs.

  static double XOf(const FakeJobs::Job& job) {
    for (const std::string& word : job.spec.argv) {
      if (absl::StartsWith(word, "--x=")) return std::stod(word.substr(4));
    }
    return 0;
  }
  std::string NameOf(const FakeJobs::Job& job) {
    for (const auto& label : job.spec.labels) {
      if (label->key == "trial_name") return label->value;
    }
    return "";
  }
  // Advances a program by one step: it reports the value of `curve` at its step, or ends.
  using Curve = std::function<double(double x, int step)>;
  void Step(const std::string& id, int length, const Curve& curve) {
    FakeJobs::Job& job = jobs_.jobs.at(id);
    int& lines = lines_[id];
    const bool was_told = told_[id] == "stop" || told_[id] == "pause";
    if (was_told || lines >= length) {
      SayEnd(id, numbers_[id]);
      jobs_.End(id, 0);
      loop_->Settle();
      return;
    }
    const int first = first_steps_[NameOf(job)];
    ++lines;
    if (saves_) Save(id);
    const double loss = curve(XOf(job), first + lines);
    const std::string report =
        absl::StrCat(R"({"t":"report","seq":1,"step":)", first + lines, R"(,"m":{"loss":)",
                     std::isnan(loss) ? "NaN" : absl::StrCat(loss), "}}");
    if (before_report_) before_report_(id, numbers_[id] + 1, report);
    const std::string answer = Say(id, ++numbers_[id], report);
    for (const char* const word : {"stop", "pause"}) {
      if (absl::StrContains(answer, absl::StrCat("\"t\":\"", word, "\""))) told_[id] = word;
    }
    if (told_[id] == "pause" && keeps_steps_) first_steps_[NameOf(job)] = first + lines;
    answers_[id].push_back(answer);
  }
  void Save(const std::string& id) {
    const std::string answer = Say(id, ++numbers_[id], R"({"t":"ckpt_begin"})");
    const std::size_t begin = answer.find("\"path\":\"") + 8;
    const std::string path = answer.substr(begin, answer.find('"', begin) - begin);
    // (The file has the step at which it was saved, and a weight.)
    std::ofstream(path + "/w") << first_steps_[NameOf(jobs_.jobs.at(id))] + lines_[id]
                               << std::string(998, ' ');
    Say(id, ++numbers_[id], absl::StrCat(R"({"t":"ckpt_end","path":")", path, "\"}"));
  }
  // Ends the program without a further line.
  void End(const std::string& id, int exit_code) {
    SayEnd(id, numbers_[id]);
    jobs_.End(id, exit_code);
    loop_->Settle();
  }
  // Advances all programs in turn until none runs.
  void RunAll(int length, const Curve& curve) {
    for (int i = 0; i < 10'000; ++i) {
      std::vector<std::string> running;
      for (const auto& [id, job] : jobs_.jobs) {
        if (!job.ended) running.push_back(id);
      }
      if (running.empty()) return;
      for (const std::string& id : running) {
        if (!jobs_.jobs.at(id).ended) Step(id, length, curve);
      }
    }
    ADD_FAILURE() << "the programs do not end";
  }
  static msg::RunSweepRequestT WithArgs(const std::string& plan, const std::string& name) {
    auto request = Asked(plan, name);
    request.trial->argv = {"prog", "${args}"};
    return request;
  }
  std::string BeginWithArgs(const std::string& plan, const std::string& name = "study") {
    const auto sweep = TryBegin(WithArgs(plan, name));
    EXPECT_TRUE(sweep.ok()) << sweep.status();
    return sweep.ok() ? sweep->id : "";
  }
  static double Parabola(double x, int step) { return (x - 0.3) * (x - 0.3) + 1.0 / step; }

  std::unique_ptr<Sweeps> sweeps_;
  std::vector<msg::SweepEventT> heard_;
  std::map<std::string, int> lines_, numbers_;  // Number of reports, and of all lines, by job.
  bool saves_ = false;                          // Programs save before each report.
  std::map<std::string, std::string> told_;
  std::map<std::string, std::vector<std::string>> answers_;
  std::map<std::string, int> first_steps_;
  bool keeps_steps_ = false;  // After a pause programs continue, as from a checkpoint.
  // Called before each report with its job, its line's number, and the line.
  std::function<void(const std::string&, std::int64_t, const std::string&)> before_report_ = {};
};

TEST_F(SweepsTest, RunsAsManyTrialsAsThePlanSaysAndNoMoreAtOnce) {
  const std::string id = BeginWithArgs(kRandom);
  EXPECT_EQ(jobs_.jobs.size(), 2u);
  RunAll(3, Parabola);
  const msg::SweepT sweep = Sweep(id);
  EXPECT_EQ(sweep.state, SweepState::Done);
  EXPECT_EQ(sweep.trials, 6u);
  EXPECT_EQ(sweep.done, 6u);
  EXPECT_EQ(sweep.reason, "all 6 trials have ended");
  EXPECT_NE(sweep.ended_us, 0);
  ASSERT_NE(sweep.best, nullptr);
  double best = 1e9;
  for (const auto& trial : Details(id).trials) {
    EXPECT_EQ(trial->stage, SweepStage::Done);
    best = std::min(best, trial->value);
  }
  EXPECT_EQ(sweep.best->value, best);
}

TEST_F(SweepsTest, ATrialIsATrialAsAnyOtherWithItsNameConfigurationAndLabels) {
  const std::string id = BeginWithArgs(kRandom);
  const std::string trial = Details(id).trials.front()->trial;
  const msg::TrialT shown = Get(trial);
  EXPECT_EQ(shown.name, "study-0000");
  EXPECT_EQ(shown.group, id);
  EXPECT_THAT(shown.labels, Contains("sweep=study"));
  EXPECT_THAT(shown.argv, ElementsAre("prog", HasSubstr("--x=")));
  const auto params = runtime::ReadFile(directory_ + "/runs/study-0000/params.json", 1 << 20);
  ASSERT_TRUE(params.ok());
  EXPECT_THAT(*params, HasSubstr("\"x\": "));
}

TEST_F(SweepsTest, AReportThatReachesALevelIsAnsweredWithTheVerdict) {
  const std::string id = BeginWithArgs(kAsha);
  RunAll(9, [](double x, int) { return x; });
  const auto details = Details(id);
  EXPECT_EQ(details.sweep->state, SweepState::Done);
  EXPECT_GT(details.sweep->stopped_early, 0u);
  for (const auto& trial : details.trials) {
    const msg::TrialT shown = Get(trial->trial);
    const std::string& job = shown.job;
    if (trial->stage != SweepStage::StoppedEarly) {
      EXPECT_EQ(shown.state, TrialState::Done);
      continue;
    }
    EXPECT_EQ(shown.state, TrialState::Stopped);
    EXPECT_THAT(shown.reason, HasSubstr("stopped at "));
    EXPECT_THAT(shown.reason, HasSubstr("loss"));
    EXPECT_EQ(shown.reason, trial->reason);
    // The last answer says so, and no report came after it.
    EXPECT_THAT(answers_[job].back(), HasSubstr("\"t\":\"stop\""));
    EXPECT_EQ(static_cast<std::int64_t>(answers_[job].size()),
              static_cast<std::int64_t>(shown.reports));
  }
  ASSERT_EQ(details.levels.size(), 2u);
  for (const auto& level : details.levels) {
    EXPECT_TRUE(level->has_cutoff);
    EXPECT_GE(level->cutoff, level->best);
  }
  // The value equals the parameter, so the first bin is the best.
  ASSERT_EQ(details.marginals.size(), 1u);
  EXPECT_EQ(details.marginals[0]->parameter, "x");
  ASSERT_GT(details.marginals[0]->bins.size(), 1u);
  EXPECT_EQ(details.marginals[0]->bins[0]->best, details.sweep->best->value);
}

TEST_F(SweepsTest, AVerdictToPauseTakesTheTrialOffItsSlotAndThoseThatAreGoodGoOn) {
  keeps_steps_ = true;
  const std::string id = BeginWithArgs(
      R"({"method":"random","metric":{"name":"loss"},"run_cap":9,"parallel":3,"seed":3,)"
      R"("early_terminate":{"type":"asha","min":1,"max":9,"eta":3,"promote":true},)"
      R"("parameters":{"x":{"min":0.0,"max":1.0}}})");
  RunAll(9, [](double x, int) { return x; });
  const msg::SweepT sweep = Sweep(id);
  EXPECT_EQ(sweep.state, SweepState::Done) << sweep.reason;
  EXPECT_EQ(sweep.trials, 9u);
  EXPECT_EQ(sweep.paused, 0u);
  EXPECT_GT(sweep.stopped_early, 0u);
  EXPECT_GT(jobs_.jobs.size(), 9u) << "nothing was gone on with";
  // Paused trials that do not continue are stopped, not left behind.
  for (const auto& trial : Details(id).trials) {
    EXPECT_NE(Get(trial->trial).state, TrialState::Paused);
  }
}

TEST_F(SweepsTest, ATrialThatWasStoppedEarlyCanBeResumedAlone) {
  const std::string id = BeginWithArgs(kAsha);
  RunAll(9, [](double x, int) { return x; });
  std::string stopped;
  for (const auto& trial : Details(id).trials) {
    if (trial->stage == SweepStage::StoppedEarly) stopped = trial->trial;
  }
  ASSERT_FALSE(stopped.empty());
  On([&] { EXPECT_TRUE(trials_->ResumeTrial(stopped).ok()); });
  const std::string job = Get(stopped).job;
  EXPECT_THAT(Say(job, 1, R"({"t":"report","seq":1,"step":1,"m":{"loss":99}})"),
              HasSubstr("\"t\":\"ok\""));
  SayEnd(job, 1);
  jobs_.End(job, 0);
  EXPECT_EQ(Get(stopped).state, TrialState::Done);
}

TEST_F(SweepsTest, NaNAtALevelStopsTheTrialAndIsNoValue) {
  const std::string id = BeginWithArgs(kAsha);
  RunAll(9, [](double x, int step) { return x > 0.5 && step >= 3 ? std::nan("") : x; });
  const auto details = Details(id);
  EXPECT_EQ(details.sweep->state, SweepState::Done);
  ASSERT_NE(details.sweep->best, nullptr);
  EXPECT_LE(details.sweep->best->value, 0.5);
}

TEST_F(SweepsTest, TheSameRequestIsTheSameSweepAndAnotherOfTheNameIsRefused) {
  const auto first = TryBegin(Asked(kRandom), "r-1");
  const auto again = TryBegin(Asked(kRandom), "r-1");
  ASSERT_TRUE(first.ok() && again.ok());
  EXPECT_EQ(first->id, again->id);
  const auto other = TryBegin(Asked(kRandom), "r-2");
  EXPECT_EQ(other.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(other.status().message(), HasSubstr(first->id));
  Restart();
  const auto later = TryBegin(Asked(kRandom), "r-1");
  ASSERT_TRUE(later.ok());
  EXPECT_EQ(first->id, later->id);
}

TEST_F(SweepsTest, APlanThatIsWrongIsRefusedWithAllThatIsWrong) {
  for (const auto& [plan, words] : std::vector<std::pair<std::string, std::string>>{
           {"", "the plan"},
           {"[]", "no JSON object"},
           {R"({"method":"random"})", "parameters"},
           {R"({"method":"randum","metric":{"name":"a"},"parameters":{"x":{"min":2,"max":1}}})",
            "random"},
           {R"({"method":"external","metric":{"name":"a"},"parameters":{"x":{"min":0,"max":1}}})",
            "name the program"}}) {
    const auto refused = TryBegin(Asked(plan));
    ASSERT_FALSE(refused.ok()) << plan;
    EXPECT_THAT(refused.status().message(), HasSubstr(words)) << plan;
  }
  auto request = Asked(kRandom);
  request.trial->argv.clear();
  EXPECT_THAT(TryBegin(request).status().message(), HasSubstr("no program to run"));
  std::filesystem::create_directories(directory_ + "/runs/study-0000");
  std::ofstream(directory_ + "/runs/study-0000/result.json") << "{}";
  EXPECT_EQ(TryBegin(Asked(kRandom)).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(jobs_.jobs.empty());
}

TEST_F(SweepsTest, AKillAtAnyMomentChangesNothingOfWhatASweepDoes) {
  const auto configs = [&](bool kills) {
    const std::string name = kills ? "killed" : "whole";
    const std::string id = BeginWithArgs(
        absl::StrCat(R"({"method":"tpe","metric":{"name":"loss"},"run_cap":30,"parallel":1,)",
                     R"("seed":3,"early_terminate":{"type":"asha","min":1,"max":9,"eta":3},)",
                     R"("parameters":{"x":{"min":0.0,"max":1.0},"y":{"values":["a","b"]}}})"),
        name);
    for (int i = 0; i < 2'000; ++i) {
      std::string running;
      for (const auto& [job, what] : jobs_.jobs) {
        if (!what.ended) running = job;
      }
      if (running.empty()) break;
      Step(running, 9, Parabola);
      if (kills && i % 3 == 0) Restart();
    }
    std::vector<std::string> all;
    for (const auto& trial : Details(id).trials) {
      all.push_back(absl::StrCat(trial->config, " ", trial->value, " ",
                                 msg::EnumNameSweepStage(trial->stage), " ", trial->reason));
    }
    EXPECT_EQ(Sweep(id).state, SweepState::Done);
    return all;
  };
  const auto whole = configs(false);
  EXPECT_EQ(whole.size(), 30u);
  EXPECT_EQ(configs(true), whole);
}

// The table of events is missing, as if there were no room for it: the report is refused, and sent
// again, by a program that may be faster than the sweep.
TEST_F(SweepsTest, WhileEventsCannotBeStoredNoneIsLostOrStoredByHalf) {
  const auto trials = [&](bool is_short_of_room, bool is_quick) {
    const std::string id = BeginWithArgs(
        R"({"method":"tpe","metric":{"name":"loss","at":"last"},"run_cap":20,"parallel":1,)"
        R"("seed":3,"early_terminate":{"type":"asha","min":1,"max":9,"eta":3},)"
        R"("parameters":{"x":{"min":0.0,"max":1.0}}})",
        is_quick           ? "quick"
        : is_short_of_room ? "short"
                           : "whole");
    int reports = 0;
    before_report_ = [&](const std::string& job, std::int64_t line, const std::string& text) {
      if (!is_short_of_room || ++reports % 3 != 0) return;
      SQLite::Database other(directory_ + "/trainer.db", SQLite::OPEN_READWRITE);
      other.exec("ALTER TABLE sweep_events RENAME TO away");
      EXPECT_THAT(Say(job, line, text), HasSubstr("ERR"));
      other.exec("ALTER TABLE away RENAME TO sweep_events");
      if (!is_quick) Advance(absl::Seconds(1));
    };
    for (int i = 0; i < 1'000; ++i) {
      std::string running;
      for (const auto& [job, what] : jobs_.jobs) {
        if (!what.ended) running = job;
      }
      if (running.empty()) break;
      Step(running, 9, Parabola);
      Advance(absl::Seconds(1));
    }
    EXPECT_EQ(Sweep(id).state, SweepState::Done);
    std::vector<std::string> all;
    for (const auto& trial : Details(id).trials) {
      all.push_back(absl::StrCat(trial->config, " ", trial->value, " ", trial->resource, " ",
                                 msg::EnumNameSweepStage(trial->stage), " ", trial->reason));
    }
    return all;
  };
  const auto whole = trials(false, false);
  EXPECT_EQ(whole.size(), 20u);
  EXPECT_EQ(trials(true, false), whole);
  EXPECT_EQ(trials(true, true), whole);
}

TEST_F(SweepsTest, FailuresInARowEndItWithTheFirstOnesReason) {
  const std::string id =
      BeginWithArgs(R"({"method":"random","metric":{"name":"loss"},"run_cap":50,"parallel":1,)"
                    R"("failures":{"max_in_a_row":5},"parameters":{"x":{"min":0.0,"max":1.0}}})");
  for (int i = 1; i <= 5; ++i) {
    const std::string job = absl::StrCat("j-", i);
    ASSERT_TRUE(jobs_.jobs.contains(job)) << i;
    End(job, 7);
  }
  const msg::SweepT sweep = Sweep(id);
  EXPECT_EQ(sweep.state, SweepState::Failed);
  EXPECT_EQ(sweep.failed, 5u);
  EXPECT_THAT(sweep.reason, HasSubstr("5 trials in a row have failed"));
  EXPECT_THAT(sweep.reason, HasSubstr("exit code 7"));
  EXPECT_EQ(jobs_.jobs.size(), 5u);
}

TEST_F(SweepsTest, AFiniteSpaceIsExhausted) {
  const std::string id =
      BeginWithArgs(R"({"method":"grid","metric":{"name":"loss"},"run_cap":100,"parallel":3,)"
                    R"("parameters":{"x":{"values":[1,2,3,4]},"y":{"values":["a","b","c"]}}})");
  RunAll(1, Parabola);
  const auto details = Details(id);
  EXPECT_EQ(details.sweep->state, SweepState::Done);
  EXPECT_EQ(details.sweep->reason, "all 12 combinations were tried");
  std::set<std::string> configs;
  for (const auto& trial : details.trials) configs.insert(trial->config);
  EXPECT_EQ(configs.size(), 12u);
}

TEST_F(SweepsTest, PauseAndResumeGoOnWithTheSameTrials) {
  const std::string id = BeginWithArgs(kRandom);
  Step("j-1", 5, Parabola);
  Step("j-2", 5, Parabola);
  ASSERT_TRUE(Change(id, SweepOrder::Pause).ok());
  EXPECT_EQ(Sweep(id).state, SweepState::Paused);
  RunAll(5, Parabola);
  EXPECT_EQ(Sweep(id).paused, 2u);
  EXPECT_EQ(Sweep(id).trials, 2u);
  Restart();
  EXPECT_EQ(jobs_.jobs.size(), 2u);
  ASSERT_TRUE(Change(id, SweepOrder::Resume).ok());
  RunAll(5, Parabola);
  EXPECT_EQ(Sweep(id).state, SweepState::Done);
  EXPECT_EQ(Sweep(id).done, 6u);
}

TEST_F(SweepsTest, StopEndsItsTrialsAndResumeGoesOn) {
  const std::string id = BeginWithArgs(kRandom);
  ASSERT_TRUE(Change(id, SweepOrder::Stop).ok());
  EXPECT_EQ(Sweep(id).state, SweepState::Stopping);
  // They have sent nothing, so they are stopped from outside.
  for (const char* const job : {"j-1", "j-2"}) End(job, 1);
  EXPECT_EQ(Sweep(id).state, SweepState::Stopped);
  EXPECT_THAT(Get(Details(id).trials.front()->trial).reason, HasSubstr("asked to stop"));
  EXPECT_EQ(Change(id, SweepOrder::Pause).status().code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(Change(id, SweepOrder::Resume).ok());
  EXPECT_EQ(Sweep(id).state, SweepState::Running);
  RunAll(1, Parabola);
  EXPECT_EQ(Sweep(id).state, SweepState::Done);
}

TEST_F(SweepsTest, WhatIsEnqueuedIsTriedNextOnceForEachRequest) {
  const std::string id = BeginWithArgs(kRandom);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(Change(id, SweepOrder::Enqueue, false, R"({"x":0.125})", "e-1").ok());
  }
  const auto wrong = Change(id, SweepOrder::Enqueue, false, R"({"x":7})");
  EXPECT_EQ(wrong.status().code(), absl::StatusCode::kInvalidArgument);
  RunAll(1, Parabola);
  std::vector<std::string> configs;
  for (const auto& trial : Details(id).trials) configs.push_back(trial->config);
  EXPECT_EQ(std::count(configs.begin(), configs.end(), R"({"x":0.125})"), 1);
}

TEST_F(SweepsTest, AChangedPlanCountsFromTheNextSuggestionOn) {
  const std::string id = BeginWithArgs(kRandom);
  const auto changed = Change(id, SweepOrder::Change, false,
                              R"({"method":"tpe","metric":{"name":"loss"},"run_cap":8,"seed":3,)"
                              R"("parameters":{"x":{"min":5.0,"max":6.0}}})");
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_EQ(changed->method, "tpe");
  EXPECT_EQ(changed->parallel, 2u);
  EXPECT_EQ(changed->reason, "of 0 trials with a result 0 fit the new space, and count");
  Step("j-1", 0, Parabola);
  EXPECT_EQ(Sweep(id).trials, 3u);
  EXPECT_EQ(Sweep(id).reason, "") << "what came of the change is old";
  RunAll(1, Parabola);
  EXPECT_EQ(Sweep(id).trials, 8u);
  EXPECT_EQ(Sweep(id).state, SweepState::Done);
  int in_new = 0;
  for (const auto& trial : Details(id).trials)
    in_new += trial->config.find("5.") != std::string::npos;
  EXPECT_GE(in_new, 5);
}

TEST_F(SweepsTest, ItsTimeIsSpent) {
  auto request = WithArgs(kRandom, "study");
  request.time_budget_ms = 60'000;
  const std::string id = TryBegin(request)->id;
  Advance(absl::Seconds(30));
  Restart();
  Advance(absl::Seconds(31));
  RunAll(1, Parabola);
  EXPECT_EQ(Sweep(id).state, SweepState::Done);
  EXPECT_EQ(Sweep(id).trials, 2u);
  EXPECT_EQ(Sweep(id).reason, "its time of 1m is spent");
}

TEST_F(SweepsTest, ItsEpochsAreSpentAlsoOverARestart) {
  const std::string id = BeginWithArgs(
      R"({"method":"random","metric":{"name":"loss"},"run_cap":50,"parallel":2,"seed":3,)"
      R"("budget":{"epochs":10},"parameters":{"x":{"min":0.0,"max":1.0}}})");
  for (const char* const job : {"j-1", "j-2", "j-1"}) Step(job, 4, Parabola);
  Restart();
  RunAll(4, Parabola);
  EXPECT_EQ(Sweep(id).state, SweepState::Done);
  // Running trials continue to their end: 2 x 4 reports, and those of the two that had started.
  EXPECT_EQ(Sweep(id).trials, 4u);
  EXPECT_EQ(Sweep(id).reason, "its budget of 10 epochs is spent");
}

TEST_F(SweepsTest, ResultsThatAreKnownAreNotTriedAgain) {
  const std::string id = BeginWithArgs(
      R"({"method":"grid","metric":{"name":"loss"},"parallel":2,"parameters":{"x":{"values":[0,1,2,3]}},)"
      R"("warm_start":{"results":[{"config":{"x":1},"value":0.5},{"config":{"x":9},"value":0.1}]}})");
  Restart();
  RunAll(1, Parabola);
  std::set<std::string> configs;
  for (const auto& trial : Details(id).trials) configs.insert(trial->config);
  EXPECT_EQ(configs, (std::set<std::string>{R"({"x":0})", R"({"x":2})", R"({"x":3})"}));
  EXPECT_EQ(Sweep(id).state, SweepState::Done);
}

TEST_F(SweepsTest, TheDifferenceToTheCommitIsThereAsLongAsATrialIs) {
  msg::RunSweepRequestT request = WithArgs(kRandom, "study");
  if (request.trial->options == nullptr) {
    request.trial->options = std::make_unique<msg::TrialOptionsT>();
  }
  request.trial->options->provenance = R"({"git":{"commit":"abc","untracked":["x"]}})";
  request.trial->options->provenance_diff = "--- a\n+++ b\n";
  ASSERT_TRUE(TryBegin(request).ok());
  const auto file = [&](const std::string& trial, const std::string& name) {
    return runtime::ReadFile(absl::StrCat(directory_, "/runs/", trial, "/", name), 1 << 20);
  };
  EXPECT_EQ(file("study-0000", "uncommitted.diff").value_or(""), "--- a\n+++ b\n");
  EXPECT_EQ(file("study-0001", "uncommitted.diff").value_or(""), "--- a\n+++ b\n");
  EXPECT_EQ(std::filesystem::hard_link_count(directory_ + "/runs/study-0000/uncommitted.diff"), 2u);
  EXPECT_THAT(file("study-0001", "provenance.json").value_or(""),
              HasSubstr(R"("diff_of": "study-0000")"));
  EXPECT_THAT(file("study-0000", "provenance.json").value_or(""),
              ::testing::Not(HasSubstr("diff_of")));
  // The details of the other trial have it too.
  On([&] {
    const auto trials = trials_->List({});
    ASSERT_EQ(trials.size(), 2u);
    for (const auto& trial : trials) {
      trials_->Details(trial.id, [](const absl::StatusOr<msg::TrialDetailsReplyT>& details) {
        ASSERT_TRUE(details.ok()) << details.status();
        EXPECT_EQ(details->options->provenance_diff, "--- a\n+++ b\n");
      });
    }
  });
  // Removes the first trial while others are still to come.
  End("j-1", 0);
  On([&] { ASSERT_TRUE(trials_->RemoveTrial("study-0000", "rm").ok()); });
  EXPECT_FALSE(file("study-0000", "uncommitted.diff").ok());
  RunAll(1, Parabola);
  for (int number = 1; number < 6; ++number) {
    const std::string trial = absl::StrCat("study-000", number);
    EXPECT_EQ(file(trial, "uncommitted.diff").value_or(""), "--- a\n+++ b\n") << trial;
  }
}

TEST_F(SweepsTest, SomebodyMayStopATrialOfIt) {
  const std::string id = BeginWithArgs(kRandom);
  Stop(Details(id).trials.front()->trial);
  End("j-1", 1);
  RunAll(1, Parabola);
  const auto details = Details(id);
  EXPECT_EQ(details.sweep->state, SweepState::Done);
  EXPECT_EQ(details.trials.front()->stage, SweepStage::Stopped);
  EXPECT_EQ(details.sweep->done, 5u);
}

TEST_F(SweepsTest, ARemovedSweepTakesItsTrialsAlong) {
  const std::string id = BeginWithArgs(kRandom);
  const auto remove = [&](const std::string& request_id) {
    absl::StatusOr<msg::SweepT> removed = absl::UnknownError("not called");
    On([&] {
      sweeps_->Remove(id, request_id, [&](absl::StatusOr<msg::SweepT> reply) { removed = reply; });
    });
    loop_->Settle();
    return removed;
  };
  EXPECT_EQ(remove("x").status().code(), absl::StatusCode::kFailedPrecondition);
  RunAll(1, Parabola);
  const auto removed = remove("rm");
  ASSERT_TRUE(removed.ok()) << removed.status();
  EXPECT_EQ(removed->id, id);
  EXPECT_TRUE(remove("rm").ok());
  On([&] { EXPECT_TRUE(trials_->List({}).empty()); });
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/runs/study-0000"));
  Restart();
  On([&] { EXPECT_TRUE(sweeps_->List(false).empty()); });
}

TEST_F(SweepsTest, WhoFollowsHearsEachChangeAndTheEnd) {
  const std::string id = BeginWithArgs(kRandom);
  RunAll(2, Parabola);
  ASSERT_FALSE(heard_.empty());
  EXPECT_EQ(heard_.back().sweep->state, SweepState::Done);
  std::set<std::uint64_t> trials;
  for (const auto& event : heard_) {
    for (const auto& trial : event.trials) trials.insert(trial->number);
  }
  EXPECT_EQ(trials.size(), 6u);
  const std::uint64_t events = Sweep(id).events;
  On([&] {
    const auto last = sweeps_->Since(id, events - 1);
    ASSERT_TRUE(last.ok());
    EXPECT_FALSE(last->trials.empty());
    EXPECT_TRUE(sweeps_->Since(id, events)->trials.empty());
  });
}

TEST_F(SweepsTest, AMemberOfAPopulationStartsFromTheCheckpointOfABetterOne) {
  const std::string id = BeginWithArgs(
      R"({"method":"pbt","metric":{"name":"loss"},"run_cap":12,"parallel":4,"seed":3,)"
      R"("population":{"members":4,"interval":2},"parameters":{"x":{"min":0.0,"max":1.0}}})");
  saves_ = true;
  RunAll(6, [](double x, int) { return x; });
  const auto details = Details(id);
  EXPECT_GT(details.sweep->trials, 4u) << "nobody took over";
  for (const auto& trial : details.trials) {
    if (!trial->has_from) continue;
    EXPECT_GT(trial->generation, 0u);
    ASSERT_FALSE(trial->trial.empty()) << trial->reason;
    if (trial->stage == SweepStage::Done) EXPECT_NE(Get(trial->trial).checkpoint, "");
    EXPECT_GT(trial->from_resource, 0);
  }
}

// Programs that continue from the step in their starting checkpoint. Checkpoints have 1,000 bytes.
class PopulationTest : public SweepsTest {
 protected:
  PopulationTest() {
    options_.slots = 8;
    Restart();
    saves_ = true;
  }

  struct Disk {
    int checkpoints = 0;
    std::uint64_t bytes = 0;
  };
  Disk OnDisk() const {
    Disk disk;
    for (const auto& file : std::filesystem::recursive_directory_iterator(directory_ + "/runs")) {
      const std::string name = file.path().filename();
      if (file.is_directory() && absl::StartsWith(name, "checkpoint_")) ++disk.checkpoints;
      if (name == "w") disk.bytes += file.file_size();
    }
    return disk;
  }
  void GoOn(const std::string& id) {
    const FakeJobs::Job& job = jobs_.jobs.at(id);
    for (const std::string& variable : job.spec.environment) {
      if (lines_[id] > 0 || !absl::StartsWith(variable, "YARD_CHECKPOINT=/")) continue;
      const auto saved = runtime::ReadFile(variable.substr(variable.find('=') + 1) + "/w", 1 << 20);
      ASSERT_TRUE(saved.ok()) << saved.status();
      first_steps_[NameOf(job)] = std::atoi(saved->c_str());
    }
    Step(id, 40 - first_steps_[NameOf(job)], Parabola);
  }
  // Returns the greatest number of checkpoints and of bytes at any time.
  Disk RunPopulation(std::int64_t keep, std::uint64_t bytes, bool kills) {
    auto request = WithArgs(
        R"({"method":"pbt","metric":{"name":"loss"},"parallel":8,"seed":3,)"
        R"("population":{"members":8,"interval":2},"parameters":{"x":{"min":0.0,"max":1.0}}})",
        absl::StrCat("study", keep, kills));
    if (request.trial->options == nullptr) {
      request.trial->options = std::make_unique<msg::TrialOptionsT>();
    }
    request.trial->options->keep_checkpoints = static_cast<std::int32_t>(keep);
    request.trial->options->checkpoint_bytes = bytes;
    const auto sweep = TryBegin(request);
    EXPECT_TRUE(sweep.ok()) << sweep.status();
    Disk most;
    for (int i = 0; i < 10'000; ++i) {
      std::vector<std::string> running;
      for (const auto& [id, job] : jobs_.jobs) {
        if (!job.ended) running.push_back(id);
      }
      if (running.empty()) break;
      for (const std::string& id : running) {
        if (jobs_.jobs.at(id).ended) continue;
        GoOn(id);
        const Disk now = OnDisk();
        most.checkpoints = std::max(most.checkpoints, now.checkpoints);
        most.bytes = std::max(most.bytes, now.bytes);
        if (kills && ++steps_ % 7 == 0) Restart();
      }
    }
    const auto details = Details(sweep->id);
    EXPECT_EQ(details.sweep->state, SweepState::Done);
    EXPECT_GT(details.trials.size(), 40u);
    for (const auto& trial : details.trials) {
      EXPECT_TRUE(trial->stage == SweepStage::Done || trial->stage == SweepStage::StoppedEarly)
          << trial->name << ": " << trial->reason;
      // (A trial that took over at the end has saved nothing yet.)
      const bool is_kept = trial->stage == SweepStage::Done && trial->has_value;
      EXPECT_EQ(!Get(trial->trial).checkpoint.empty(), is_kept) << trial->name;
    }
    return most;
  }

  int steps_ = 0;
};

TEST_F(PopulationTest, HasTwoCheckpointsAMemberAtMost) {
  EXPECT_LE(RunPopulation(1, 0, false).checkpoints, 16);
}

TEST_F(PopulationTest, HasTwoCheckpointsAMemberAtMostAlsoOverKills) {
  EXPECT_LE(RunPopulation(1, 0, true).checkpoints, 16);
}

TEST_F(PopulationTest, TheBytesOfItsCheckpointsAreBounded) {
  // (Each member may have its limit plus the checkpoint that it started from.)
  EXPECT_LE(RunPopulation(-1, 3'500, true).bytes, 8 * (3'500 + 1'000));
}

TEST_F(SweepsTest, FindsByIdNameAndPrefix) {
  const std::string id = Begin(kRandom);
  On([&] {
    EXPECT_EQ(sweeps_->Find("study").value_or(""), id);
    EXPECT_EQ(sweeps_->Find(id).value_or(""), id);
    EXPECT_EQ(sweeps_->Find(id.substr(0, 4)).value_or(""), id);
    EXPECT_THAT(sweeps_->Find("nope").status().message(), HasSubstr("nope"));
  });
}

}  // namespace
}  // namespace trainer

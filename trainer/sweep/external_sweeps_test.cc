// Sweeps whose suggestions come from a program that the test plays.

#include <cstdint>
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
#include "trainer/sweep/optimiser_lines.h"
#include "trainer/sweep/sweeps.h"
#include "trainer/testing/trials_fixture.h"

namespace trainer {
namespace {

using msg::SweepState;
using ::testing::Contains;
using ::testing::HasSubstr;

constexpr char kPlan[] =
    R"({"method":"external","metric":{"name":"loss"},"run_cap":12,"parallel":2,"seed":3,)"
    R"("external":{"command":["optimiser"],"options":{"deep":1}},)"
    R"("parameters":{"x":{"min":0.0,"max":1.0}}})";

class ExternalSweepsTest : public TrialsFixture {
 protected:
  ExternalSweepsTest() {
    options_.slots = 4;
    Start();
  }
  ~ExternalSweepsTest() override {
    if (loop_ != nullptr) Kill();
  }
  void BeforeOpen(Trials::Options& options) override {
    lines_ = std::make_unique<OptimiserLines>();
    lines_->OnWanted([this](const AttemptKey& key) { wanted_.insert(key); });
    auto sweeps = Sweeps::Open({.loop = options.loop,
                                .clock = options.clock,
                                .store = options.store,
                                .jobs = options.jobs,
                                .lines = lines_.get(),
                                .logdir = options.logdir,
                                .relay = options.relay});
    ASSERT_TRUE(sweeps.ok()) << sweeps.status();
    sweeps_ = *std::move(sweeps);
    options.judge = sweeps_.get();
  }
  void AfterResume() override {
    lines_->SetTrials(trials_.get());
    sweeps_->Resume(trials_.get());
  }
  void AfterKill() override {
    sweeps_.reset();
    lines_.reset();
    wanted_.clear();
  }

  std::string Begin(const std::string& plan = kPlan, const std::string& name = "study") {
    msg::RunSweepRequestT request;
    request.name = name;
    request.plan = plan;
    request.trial = std::make_unique<msg::RunTrialRequestT>(Request());
    request.trial->argv = {"prog", "${args}"};
    absl::StatusOr<msg::SweepT> sweep;
    On([&] { sweep = sweeps_->Run(absl::StrCat("sweep-", ++requests_), request, "trace"); });
    EXPECT_TRUE(sweep.ok()) << sweep.status();
    return sweep.ok() ? sweep->id : "";
  }
  msg::SweepT Sweep(const std::string& id) {
    absl::StatusOr<msg::SweepT> sweep;
    On([&] { sweep = sweeps_->Get(id); });
    EXPECT_TRUE(sweep.ok()) << sweep.status();
    return sweep.ok() ? *std::move(sweep) : msg::SweepT();
  }
  std::vector<std::string> Configs(const std::string& id) {
    absl::StatusOr<msg::SweepDetailsReplyT> details;
    On([&] { details = sweeps_->Details(id); });
    std::vector<std::string> configs;
    for (const auto& trial : details->trials) configs.push_back(trial->config);
    return configs;
  }

  // ---- Programs.

  // The lines that an optimiser's program sends and receives.
  struct Player {
    std::int64_t number = 0;  // The number of its last line, which is `line`.
    std::string line;
    bool is_answered = false;
    unsigned state = 1;  // Hash of everything it received.
    std::vector<std::string> heard = {};
    std::string says = {};  // Its answer to every later line.
    bool is_silent = false;
  };
  bool IsOptimiser(const FakeJobs::Job& job) { return job.spec.argv.front() == "optimiser"; }
  // Returns the job of the running program; empty if none runs.
  std::string OptimiserNow() {
    for (auto& [id, job] : jobs_.jobs) {
      if (IsOptimiser(job) && !job.ended && job.stops.empty()) return id;
    }
    return "";
  }
  absl::StatusOr<std::string> Bring(const std::string& job) {
    Player& player = players_[job];
    absl::StatusOr<std::string> answer;
    On([&] {
      const auto key = lines_->Greet(jobs_.jobs.at(job).spec.report_channel->nonce);
      if (!key.ok()) {
        answer = key.status();
        return;
      }
      answer = lines_->Receive({{*key, player.number, player.line, false}}).front();
    });
    return answer;
  }
  static std::string AnswerOf(Player& player, const std::string& line) {
    player.heard.push_back(line);
    for (const char c : line) player.state = player.state * 31 + static_cast<unsigned char>(c);
    if (!player.says.empty()) return player.says;
    if (absl::StrContains(line, "\"t\":\"start\"")) return R"({"t":"ready","name":"ours"})";
    if (!absl::StrContains(line, "\"t\":\"ask\"")) return R"({"t":"ok"})";
    return absl::StrCat(R"({"t":"config","config":{"x":)",
                        static_cast<double>(player.state % 997) / 997, "}}");
  }
  // Advances the optimiser by one line, if it can.
  bool Talk(const std::string& job) {
    Player& player = players_[job];
    if (player.is_silent) return false;
    if (player.number == 0) {
      player.number = 1;
      player.line = R"({"t":"hello","v":1})";
    }
    const auto answer = Bring(job);
    if (!answer.ok() || absl::StrContains(*answer, "\"stop\"") || answer->empty()) return false;
    player.line = AnswerOf(player, *answer);
    ++player.number;
    return true;
  }
  void EndProgram(const std::string& job, int exit_code) {
    On([&] {
      const auto key = lines_->Greet(jobs_.jobs.at(job).spec.report_channel->nonce);
      if (key.ok()) (void)lines_->Receive({{*key, players_[job].number, "", true}});
    });
    jobs_.End(job, exit_code);
    loop_->Settle();
  }
  // Ends the programs that were told to stop.
  void EndStopped() {
    for (auto& [id, job] : jobs_.jobs) {
      if (!job.ended && !job.stops.empty()) EndProgram(id, 1);
    }
  }
  // Lets a trial report once and end.
  bool RunTrial() {
    std::map<std::string, std::string> live;  // By name.
    for (auto& [id, job] : jobs_.jobs) {
      if (IsOptimiser(job) || job.ended) continue;
      for (const auto& label : job.spec.labels) {
        if (label->key == "trial_name") live[label->value] = id;
      }
    }
    for (const auto& [name, id] : live) {
      double x = 0;
      for (const std::string& word : jobs_.jobs.at(id).spec.argv) {
        if (absl::StartsWith(word, "--x=")) x = std::stod(word.substr(4));
      }
      Say(id, 1, absl::StrCat(R"({"t":"report","seq":1,"step":1,"m":{"loss":)", x * x, "}}"));
      SayEnd(id, 1);
      jobs_.End(id, 0);
      loop_->Settle();
      return true;
    }
    return false;
  }
  // Runs until nothing more can happen. Kills the optimiser at the given asks, counted from 1.
  void RunAll(const std::set<int>& kill_at = {}) {
    for (int i = 0; i < 2000; ++i) {
      EndStopped();
      const std::string now = OptimiserNow();
      if (!now.empty() && Talk(now)) {
        const bool asks = absl::StrContains(players_[now].heard.back(), "\"t\":\"ask\"");
        if (asks && kill_at.contains(++asks_)) EndProgram(now, 137);
        continue;
      }
      if (!RunTrial()) return;
    }
    ADD_FAILURE() << "it does not end";
  }

  std::unique_ptr<OptimiserLines> lines_;
  std::unique_ptr<Sweeps> sweeps_;
  std::map<std::string, Player> players_;
  std::set<AttemptKey> wanted_;
  int asks_ = 0;
};

TEST_F(ExternalSweepsTest, AProgramSuggestsAndHearsOfResults) {
  const std::string id = Begin();
  EXPECT_EQ(Sweep(id).reason, "its optimiser starts");
  const std::string job = OptimiserNow();
  ASSERT_EQ(job, "j-1");
  const msg::JobSpecT& spec = jobs_.jobs.at(job).spec;
  EXPECT_EQ(spec.name, "study-optimiser-1");
  EXPECT_THAT(spec.environment, Contains("YARD_SWEEP=" + id));
  RunAll();
  const msg::SweepT sweep = Sweep(id);
  EXPECT_EQ(sweep.state, SweepState::Done) << sweep.reason;
  EXPECT_EQ(sweep.trials, 12u);
  EXPECT_EQ(sweep.reason, "all 12 trials have ended");
  EXPECT_FALSE(jobs_.jobs.at(job).stops.empty()) << "it is left alone";
  const auto& heard = players_[job].heard;
  EXPECT_THAT(heard.front(), HasSubstr(R"("options":{"deep":1})"));
  int tells = 0;
  for (const std::string& line : heard) tells += absl::StrContains(line, "\"t\":\"tell\"");
  EXPECT_GE(tells, 10);
}

TEST_F(ExternalSweepsTest, ATrialsSignOfLifeReachesTheTrials) {
  msg::RunTrialRequestT request = Request("r");
  request.options = std::make_unique<msg::TrialOptionsT>();
  request.options->heartbeat_ms = 5'000;
  Run(request);
  Advance(absl::Milliseconds(4'999));
  On([&] { lines_->OnAlive({1, 1}); });
  Advance(absl::Milliseconds(1));
  EXPECT_TRUE(jobs_.jobs["j-1"].stops.empty());
  Advance(absl::Milliseconds(4'998));
  EXPECT_TRUE(jobs_.jobs["j-1"].stops.empty());
  Advance(absl::Milliseconds(1));
  EXPECT_EQ(jobs_.jobs["j-1"].stops.size(), 1u);
}

TEST_F(ExternalSweepsTest, AKilledOneIsStartedAgainAndSuggestsAsIfItLived) {
  const std::string whole = Begin(kPlan, "whole");
  RunAll();
  const auto expected = Configs(whole);
  ASSERT_EQ(expected.size(), 12u);
  for (int at = 1; at <= 12; ++at) {
    asks_ = 0;
    const std::string id = Begin(kPlan, absl::StrCat("killed-", at));
    RunAll({at});
    EXPECT_EQ(Sweep(id).state, SweepState::Done) << Sweep(id).reason;
    EXPECT_EQ(Configs(id), expected) << "killed at ask " << at;
  }
}

TEST_F(ExternalSweepsTest, AnotherTrainerEndsWhatTheLastOneHasStarted) {
  const std::string whole = Begin(kPlan, "whole");
  RunAll();
  const auto expected = Configs(whole);
  const std::string id = Begin();
  const std::string first = OptimiserNow();
  for (int i = 0; i < 7; ++i) Talk(first);
  Restart();
  loop_->Settle();
  EXPECT_FALSE(jobs_.jobs.at(first).stops.empty());
  EndStopped();
  RunTrial();
  ASSERT_NE(OptimiserNow(), "");
  EXPECT_EQ(jobs_.jobs.at(OptimiserNow()).spec.name, "study-optimiser-2");
  RunAll();
  EXPECT_EQ(Sweep(id).state, SweepState::Done);
  EXPECT_EQ(Configs(id), expected);
}

TEST_F(ExternalSweepsTest, WhatIsNoAnswerCostsTheProgramAndAtLastTheSweep) {
  const std::string other = Begin(kPlan, "other");
  for (const std::string& hostile :
       {std::string("garbage"), std::string(1 << 20, 'x'), std::string(R"({"t":"ok"})"),
        std::string(R"({"t":"hello"})")}) {
    const std::string id = Begin(kPlan, absl::StrCat("hostile-", hostile.size()));
    for (int i = 0; i < 200 && Sweep(id).state == SweepState::Running; ++i) {
      EndStopped();
      for (auto& [job, what] : jobs_.jobs) {
        if (!IsOptimiser(what) || what.ended || what.spec.labels.front()->value != id) continue;
        players_[job].says = hostile;
        Talk(job);
      }
    }
    const msg::SweepT sweep = Sweep(id);
    EXPECT_EQ(sweep.state, SweepState::Failed);
    EXPECT_THAT(sweep.reason, HasSubstr("its optimiser has failed 3 times in a row"));
    EXPECT_THAT(sweep.reason, HasSubstr("it has answered \""));
    EXPECT_LT(sweep.reason.size(), 600u);
    EndStopped();
  }
  RunAll();
  EXPECT_EQ(Sweep(other).state, SweepState::Done);
}

TEST_F(ExternalSweepsTest, OneThatIsSilentIsStartedAgainThreeTimes) {
  const std::string id = Begin();
  std::set<std::string> programs;
  for (int i = 0; i < 3; ++i) {
    programs.insert(OptimiserNow());
    Advance(absl::Seconds(59));
    EXPECT_EQ(Sweep(id).state, SweepState::Running);
    Advance(absl::Seconds(2));
    EndStopped();
  }
  EXPECT_EQ(programs.size(), 3u);
  EXPECT_EQ(Sweep(id).state, SweepState::Failed);
  EXPECT_THAT(Sweep(id).reason, HasSubstr("it has said nothing for 60 s"));
  EXPECT_THAT(Sweep(id).reason, HasSubstr("yard logs study-optimiser-3"));
  // The sweep can be resumed once the program is repaired.
  absl::StatusOr<msg::SweepT> resumed;
  msg::ChangeSweepRequestT request;
  request.order = msg::SweepOrder::Resume;
  On([&] { resumed = sweeps_->Change(id, request, "resume", ""); });
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  RunAll();
  EXPECT_EQ(Sweep(id).state, SweepState::Done) << Sweep(id).reason;
}

TEST_F(ExternalSweepsTest, OneThatEndsSaysWhy) {
  const std::string id = Begin();
  for (int i = 0; i < 3; ++i) EndProgram(OptimiserNow(), 7);
  EXPECT_EQ(Sweep(id).state, SweepState::Failed);
  EXPECT_THAT(Sweep(id).reason, HasSubstr("last: exit code 7"));
  const std::string refused = Begin(kPlan, "refused");
  jobs_.refusal = absl::NotFoundError("no program optimiser");
  for (int i = 0; i < 3; ++i) {
    if (!OptimiserNow().empty()) EndProgram(OptimiserNow(), 7);
  }
  EXPECT_EQ(Sweep(refused).state, SweepState::Failed);
  EXPECT_THAT(Sweep(refused).reason, HasSubstr("no program optimiser"));
}

TEST_F(ExternalSweepsTest, WhatCannotBeTriedIsAskedForAgainAHundredTimes) {
  const std::string id = Begin();
  Talk(OptimiserNow());
  Talk(OptimiserNow());
  const std::string job = OptimiserNow();
  for (int i = 0; i < 500 && Sweep(id).state == SweepState::Running; ++i) {
    const std::string& last = players_[job].heard.back();
    const bool asks = absl::StrContains(last, "\"t\":\"ask\"");
    players_[job].line = asks ? R"({"t":"config","config":{"x":7}})" : R"({"t":"ok"})";
    Talk(job);
  }
  EXPECT_EQ(Sweep(id).state, SweepState::Failed);
  EXPECT_THAT(Sweep(id).reason, HasSubstr("100 times in a row what cannot be tried"));
  EXPECT_EQ(Sweep(id).trials, 0u);
}

TEST_F(ExternalSweepsTest, ALineThatIsBroughtAgainCountsOnce) {
  const std::string id = Begin();
  const std::string job = OptimiserNow();
  while (Talk(job)) {
    const auto again = players_[job];
    players_[job].number = again.number - 1;
    const auto answer = Bring(job);
    EXPECT_TRUE(answer.ok() && *answer == again.heard.back());
    players_[job] = again;
  }
  EXPECT_EQ(Sweep(id).trials, 2u);
  players_[job].number += 2;
  EXPECT_FALSE(Bring(job).ok());
}

TEST_F(ExternalSweepsTest, AChangedPlanIsToldToAnotherProgram) {
  const std::string id = Begin();
  for (int i = 0; i < 5; ++i) Talk(OptimiserNow());
  RunTrial();
  const std::string first = OptimiserNow();
  std::string plan = kPlan;
  plan.replace(plan.find("\"max\":1.0"), 9, "\"max\":2.0");
  msg::ChangeSweepRequestT request;
  request.order = msg::SweepOrder::Change;
  request.plan = plan;
  On([&] { EXPECT_TRUE(sweeps_->Change(id, request, "change", "").ok()); });
  loop_->Settle();
  EXPECT_NE(OptimiserNow(), first);
  RunAll();
  EXPECT_EQ(Sweep(id).state, SweepState::Done) << Sweep(id).reason;
  EXPECT_THAT(players_[jobs_.jobs.rbegin()->first].heard, ::testing::Not(Contains("")));
  bool hears_of_the_first = false;
  for (const auto& [job, player] : players_) {
    for (const std::string& line : player.heard) {
      hears_of_the_first = hears_of_the_first || absl::StrContains(line, "\"t\":\"add\"");
    }
  }
  EXPECT_TRUE(hears_of_the_first);
}

}  // namespace
}  // namespace trainer

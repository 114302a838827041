#include "tools/yard/job/fleet_plan.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

using msg::TaskState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kPath[] = "/f/fleet.yaml";

class FleetPlanTest : public ::testing::Test {
 protected:
  FleetPlanTest() { Read("name: a\ncommand: [x]\n---\nname: b\ncommand: [x]\n"); }

  void Read(const std::string& text) { fleet_ = ParseFleet(text, kPath, "/f").value(); }
  // Adds a job to the yard, as applied from this text.
  msg::JobT& Job(const std::string& name, TaskState state, const std::string& text = "",
                 const std::string& from = kPath) {
    jobs_.push_back(std::make_unique<msg::JobT>());
    msg::JobT& job = *jobs_.back();
    job.id = "j-" + name;
    job.name = name;
    job.state = state;
    job.applied_from = from;
    job.created_us = static_cast<std::int64_t>(jobs_.size());
    if (!from.empty()) {
      const std::string whole = text.empty() ? "name: " + name + "\ncommand: [x]\n" : text;
      job.applied = ParseFleet(whole, kPath, "/f").value().jobs[0].applied;
    }
    return job;
  }
  absl::StatusOr<std::vector<FleetStep>> Make(bool prune = false) {
    std::vector<const msg::JobT*> known;
    for (const auto& job : jobs_) known.push_back(job.get());
    return PlanFleet(fleet_, known, prune, [](const std::string& path) { return path != "/gone"; });
  }
  // Returns steps like "a start is new".
  std::vector<std::string> Plan(bool prune = false) {
    const auto steps = Make(prune);
    EXPECT_TRUE(steps.ok()) << steps.status();
    std::vector<std::string> words;
    if (!steps.ok()) return words;
    for (const FleetStep& step : *steps) {
      words.push_back(step.name + " " + NameOf(step.action) + " " + step.why);
    }
    return words;
  }

  Fleet fleet_;
  std::vector<std::unique_ptr<msg::JobT>> jobs_;
};

TEST_F(FleetPlanTest, WhatIsNewStarts) {
  EXPECT_THAT(Plan(), ElementsAre("a start is new", "b start is new"));
}

TEST_F(FleetPlanTest, OnlyWhatHasChangedStartsAgain) {
  Job("a", TaskState::Running);
  Job("b", TaskState::Running, "name: b\ncommand: [y]\nautostart: true\n");
  EXPECT_THAT(Plan(), ElementsAre("a keep is unchanged", "b restart changed: autostart, command"));
}

TEST_F(FleetPlanTest, WhatHasEndedStartsAgainUnlessItIsDone) {
  Job("a", TaskState::Exited);
  Job("b", TaskState::Failed);
  EXPECT_THAT(Plan(), ElementsAre("a keep is done, and unchanged", "b start has failed"));
  jobs_[0]->stop_requested = true;
  EXPECT_THAT(Plan(), ElementsAre("a start was stopped", "b start has failed"));
  jobs_[0]->stop_requested = false;
  Read("name: a\ncommand: [z]\n---\nname: b\ncommand: [x]\n");
  EXPECT_THAT(Plan(), ElementsAre("a start changed: command", "b start has failed"));
}

TEST_F(FleetPlanTest, TheLiveJobOfANameCountsElseTheNewest) {
  Job("a", TaskState::Running);
  Job("a", TaskState::Failed);
  Job("b", TaskState::Failed);
  Job("b", TaskState::Exited);
  EXPECT_THAT(Plan(), ElementsAre("a keep is unchanged", "b keep is done, and unchanged"));
}

TEST_F(FleetPlanTest, WhatIsGoneStopsOnlyIfItIsAskedFor) {
  Job("a", TaskState::Running);
  Job("b", TaskState::Running);
  Job("c", TaskState::Running);
  Job("d", TaskState::Exited);
  Job("e", TaskState::Running, "", "/other/fleet.yaml");
  Job("f", TaskState::Running, "", "");
  EXPECT_THAT(Plan(), ElementsAre("c leave is in the file no more", "a keep is unchanged",
                                  "b keep is unchanged"));
  EXPECT_THAT(Plan(true), ElementsAre("c stop is in the file no more", "a keep is unchanged",
                                      "b keep is unchanged"));
}

TEST_F(FleetPlanTest, AJobOfSomebodyElseIsNotTouched) {
  Job("a", TaskState::Running, "", "");
  EXPECT_TRUE(absl::IsAlreadyExists(Make().status()));
  EXPECT_THAT(std::string(Make().status().message()), HasSubstr("no file keeps it"));
  jobs_[0]->applied_from = "/other/fleet.yaml";
  EXPECT_THAT(std::string(Make().status().message()), HasSubstr("/other/fleet.yaml keeps it"));
  // An ended job does not block a name, and a file that no longer exists owns no jobs.
  jobs_[0]->state = TaskState::Exited;
  EXPECT_THAT(Plan(), ElementsAre("a start is new", "b start is new"));
  jobs_[0]->state = TaskState::Running;
  jobs_[0]->applied_from = "/gone";
  jobs_[0]->applied = fleet_.jobs[0].applied;
  EXPECT_THAT(Plan(), ElementsAre("a keep is unchanged", "b start is new"));
}

TEST_F(FleetPlanTest, AJobThatIsBeingStoppedStartsAgainOnceItHasEnded) {
  Job("a", TaskState::Stopping).stop_requested = true;
  EXPECT_THAT(Plan(), ElementsAre("a restart is being stopped", "b start is new"));
}

TEST_F(FleetPlanTest, DifferencesAreNamedByTheirKeys) {
  EXPECT_EQ(Differences(R"({"a":{"b":1,"c":2},"d":3})", R"({"a":{"b":1,"c":4}})"), "a.c, d");
  EXPECT_EQ(Differences("", R"({"a":1})"), "its file");
  EXPECT_EQ(Differences(R"({"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1})", "{}"),
            "a, b, c, d, e, 2 more");
}

}  // namespace
}  // namespace yard

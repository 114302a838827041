#include "tools/yard/job/job_draft.h"

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

msg::TaskGroupT& AddGroup(msg::JobSpecT* spec, const std::string& type, std::uint32_t count) {
  auto group = std::make_unique<msg::TaskGroupT>();
  group->type = type;
  group->count = count;
  spec->groups.push_back(std::move(group));
  return *spec->groups.back();
}

void StartAfter(msg::TaskGroupT* group, const std::string& type) {
  auto after = std::make_unique<msg::StartAfterT>();
  after->type = type;
  group->start_after.push_back(std::move(after));
}

std::vector<std::string> Problems(const msg::JobSpecT& spec) {
  std::vector<std::string> lines;
  for (const TaskProblem& problem : CheckTasks(spec)) {
    lines.push_back(problem.type + "." + problem.key + ": " + problem.what);
  }
  return lines;
}

TEST(CheckTasksTest, ACommonClusterIsFine) {
  msg::JobSpecT spec;
  AddGroup(&spec, "chief", 1);
  StartAfter(&AddGroup(&spec, "worker", 3), "ps");
  AddGroup(&spec, "ps", 2).addresses = {"a:1", "b:1"};
  StartAfter(&AddGroup(&spec, "evaluator", 1), "worker");
  EXPECT_THAT(Problems(spec), IsEmpty());
}

TEST(CheckTasksTest, ThereIsAtMostOneChief) {
  msg::JobSpecT spec;
  AddGroup(&spec, "chief", 2);
  EXPECT_THAT(Problems(spec), ElementsAre("chief.count: a job has at most one chief, not 2"));
}

TEST(CheckTasksTest, ThereAreAsManyAddressesAsTasksAndAllDiffer) {
  msg::JobSpecT spec;
  AddGroup(&spec, "worker", 3).addresses = {"a:1", "b:1"};
  AddGroup(&spec, "ps", 1).addresses = {"b:1"};
  EXPECT_THAT(Problems(spec),
              ElementsAre(HasSubstr("worker.addresses: 2 addresses for 3 tasks"),
                          HasSubstr("ps.addresses: a task of worker has the address b:1")));
}

TEST(CheckTasksTest, AllTypesTogetherHaveALimit) {
  msg::JobSpecT spec;
  AddGroup(&spec, "worker", 600);
  AddGroup(&spec, "ps", 401);
  AddGroup(&spec, "evaluator", 1);
  EXPECT_THAT(Problems(spec), ElementsAre("ps.count: a job has at most 1000 tasks"));
}

TEST(CheckTasksTest, WhatIsWaitedForIsThere) {
  msg::JobSpecT spec;
  StartAfter(&AddGroup(&spec, "worker", 1), "pss");
  AddGroup(&spec, "ps", 1);
  EXPECT_THAT(Problems(spec), ElementsAre("worker.start_after: there are no tasks of type pss; "
                                          "there are: ps, worker"));
}

TEST(CheckTasksTest, ACircleIsToldForEachTypeInItAndNoOther) {
  msg::JobSpecT spec;
  StartAfter(&AddGroup(&spec, "a", 1), "b");
  StartAfter(&AddGroup(&spec, "b", 1), "c");
  StartAfter(&AddGroup(&spec, "c", 1), "b");
  StartAfter(&AddGroup(&spec, "d", 1), "d");
  EXPECT_THAT(Problems(spec), ElementsAre(HasSubstr("b.start_after: nobody would start first: b "
                                                    "after c after b"),
                                          HasSubstr("c after b after c"), HasSubstr("d after d")));
}

TEST(CheckTaskTypeTest, AWordThatIsNotATasksName) {
  for (const char* good : {"worker", "ps", "a", "data_server", "gpu-worker", "Worker2", "v-1a"}) {
    EXPECT_EQ(CheckTaskType(good), "") << good;
  }
  for (const std::string& bad :
       {std::string(), std::string("2"), std::string("-a"), std::string("a/b"), std::string("a.b"),
        std::string("worker-0"), std::string("\xC3\xA9"), std::string(33, 'a')}) {
    EXPECT_NE(CheckTaskType(bad), "") << bad;
  }
}

TEST(OverlayTest, ReplacesInPlaceAndAddsAtTheEnd) {
  EXPECT_THAT(Overlay({"A=1", "B=2", "C="}, {"B=x=y", "D=", "D=3"}),
              ElementsAre("A=1", "B=x=y", "C=", "D=3"));
}

TEST(CompleteJobTest, TakesOverTheCallersPlace) {
  JobDraft draft;
  draft.spec.argv = {"train"};
  draft.spec.environment = {"LR=0.1"};
  const auto spec = CompleteJob(draft, {"PATH=/bin", "LR=1"}, "/here");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_THAT(spec->environment, ElementsAre("PATH=/bin", "LR=0.1"));
  EXPECT_EQ(spec->working_directory, "/here");
  draft.spec.working_directory = "/there";
  EXPECT_EQ(CompleteJob(draft, {}, "/here")->working_directory, "/there");
}

TEST(CompleteJobTest, WithoutAProgramSaysForWhom) {
  JobDraft draft;
  EXPECT_THAT(CompleteJob(draft, {}, "/").status().message(), HasSubstr("no program; for example"));
  AddGroup(&draft.spec, "worker", 1);
  AddGroup(&draft.spec, "ps", 1).argv = {"serve"};
  const auto spec = CompleteJob(draft, {}, "/");
  EXPECT_TRUE(absl::IsInvalidArgument(spec.status()));
  EXPECT_THAT(spec.status().message(), HasSubstr("no program for worker;"));
  draft.spec.groups[0]->argv = {"train"};
  EXPECT_TRUE(CompleteJob(draft, {}, "/").ok());
}

TEST(CompleteJobTest, ALimitOfRestartsMeansOnFailure) {
  JobDraft draft;
  draft.spec.argv = {"train"};
  draft.spec.max_restarts = 3;
  draft.given = {"max_restarts"};
  EXPECT_EQ(CompleteJob(draft, {}, "/")->restart, msg::RestartPolicy::OnFailure);
  EXPECT_EQ(CompleteJob(draft, {}, "/")->max_restarts, 3U);
  draft.given.insert("restart");
  EXPECT_EQ(CompleteJob(draft, {}, "/")->restart, msg::RestartPolicy::Never);
}

TEST(CompleteJobTest, APolicyWithoutALimitHasNone) {
  JobDraft draft;
  draft.spec.argv = {"train"};
  EXPECT_EQ(CompleteJob(draft, {}, "/")->max_restarts, 0U);
  draft.spec.restart = msg::RestartPolicy::Always;
  draft.given = {"restart"};
  EXPECT_EQ(CompleteJob(draft, {}, "/")->max_restarts, std::numeric_limits<std::uint32_t>::max());
  draft.given.insert("max_restarts");
  EXPECT_EQ(CompleteJob(draft, {}, "/")->max_restarts, 0U);
}

}  // namespace
}  // namespace yard

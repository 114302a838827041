#include "launcher/share/node_queue.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class NodeQueueTest : public ::testing::Test {
 protected:
  void SetUp() override {
    queue_.Set({.name = "a", .pool = "lab", .slots = 2, .gpus = {"GPU-a0", "GPU-a1"}});
    queue_.Set({.name = "b", .pool = "lab", .slots = 4});
  }
  // Returns "j-1/worker-0@a GPUS" for each grant.
  std::vector<std::string> Granted() {
    std::vector<std::string> words;
    for (const NodeQueue::Grant& grant : queue_.GrantNext()) {
      words.push_back(absl::StrCat(grant.job, "/", grant.task, "@", grant.place.node));
      if (!grant.place.gpus.empty()) {
        absl::StrAppend(&words.back(), " ", absl::StrJoin(grant.place.gpus, ","));
      }
    }
    return words;
  }
  static std::vector<NodeQueue::Need> Workers(int count, NodeQueue::Need need = {}) {
    std::vector<NodeQueue::Need> needs;
    for (int i = 0; i < count; ++i) {
      needs.push_back(need);
      needs.back().task = absl::StrCat("worker-", i);
    }
    return needs;
  }
  void Ask(const std::string& job, int tasks, NodeQueue::Need need = {}) {
    queue_.Request(job, "lab", Workers(tasks, std::move(need)));
  }

  NodeQueue queue_;
};

TEST_F(NodeQueueTest, TasksThatShareGpusHaveTheSameOnEachNode) {
  queue_.Set({.name = "a", .pool = "lab", .slots = 3, .gpus = {"GPU-a0", "GPU-a1"}});
  queue_.Set({.name = "b", .pool = "lab", .slots = 4, .gpus = {"GPU-b0"}});
  const NodeQueue::Need need{.gpus = 1, .shares_gpus = true};
  ASSERT_TRUE(queue_.Check("lab", Workers(5, need)).ok());
  Ask("j-1", 5, need);
  EXPECT_THAT(Granted(),
              ElementsAre("j-1/worker-0@a GPU-a0", "j-1/worker-1@a GPU-a0", "j-1/worker-2@a GPU-a0",
                          "j-1/worker-3@b GPU-b0", "j-1/worker-4@b GPU-b0"));
  EXPECT_EQ(queue_.GpusUsed("a"), 1U);
  // No other job gets them while one of the tasks holds them.
  queue_.Release("j-1", "worker-3");
  Ask("j-2", 1, {.gpus = 1, .only_on = "b"});
  EXPECT_THAT(Granted(), IsEmpty());
  // A restarted task gets the GPUs of the other tasks of its job on that node.
  queue_.Release("j-1", "worker-0");
  queue_.Request("j-1", "lab",
                 {{.task = "worker-0", .gpus = 1, .shares_gpus = true, .only_on = "a"}});
  queue_.Release("j-2", "worker-0");
  EXPECT_THAT(Granted(), ElementsAre("j-1/worker-0@a GPU-a0"));
  queue_.Release("j-1", "worker-4");
  Ask("j-3", 1, {.gpus = 1, .only_on = "b"});
  EXPECT_THAT(Granted(), ElementsAre("j-3/worker-0@b GPU-b0"));
}

TEST_F(NodeQueueTest, TasksThatShareGpusNeedAsManyOnOneNode) {
  const NodeQueue::Need need{.gpus = 3, .shares_gpus = true};
  EXPECT_THAT(std::string(queue_.Check("lab", Workers(2, need)).message()),
              HasSubstr("pool lab is too small"));
}

TEST_F(NodeQueueTest, TasksOfAJobStayTogetherWhereMostIsFree) {
  queue_.Set({.name = "a", .pool = "lab", .slots = 2});
  Ask("j-1", 3);
  EXPECT_THAT(Granted(), ElementsAre("j-1/worker-0@b", "j-1/worker-1@b", "j-1/worker-2@b"));
  Ask("j-2", 3);
  EXPECT_THAT(Granted(), ElementsAre("j-2/worker-0@a", "j-2/worker-1@a", "j-2/worker-2@b"));
  EXPECT_EQ(queue_.SlotsUsed("a"), 2U);
  EXPECT_EQ(queue_.SlotsUsed("b"), 4U);
}

TEST_F(NodeQueueTest, AllTasksOfAJobGetTheirPlacesOrNone) {
  Ask("j-1", 4);
  EXPECT_EQ(Granted().size(), 4U);
  Ask("j-2", 3);
  EXPECT_THAT(Granted(), IsEmpty());
  EXPECT_EQ(queue_.Held("j-2", "worker-0"), nullptr);
  EXPECT_THAT(
      queue_.WhyWaiting("j-2"),
      HasSubstr("waits for pool lab: its 3 tasks start together, and worker-0 needs 1 slot; "));
  queue_.Release("j-1", "worker-0");
  EXPECT_EQ(Granted().size(), 3U);
  EXPECT_EQ(queue_.WhyWaiting("j-2"), "");
}

TEST_F(NodeQueueTest, ThatAPoolIsTooSmallIsSaid) {
  Ask("j-1", 7);
  EXPECT_THAT(Granted(), IsEmpty());
  EXPECT_THAT(queue_.WhyWaiting("j-1"),
              HasSubstr("waits for pool lab, which has 6 slots, and it needs 7: its 7 tasks "));
  // (There are enough slots, but not enough GPUs.)
  Ask("j-2", 1, {.gpus = 9});
  EXPECT_THAT(queue_.WhyWaiting("j-2"), HasSubstr("waits for pool lab, which is too small: "));
}

TEST_F(NodeQueueTest, NobodyOvertakesAJobThatWaitsInItsPool) {
  queue_.Set({.name = "c", .pool = "other", .slots = 1});
  Ask("j-1", 5);
  EXPECT_EQ(Granted().size(), 5U);
  Ask("j-2", 2);
  Ask("j-3", 1);
  queue_.Request("j-4", "other", Workers(1));
  EXPECT_THAT(Granted(), ElementsAre("j-4/worker-0@c"));
  EXPECT_EQ(queue_.WhyWaiting("j-3"), "waits for pool lab behind j-2");
  EXPECT_THAT(queue_.Waiting(10), ElementsAre("j-2", "j-3"));
  EXPECT_THAT(queue_.Waiting(1), ElementsAre("j-2"));
  queue_.Release("j-1", "worker-0");
  EXPECT_THAT(Granted(), ElementsAre("j-2/worker-0@a", "j-2/worker-1@b"));
}

TEST_F(NodeQueueTest, GpusAreGivenToOneTaskAtATime) {
  Ask("j-1", 1, {.gpus = 1});
  EXPECT_THAT(Granted(), ElementsAre("j-1/worker-0@a GPU-a0"));
  Ask("j-2", 1, {.gpus = 2});
  EXPECT_THAT(Granted(), IsEmpty());
  EXPECT_THAT(queue_.WhyWaiting("j-2"), HasSubstr("worker-0 needs 2 GPUs; "));
  EXPECT_THAT(queue_.WhyWaiting("j-2"), HasSubstr("a has 1 of 2 slots free, 1 of 2 GPUs"));
  EXPECT_EQ(queue_.GpusUsed("a"), 1U);
  queue_.Release("j-1", "worker-0");
  EXPECT_THAT(Granted(), ElementsAre("j-2/worker-0@a GPU-a0,GPU-a1"));
}

TEST_F(NodeQueueTest, MemoryAndProcessorsCountWhereTheyAreKnown) {
  queue_.Set({.name = "a", .pool = "lab", .slots = 9, .milli_cpus = 2000, .memory_bytes = 8 << 20});
  queue_.Remove("b");
  Ask("j-1", 1, {.memory_bytes = 6 << 20});
  EXPECT_EQ(Granted().size(), 1U);
  Ask("j-2", 1, {.memory_bytes = 4 << 20});
  EXPECT_THAT(Granted(), IsEmpty());
  EXPECT_THAT(queue_.WhyWaiting("j-2"),
              HasSubstr("needs 4 MiB; a has 8 of 9 slots free, 2 of 8 MiB"));
  queue_.Release("j-1", "worker-0");
  EXPECT_EQ(Granted().size(), 1U);
  Ask("j-3", 1, {.milli_cpus = 1500});
  EXPECT_EQ(Granted().size(), 1U);
  Ask("j-4", 1, {.milli_cpus = 1000});
  EXPECT_THAT(queue_.WhyWaiting("j-4"), HasSubstr("0.5 of 2 CPUs"));
  queue_.Set({.name = "a", .pool = "lab", .slots = 9});
  EXPECT_EQ(Granted().size(), 1U);
}

TEST_F(NodeQueueTest, TheLargestNeedIsPlacedFirst) {
  std::vector<NodeQueue::Need> needs = {
      {.task = "ps-0"}, {.task = "ps-1"}, {.task = "worker-0", .gpus = 2}};
  needs[2].slots = 2;
  queue_.Request("j-1", "lab", needs);
  EXPECT_THAT(Granted(), ElementsAre("j-1/ps-0@b", "j-1/ps-1@b", "j-1/worker-0@a GPU-a0,GPU-a1"));
}

TEST_F(NodeQueueTest, ANodeThatIsAwayGetsNothing) {
  NodeQueue::Node away = *queue_.Find("b");
  away.takes_tasks = false;
  queue_.Set(away);
  Ask("j-1", 3);
  EXPECT_THAT(Granted(), IsEmpty());
  EXPECT_THAT(queue_.WhyWaiting("j-1"), HasSubstr("b takes no tasks now; a has 2 of 2 slots free"));
  // Two nodes share a reason, which is named once.
  for (const char* const name : {"b", "c"}) {
    queue_.Set({.name = name, .pool = "lab", .takes_tasks = false, .why = "Slurm job 17 waits"});
  }
  EXPECT_THAT(queue_.WhyWaiting("j-1"), HasSubstr("; Slurm job 17 waits; a has 2 of 2 slots free"));
  away.takes_tasks = true;
  queue_.Set(away);
  EXPECT_EQ(Granted().size(), 3U);
}

TEST_F(NodeQueueTest, ATaskThatIsBoundToANodeWaitsForIt) {
  Ask("j-1", 2, {.only_on = "a"});
  EXPECT_THAT(Granted(), ElementsAre("j-1/worker-0@a", "j-1/worker-1@a"));
  Ask("j-2", 1, {.only_on = "a"});
  EXPECT_THAT(Granted(), IsEmpty());
  // Once that node was removed, the task may run on another.
  queue_.Remove("a");
  EXPECT_THAT(Granted(), ElementsAre("j-2/worker-0@b"));
}

TEST_F(NodeQueueTest, WhatAPoolCannotHoldIsRefusedByName) {
  EXPECT_TRUE(queue_.Check("lab", Workers(6)).ok());
  const absl::Status none = queue_.Check("lap", Workers(1));
  EXPECT_EQ(none.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(none.message(),
            "there is no pool lap; the pools are lab; next: yard pool lap --hosts HOST,...");
  const absl::Status large = queue_.Check("lab", Workers(1, {.gpus = 3}));
  EXPECT_EQ(large.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(large.message()),
              HasSubstr("pool lab is too small: worker-0 needs 3 GPUs"));
  EXPECT_EQ(queue_.Check("lab", Workers(7)).code(), absl::StatusCode::kFailedPrecondition);
  // A node that has never connected counts as large enough.
  queue_.Set({.name = "c", .pool = "lab", .takes_tasks = false});
  EXPECT_TRUE(queue_.Check("lab", Workers(7, {.gpus = 3})).ok());
}

TEST_F(NodeQueueTest, NobodyWaitsBehindAJobThatCannotStartAnyMore) {
  Ask("j-1", 6);
  queue_.Remove("b");
  EXPECT_THAT(Granted(), IsEmpty());
  Ask("j-2", 1);
  EXPECT_THAT(Granted(), ElementsAre("j-2/worker-0@a"));
  queue_.Remove("a");
  EXPECT_THAT(queue_.WhyWaiting("j-1"),
              HasSubstr("waits for pool lab, which has no nodes any more"));
}

TEST_F(NodeQueueTest, PlacesOfAnEarlierLauncherAreBelieved) {
  queue_.Restore("j-1", "worker-0", {.node = "a", .slots = 2, .gpus = {"GPU-a0"}});
  queue_.Restore("j-0", "worker-0", {.node = "gone", .slots = 1});
  Ask("j-2", 1, {.gpus = 1});
  EXPECT_THAT(Granted(), IsEmpty());
  queue_.Release("j-1", "worker-0");
  EXPECT_THAT(Granted(), ElementsAre("j-2/worker-0@a GPU-a0"));
}

TEST_F(NodeQueueTest, ATaskThatNoLongerWaitsLeavesTheQueue) {
  Ask("j-1", 6);
  (void)Granted();
  Ask("j-2", 2);
  queue_.Release("j-2", "worker-0");
  EXPECT_THAT(queue_.Waiting(10), ElementsAre("j-2"));
  queue_.Release("j-2", "worker-1");
  EXPECT_THAT(queue_.Waiting(10), IsEmpty());
}

}  // namespace
}  // namespace launcher

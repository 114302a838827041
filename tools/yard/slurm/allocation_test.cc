#include "tools/yard/slurm/allocation.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/yard/slurm/slurm_commands.h"
#include "tools/yard/slurm/slurm_pool.h"

namespace yard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Phase = SlurmPoolState::Phase;
using Step = Allocation::Step;

const absl::Time kStart = absl::FromUnixSeconds(1'800'000'000);

SlurmPool Pool(std::uint64_t revision = 1) {
  SlurmPool pool;
  pool.pool = "lab";
  pool.revision = revision;
  pool.nodes = 2;
  pool.directory = "/shared";
  pool.gate = {"tcp://login1:7711"};
  return pool;
}

// Simulates Slurm, a launcher and a state file, with a keeper that may be killed at any point.
// Fails the test if the keeper breaks an invariant.
class World {
 public:
  struct Job {
    std::string id, name, state = "PENDING";
    bool is_known = true;     // slurmctld still knows it.
    bool is_haunted = false;  // It was forgotten once, or restarted after its end.
    absl::Time submitted, ended = absl::InfiniteFuture();
    std::int64_t end = 0;
  };

  World() { Restart(); }

  // ---- Events.
  void Restart() {
    keeper_ = std::make_unique<Allocation>(
        Allocation::Options{.pool = "lab",
                            .nonce = [this] { return absl::StrCat("0000000", ++nonces_ % 10); }},
        stored);
    if (pool) keeper_->TakePool(*pool);
    pending_ = Step::kNothing;
    is_new_ = true;
  }
  void SetPool(SlurmPool wanted) {
    pool = std::move(wanted);
    keeper_->TakePool(*pool);
  }
  void Advance(absl::Duration duration) { now += duration; }
  Job& OnlyJob() {
    EXPECT_EQ(jobs.size(), 1u);
    return jobs.back();
  }
  void Start(Job& job, bool connects = true) {
    job.state = "RUNNING";
    if (connects) Connect(job);
  }
  // The nodes of a job connect: the first run of an allocation claims it.
  void Connect(const Job& job) {
    const auto claim =
        claims.emplace(job.name, job.id + "/" + absl::FormatTime(job.submitted)).first;
    if (claim->second != job.id + "/" + absl::FormatTime(job.submitted)) return;
    for (auto& [name, node] : nodes) {
      if (allocations[name] != job.name || keys.count(name) == 0) continue;
      node.is_connected = node.has_come = true;
      node.host = "node" + name.substr(name.rfind('-') + 1);
      node.since_us = absl::ToUnixMicros(now);
    }
  }
  void Disconnect() {
    for (auto& [name, node] : nodes) {
      if (!node.is_connected) continue;
      node.is_connected = false;
      node.since_us = absl::ToUnixMicros(now);
    }
  }
  void End(Job& job, const std::string& state) {
    job.state = state;
    job.ended = now;
    if (IsClaimOf(job)) Disconnect();
  }
  bool IsClaimOf(const Job& job) const {
    const auto claim = claims.find(job.name);
    return claim != claims.end() && claim->second == job.id + "/" + absl::FormatTime(job.submitted);
  }

  // ---- The keeper.

  // Gives inputs and executes all steps due now. `killed` is the moment of a kill: 1 before the
  // state is stored, 2 after that, 3 after the step was executed but before its result is known.
  void Turn(int killed = 0) {
    GiveNews();
    for (int i = 0; i < 50; ++i) {
      const Step step = keeper_->Next(now);
      if (killed == 1) return Restart();
      stored = keeper_->state();
      if (step == Step::kNothing) return;
      if (killed == 2) return Restart();
      steps.push_back(step);
      if (!Do(step, killed == 3)) return Restart();
      stored = keeper_->state();
    }
    ADD_FAILURE() << "it never rests";
  }
  // Takes turns of one second each, for this long.
  void Run(absl::Duration duration) {
    for (const absl::Time until = now + duration; now < until; now += absl::Seconds(1)) Turn();
  }

  void GiveNews() {
    if (!launcher_up) return;
    std::vector<AllocationNode> all;
    for (const auto& [name, node] : nodes) all.push_back(node);
    keeper_->TakeNodes(now, all, is_wanted, is_held);
    if (now < next_poll_ && !is_new_ && !keeper_->WantsNews(now)) return;
    is_new_ = false;
    next_poll_ = now + absl::Seconds(10);
    if (!controller_up) return keeper_->TakeNoAnswer("connect failure");
    keeper_->TakeQueue(now, is_queue_empty ? std::vector<QueuedJob>() : Queue());
  }
  std::vector<QueuedJob> Queue() const {
    std::vector<QueuedJob> queue = strangers;
    for (const Job& job : jobs) {
      if (!job.is_known) continue;
      queue.push_back({.id = job.id,
                       .name = job.name,
                       .state = job.state,
                       .node_list = "node[0-1]",
                       .reason = reason,
                       .submitted = absl::ToUnixSeconds(job.submitted),
                       .end = job.end});
    }
    return queue;
  }

  // Returns false if the keeper was killed.
  bool Do(Step step, bool is_killed) {
    switch (step) {
      case Step::kPrepare:
        SetNodes(keeper_->state().number, keeper_->state().name, /*with_keys=*/true);
        break;
      case Step::kTell:
        break;
      case Step::kClear: {
        const std::uint64_t number = keeper_->state().number;
        EXPECT_FALSE(IsUsed()) << "nodes with tasks are cleared while they are connected";
        SetNodes(number + 1, "", false);
        Remove([&](const std::string& name) {
          return !name.starts_with(absl::StrCat("lab-", number + 1, "-"));
        });
        break;
      }
      case Step::kForget:
        Remove([](const std::string&) { return true; });
        pool.reset();
        stored = {};
        break;
      case Step::kDrain:
        ++drains;
        for (auto& [name, node] : nodes) node.tasks.clear();
        break;
      case Step::kCancel:
        if (!controller_up) {
          if (!is_killed) keeper_->Done(now, absl::UnavailableError("connect failure"));
          return !is_killed;
        }
        for (Job& job : jobs) {
          if (job.name != keeper_->state().name || !job.is_known) continue;
          if (LifeOf(job.state) != SlurmLife::kEnded) End(job, "CANCELLED");
        }
        break;
      case Step::kSubmit:
        return Submit(is_killed);
      case Step::kLookUp:
      case Step::kConfirm: {
        absl::StatusOr<std::vector<QueuedJob>> found = Queue();
        if (!controller_up) found = absl::UnavailableError("connect failure");
        if (step == Step::kConfirm && found.ok()) {
          std::erase_if(*found,
                        [&](const QueuedJob& job) { return job.id != keeper_->state().slurm_id; });
          if (found->empty()) found = absl::NotFoundError("Invalid job id");
          if (is_queue_empty) found = std::vector<QueuedJob>();
        }
        if (is_killed) return false;
        keeper_->LookedUp(now, found);
        return true;
      }
      case Step::kExplain:
        if (is_killed) return false;
        keeper_->Explained(now, explanation);
        return true;
      case Step::kNothing:
        break;
    }
    if (is_killed) return false;
    keeper_->Done(now, absl::OkStatus());
    return true;
  }
  bool Submit(bool is_killed) {
    const std::string name = keeper_->state().name;
    // The state must have been stored before the call.
    EXPECT_EQ(stored.phase, Phase::kSubmitting);
    EXPECT_EQ(stored.name, name);
    EXPECT_GT(stored.tries, calls[name]);
    ++calls[name];
    for (const auto& [other, count] : calls) {
      if (other == name) continue;
      for (const Job& job : jobs) {
        EXPECT_FALSE(job.name == other && job.is_known && !job.is_haunted &&
                     LifeOf(job.state) != SlurmLife::kEnded)
            << job.id << " lives while the next one is asked for";
      }
    }
    for (std::uint32_t i = 0; i < pool->nodes; ++i) {
      EXPECT_TRUE(keys.contains(Allocation::NodeName("lab", stored.number, i)));
    }
    Submission answer = refusal;
    if (refusal.outcome != Submission::Outcome::kRefused && controller_up) {
      jobs.push_back({.id = absl::StrCat(next_id++), .name = name, .submitted = now});
      answer = {.outcome = Submission::Outcome::kAccepted, .id = jobs.back().id};
    }
    if (is_answer_lost) answer = {.why = "Socket timed out"};
    if (is_killed) return false;
    keeper_->Submitted(now, answer);
    return true;
  }

  bool IsUsed() const {
    return std::any_of(nodes.begin(), nodes.end(), [](const auto& node) {
      return node.second.is_connected && !node.second.tasks.empty();
    });
  }
  void SetNodes(std::uint64_t number, const std::string& allocation, bool with_keys) {
    for (std::uint32_t i = 0; i < pool->nodes; ++i) {
      const std::string name = Allocation::NodeName("lab", number, i);
      nodes.emplace(name, AllocationNode{.name = name});
      allocations[name] = allocation;
      if (with_keys) keys.insert(name);
    }
  }
  void Remove(const std::function<bool(const std::string&)>& is_meant) {
    std::erase_if(nodes, [&](const auto& node) { return is_meant(node.first); });
    std::erase_if(keys, is_meant);
  }

  Allocation& keeper() { return *keeper_; }
  int Count(Step step) const {
    return static_cast<int>(std::count(steps.begin(), steps.end(), step));
  }

  absl::Time now = kStart;
  std::optional<SlurmPool> pool;
  SlurmPoolState stored;
  std::vector<Job> jobs;
  std::vector<QueuedJob> strangers;
  std::string reason = "Priority", explanation;
  std::uint64_t next_id = 17;
  std::map<std::string, std::uint32_t> calls;  // Number of sbatch calls by name.
  std::map<std::string, AllocationNode> nodes;
  std::map<std::string, std::string> allocations, claims;
  std::set<std::string> keys;
  std::vector<Step> steps;
  Submission refusal;
  bool controller_up = true, launcher_up = true, is_answer_lost = false, is_queue_empty = false;
  bool is_wanted = false, is_held = false;
  int drains = 0;

 private:
  std::unique_ptr<Allocation> keeper_;
  Step pending_ = Step::kNothing;
  absl::Time next_poll_ = absl::InfinitePast();
  bool is_new_ = true;
  int nonces_ = 0;
};

// A world whose pool has a queued job.
class AllocationTest : public testing::Test {
 protected:
  void MakePool() {
    world_.SetPool(Pool());
    world_.Turn();
  }
  // Lets the nodes connect.
  void MakeRun() {
    MakePool();
    world_.Start(world_.jobs.back());
    world_.Run(absl::Seconds(12));
    ASSERT_EQ(world_.stored.phase, Phase::kRunning);
  }
  World world_;
};

TEST_F(AllocationTest, ANewPoolIsAskedForAtOnce) {
  MakePool();
  EXPECT_THAT(world_.steps, ElementsAre(Step::kPrepare, Step::kSubmit, Step::kTell));
  EXPECT_EQ(world_.stored.phase, Phase::kWaiting);
  EXPECT_EQ(world_.stored.slurm_id, "17");
  EXPECT_EQ(world_.stored.revision, 1u);
  EXPECT_THAT(world_.stored.name, StartsWith("y-lab-1-"));
  EXPECT_THAT(world_.stored.why, HasSubstr("Slurm job 17 waits"));
  EXPECT_EQ(world_.nodes.size(), 2u);
}

TEST_F(AllocationTest, NothingIsDoneBeforeTheLauncherAnswers) {
  world_.launcher_up = false;
  MakePool();
  EXPECT_THAT(world_.steps, IsEmpty());
}

TEST_F(AllocationTest, TheReasonOfAJobThatWaitsIsTold) {
  MakePool();
  world_.reason = "PartitionTimeLimit";
  world_.Run(absl::Seconds(15));
  EXPECT_THAT(world_.stored.why,
              StartsWith("Slurm job 17 waits: PartitionTimeLimit, which does not end by itself: "));
  EXPECT_GE(world_.Count(Step::kTell), 2);
  const int told = world_.Count(Step::kTell);
  world_.Run(absl::Minutes(2));
  EXPECT_EQ(world_.Count(Step::kTell), told);  // Unchanged words are sent only once.
}

TEST_F(AllocationTest, OnceANodeIsConnectedNothingIsSaidToWait) {
  MakePool();
  world_.reason = "Priority";
  world_.Run(absl::Seconds(12));
  EXPECT_EQ(world_.stored.why, "Slurm job 17 waits: Priority");
  world_.Advance(absl::Seconds(1));
  world_.Start(world_.OnlyJob());
  world_.Turn();  // Before the next squeue.
  EXPECT_EQ(world_.stored.phase, Phase::kRunning);
  EXPECT_EQ(world_.stored.why, "");
}

TEST_F(AllocationTest, AJobWithoutATimeLimitHasNoEnd) {
  MakeRun();
  world_.OnlyJob().end = absl::ToUnixSeconds(world_.now + absl::Hours(24 * 365));
  world_.Run(absl::Seconds(12));
  EXPECT_EQ(world_.stored.end_us, 0);
  world_.OnlyJob().end = absl::ToUnixSeconds(world_.now + absl::Hours(24 * 30));
  world_.Run(absl::Seconds(12));
  EXPECT_EQ(world_.stored.end_us, world_.OnlyJob().end * 1'000'000);
}

TEST_F(AllocationTest, ARefusalIsTriedOnceUntilThePoolIsChanged) {
  world_.refusal = {.outcome = Submission::Outcome::kRefused, .why = "Invalid partition name"};
  world_.is_wanted = true;
  MakePool();
  world_.Run(absl::Hours(1));
  EXPECT_EQ(world_.calls.size(), 1u);
  EXPECT_EQ(world_.Count(Step::kSubmit), 1);
  EXPECT_EQ(world_.Count(Step::kLookUp), 0);
  EXPECT_EQ(world_.stored.phase, Phase::kRefused);
  EXPECT_EQ(world_.stored.revision, 1u);
  EXPECT_EQ(world_.stored.why, "sbatch refuses: Invalid partition name");
  EXPECT_THAT(world_.keys, IsEmpty());
  world_.Restart();
  world_.Run(absl::Minutes(1));
  EXPECT_EQ(world_.Count(Step::kSubmit), 1);
  world_.refusal = {};
  world_.SetPool(Pool(2));
  world_.Turn();
  EXPECT_EQ(world_.stored.phase, Phase::kWaiting);
  EXPECT_EQ(world_.stored.revision, 2u);
}

TEST_F(AllocationTest, AfterAnyKillAroundSbatchOneJobIsThere) {
  for (int turns = 0; turns < 3; ++turns) {
    for (int killed = 1; killed <= 3; ++killed) {
      World world;
      world.SetPool(Pool());
      for (int i = 0; i < turns; ++i) world.Turn(killed);
      world.Turn(killed);
      world.Run(absl::Minutes(3));
      EXPECT_EQ(world.jobs.size(), 1u) << turns << " " << killed;
      EXPECT_EQ(world.stored.phase, Phase::kWaiting) << turns << " " << killed;
      EXPECT_EQ(world.stored.slurm_id, "17");
    }
  }
}

TEST_F(AllocationTest, AJobWhoseIdWasLostIsFoundByItsName) {
  world_.is_answer_lost = true;
  MakePool();
  EXPECT_EQ(world_.jobs.size(), 1u);
  EXPECT_EQ(world_.stored.phase, Phase::kWaiting);
  EXPECT_EQ(world_.stored.slurm_id, "17");
  EXPECT_EQ(world_.Count(Step::kSubmit), 1);
}

TEST_F(AllocationTest, AJobThatDoesNotExistIsSubmittedAgainUnderItsNameAfterTwoLooks) {
  world_.controller_up = false;
  MakePool();
  const std::string name = world_.stored.name;
  world_.Run(absl::Minutes(5));
  EXPECT_EQ(world_.Count(Step::kSubmit), 1);  // A failed lookup is no evidence.
  EXPECT_THAT(world_.stored.why, StartsWith("slurmctld does not answer: "));
  world_.controller_up = true;
  const absl::Time back = world_.now;
  while (world_.Count(Step::kSubmit) < 2 && world_.now < back + absl::Minutes(2)) {
    world_.Turn();
    world_.Advance(absl::Seconds(1));
  }
  EXPECT_GE(world_.now - back, absl::Seconds(20));
  EXPECT_EQ(world_.stored.name, name);
  EXPECT_EQ(world_.stored.phase, Phase::kWaiting);
}

TEST_F(AllocationTest, ARefusalAfterALostAnswerIsBelievedOnceNoJobIsFound) {
  world_.controller_up = false;
  MakePool();
  world_.controller_up = true;
  world_.refusal = {.outcome = Submission::Outcome::kRefused, .why = "no"};
  world_.Run(absl::Minutes(5));
  EXPECT_EQ(world_.Count(Step::kSubmit), 2);
  EXPECT_EQ(world_.stored.phase, Phase::kRefused);
}

TEST_F(AllocationTest, NoWordOfSlurmEndsWhatIsConnected) {
  MakeRun();
  world_.is_wanted = true;
  World::Job& job = world_.OnlyJob();
  for (const char* const state : {"FAILED", "NODE_FAIL", "COMPLETED", "CANCELLED", "PENDING"}) {
    job.state = state;
    world_.Run(absl::Minutes(5));
    EXPECT_EQ(world_.stored.phase, Phase::kRunning) << state;
  }
  job.is_known = false;
  world_.Run(absl::Minutes(5));
  world_.is_queue_empty = true;
  world_.Run(absl::Minutes(5));
  world_.controller_up = false;
  world_.Run(absl::Minutes(5));
  EXPECT_EQ(world_.stored.phase, Phase::kRunning);
  EXPECT_EQ(world_.Count(Step::kClear), 0);
}

TEST_F(AllocationTest, AnEmptyOrFailedAnswerEndsNothingWithoutALinkEither) {
  MakeRun();
  world_.Disconnect();
  world_.is_queue_empty = true;
  world_.Run(absl::Hours(1));
  world_.controller_up = false;
  world_.Run(absl::Hours(1));
  EXPECT_EQ(world_.stored.phase, Phase::kRunning);
  World waiting;
  waiting.SetPool(Pool());
  waiting.Turn();
  waiting.is_queue_empty = true;
  waiting.Run(absl::Hours(1));
  EXPECT_EQ(waiting.stored.phase, Phase::kWaiting);
}

TEST_F(AllocationTest, EachEndThatSlurmTellsEndsItOnceTheNodesAreAway) {
  for (const char* const state : {"COMPLETED", "FAILED", "TIMEOUT", "PREEMPTED", "CANCELLED",
                                  "OUT_OF_MEMORY", "NODE_FAIL", "BOOT_FAIL", "DEADLINE"}) {
    World world;
    world.SetPool(Pool());
    world.Turn();
    world.Start(world.jobs.back());
    world.Run(absl::Seconds(12));
    world.End(world.jobs.back(), state);
    world.Run(absl::Seconds(20));
    EXPECT_EQ(world.stored.phase, Phase::kIdle) << state;
    EXPECT_THAT(world.stored.why, HasSubstr(state));
    EXPECT_THAT(world.keys, IsEmpty());
    // The pool always has nodes, so that tasks can wait for it.
    EXPECT_THAT(world.nodes.begin()->first, "lab-2-0");
    EXPECT_EQ(world.nodes.size(), 2u);
  }
}

// The warned nodes exit by themselves, so Slurm reports the job as COMPLETED.
TEST_F(AllocationTest, APreemptionIsToldThoughTheNodesEndedInTime) {
  MakeRun();
  world_.is_wanted = true;
  world_.explanation = "PREEMPTED";
  world_.End(world_.OnlyJob(), "COMPLETED");
  world_.Run(absl::Seconds(20));
  EXPECT_EQ(world_.Count(Step::kExplain), 1);
  EXPECT_EQ(world_.stored.number, 2u);
  EXPECT_EQ(world_.stored.last_end, "Slurm: PREEMPTED (Slurm job 17)");
  // The text stays until a later allocation ends.
  world_.Start(world_.jobs.back());
  world_.Run(absl::Seconds(20));
  EXPECT_EQ(world_.stored.phase, Phase::kRunning);
  EXPECT_EQ(world_.stored.last_end, "Slurm: PREEMPTED (Slurm job 17)");
  world_.explanation.clear();
  world_.End(world_.jobs.back(), "FAILED");
  world_.Run(absl::Seconds(20));
  EXPECT_EQ(world_.stored.last_end, "Slurm: FAILED (Slurm job 18)");
}

TEST_F(AllocationTest, StatesThatAreNoEndsEndNothing) {
  for (const char* const state : {"COMPLETING", "SUSPENDED", "SIGNALING", "STOPPED", "WHATEVER"}) {
    World world;
    world.SetPool(Pool());
    world.Turn();
    world.Start(world.jobs.back());
    world.Run(absl::Seconds(12));
    world.Disconnect();
    world.jobs.back().state = state;
    world.Run(absl::Minutes(30));
    EXPECT_EQ(world.stored.phase, Phase::kRunning) << state;
  }
}

TEST_F(AllocationTest, TheNextAllocationIsAskedForWhereTasksWait) {
  MakeRun();
  world_.is_wanted = true;
  world_.End(world_.OnlyJob(), "TIMEOUT");
  world_.Run(absl::Seconds(30));
  EXPECT_EQ(world_.stored.phase, Phase::kWaiting);
  EXPECT_EQ(world_.stored.number, 2u);
  EXPECT_EQ(world_.jobs.size(), 2u);
}

TEST_F(AllocationTest, ANodeThatFailedIsExcludedFromTheNext) {
  MakeRun();
  world_.is_wanted = true;
  // The failed node disconnects first; Slurm ends the other one later.
  auto& failed = world_.nodes.at("lab-1-1");
  failed.is_connected = false;
  failed.since_us = absl::ToUnixMicros(world_.now);
  world_.Run(absl::Seconds(20));
  world_.End(world_.OnlyJob(), "NODE_FAIL");
  world_.Run(absl::Seconds(30));
  EXPECT_THAT(world_.stored.excluded, ElementsAre("node1"));
  EXPECT_EQ(world_.stored.number, 2u);
}

TEST_F(AllocationTest, TasksThatFindNoRoomBesideALostNodeGetAnotherAllocation) {
  MakeRun();
  world_.is_wanted = true;
  auto& failed = world_.nodes.at("lab-1-1");
  failed.is_connected = false;
  failed.since_us = absl::ToUnixMicros(world_.now);
  world_.Run(absl::Minutes(4));
  EXPECT_EQ(world_.stored.number, 1u);
  world_.Run(absl::Minutes(3));
  EXPECT_EQ(world_.stored.number, 2u);
  EXPECT_THAT(world_.stored.excluded, ElementsAre("node1"));
}

TEST_F(AllocationTest, AnEndThatSlurmForgetsSoonIsSeen) {
  MakeRun();
  World::Job& job = world_.OnlyJob();
  world_.End(job, "COMPLETING");
  world_.Run(absl::Seconds(3));
  job.state = "TIMEOUT";
  world_.Run(absl::Seconds(4));
  job.is_known = false;
  world_.Run(absl::Seconds(20));
  EXPECT_EQ(world_.stored.phase, Phase::kIdle);
  EXPECT_EQ(world_.stored.last_end, "Slurm: TIMEOUT (Slurm job 17)");
}

TEST_F(AllocationTest, AJobThatSlurmHasForgottenIsLostInTime) {
  MakeRun();
  world_.OnlyJob().is_known = false;
  world_.Disconnect();
  world_.Run(absl::Minutes(4));
  EXPECT_EQ(world_.stored.phase, Phase::kRunning);
  world_.Run(absl::Minutes(2));
  EXPECT_EQ(world_.stored.phase, Phase::kIdle);
  EXPECT_THAT(world_.stored.why, HasSubstr("does not know Slurm job 17 any more"));
}

TEST_F(AllocationTest, AForgottenJobThatNeverCameIsAskedForAgainSoon) {
  world_.is_wanted = true;
  MakePool();
  world_.OnlyJob().is_known = false;
  world_.Run(absl::Seconds(20));
  EXPECT_EQ(world_.stored.number, 1u);
  world_.Run(absl::Seconds(60));
  EXPECT_EQ(world_.stored.number, 2u);
  EXPECT_EQ(world_.stored.phase, Phase::kWaiting);
}

TEST_F(AllocationTest, AnotherJobUnderTheSameIdIsNotTaken) {
  MakePool();
  world_.OnlyJob().is_known = false;
  world_.strangers = {{.id = "17", .name = "somebodys", .state = "COMPLETED", .submitted = 1}};
  world_.Run(absl::Seconds(20));
  EXPECT_EQ(world_.stored.phase, Phase::kWaiting);
  EXPECT_EQ(world_.stored.state, "PENDING");
  world_.Run(absl::Seconds(60));
  EXPECT_EQ(world_.stored.phase, Phase::kIdle);
  EXPECT_EQ(world_.stored.failures, 1u);
}

TEST_F(AllocationTest, AfterThreeAllocationsWithoutANodeNoneIsAskedFor) {
  world_.is_wanted = true;
  world_.explanation = "the nodes do not see /shared";
  MakePool();
  for (int i = 0; i < 20; ++i) {
    for (World::Job& job : world_.jobs) {
      if (LifeOf(job.state) != SlurmLife::kEnded) world_.End(job, "FAILED");
    }
    world_.Run(absl::Minutes(2));
  }
  EXPECT_EQ(world_.jobs.size(), 3u);
  EXPECT_EQ(world_.stored.phase, Phase::kRefused);
  EXPECT_THAT(world_.stored.why, HasSubstr("no node came from 3 allocations"));
  EXPECT_THAT(world_.stored.why, HasSubstr("the nodes do not see /shared"));
  world_.SetPool(Pool(2));
  world_.Turn();
  EXPECT_EQ(world_.jobs.size(), 4u);
  EXPECT_EQ(world_.stored.failures, 0u);
}

TEST_F(AllocationTest, NodesThatDoNotConnectAreSaidWithTheCause) {
  world_.explanation = "cannot connect to tcp://login1:7711";
  MakePool();
  world_.Start(world_.OnlyJob(), /*connects=*/false);
  world_.Run(absl::Seconds(50));
  EXPECT_EQ(world_.stored.phase, Phase::kWaiting);
  EXPECT_EQ(world_.stored.why,
            "Slurm job 17 is RUNNING on node[0-1], and no node has connected: cannot connect to "
            "tcp://login1:7711");
}

TEST_F(AllocationTest, AnAllocationThatNobodyUsesIsGivenBackAndAskedForAgain) {
  MakeRun();
  world_.Run(absl::Minutes(9));
  EXPECT_EQ(world_.stored.phase, Phase::kRunning);
  world_.nodes.at("lab-1-0").tasks = {"j-abcde/worker-0"};
  world_.is_wanted = true;
  world_.Run(absl::Minutes(30));
  world_.nodes.at("lab-1-0").tasks = {};
  world_.is_wanted = false;
  world_.Run(absl::Minutes(9));
  EXPECT_EQ(world_.stored.phase, Phase::kRunning);
  world_.Run(absl::Minutes(2));
  EXPECT_EQ(world_.stored.phase, Phase::kIdle);
  EXPECT_THAT(world_.stored.why, HasSubstr("it was given back"));
  EXPECT_EQ(world_.OnlyJob().state, "CANCELLED");
  world_.Run(absl::Hours(1));
  EXPECT_EQ(world_.jobs.size(), 1u);
  world_.is_wanted = true;
  world_.Turn();
  EXPECT_EQ(world_.jobs.size(), 2u);
}

TEST_F(AllocationTest, BeforeItsTimeIsOverItIsDrained) {
  MakeRun();
  world_.is_wanted = true;
  world_.OnlyJob().end = absl::ToUnixSeconds(world_.now + absl::Minutes(20));
  world_.nodes.at("lab-1-0").tasks = {"j-abcde/worker-0"};
  world_.Run(absl::Minutes(14));
  EXPECT_EQ(world_.drains, 0);
  world_.Run(absl::Minutes(2));
  EXPECT_EQ(world_.drains, 1);
  // The task waits for the next allocation, which is requested.
  EXPECT_EQ(world_.stored.number, 2u);
  EXPECT_EQ(world_.jobs.front().state, "CANCELLED");
}

TEST_F(AllocationTest, ADrainThatWasCutShortIsDoneAgain) {
  MakeRun();
  world_.is_wanted = true;
  world_.OnlyJob().end = absl::ToUnixSeconds(world_.now + absl::Minutes(5));
  world_.nodes.at("lab-1-0").tasks = {"j-abcde/worker-0"};
  world_.Advance(absl::Seconds(10));
  world_.Turn();
  world_.Turn(/*killed=*/2);
  world_.Run(absl::Seconds(30));
  EXPECT_GE(world_.drains, 1);
  EXPECT_EQ(world_.stored.number, 2u);
}

TEST_F(AllocationTest, APoolThatIsRemovedGoesWithItsJob) {
  MakeRun();
  SlurmPool pool = Pool(2);
  pool.removing = true;
  world_.SetPool(pool);
  world_.Run(absl::Seconds(5));
  EXPECT_TRUE(world_.keeper().IsForgotten());
  EXPECT_EQ(world_.OnlyJob().state, "CANCELLED");
  EXPECT_THAT(world_.nodes, IsEmpty());
  EXPECT_THAT(world_.keys, IsEmpty());
}

TEST_F(AllocationTest, AJobWithoutAnIdIsCancelledTwice) {
  world_.controller_up = false;
  MakePool();
  world_.controller_up = true;
  SlurmPool pool = Pool(2);
  pool.removing = true;
  world_.SetPool(pool);
  world_.Run(absl::Minutes(2));
  EXPECT_TRUE(world_.keeper().IsForgotten());
  EXPECT_EQ(world_.Count(Step::kCancel), 2);
}

TEST_F(AllocationTest, AChangeAsksAnewForWhatStillWaitsAndNotForWhatRuns) {
  MakePool();
  world_.SetPool(Pool(2));
  world_.Run(absl::Seconds(3));
  EXPECT_EQ(world_.jobs.size(), 2u);
  EXPECT_EQ(world_.jobs.front().state, "CANCELLED");
  EXPECT_EQ(world_.stored.revision, 2u);
  world_.Start(world_.jobs.back());
  world_.Run(absl::Seconds(12));
  world_.SetPool(Pool(3));
  world_.Run(absl::Seconds(3));
  EXPECT_EQ(world_.jobs.size(), 2u);
  EXPECT_EQ(world_.stored.revision, 3u);
}

TEST_F(AllocationTest, APoolForOneJobGoesWithTheJob) {
  SlurmPool pool = Pool();
  pool.once = true;
  world_.SetPool(pool);
  world_.Turn();
  world_.Run(absl::Seconds(100));
  EXPECT_FALSE(world_.keeper().IsForgotten());
  world_.is_wanted = true;
  world_.Start(world_.OnlyJob());
  world_.Run(absl::Hours(1));
  EXPECT_EQ(world_.stored.phase, Phase::kRunning);
  world_.is_wanted = false;
  world_.Run(absl::Seconds(90));
  EXPECT_TRUE(world_.keeper().IsForgotten());
  EXPECT_EQ(world_.OnlyJob().state, "CANCELLED");
}

// A sweep may be idle: its pool stays, its allocation is given back, and its next trial gets a new
// one.
TEST_F(AllocationTest, APoolForASweepGoesWithTheSweep) {
  SlurmPool pool = Pool();
  pool.once = true;
  pool.sweep = "s-abcde";
  world_.SetPool(pool);
  world_.is_wanted = world_.is_held = true;
  world_.Turn();
  world_.Start(world_.OnlyJob());
  world_.Run(absl::Minutes(1));
  world_.is_wanted = false;
  world_.Run(absl::Minutes(5));
  EXPECT_EQ(world_.stored.phase, Phase::kRunning);
  world_.Run(absl::Hours(2));
  EXPECT_FALSE(world_.keeper().IsForgotten());
  EXPECT_EQ(world_.stored.phase, Phase::kIdle);
  EXPECT_EQ(world_.OnlyJob().state, "CANCELLED");
  world_.is_wanted = true;
  world_.Turn();
  EXPECT_EQ(world_.jobs.size(), 2u);
  world_.Start(world_.jobs.back());
  world_.Run(absl::Minutes(1));
  EXPECT_EQ(world_.stored.phase, Phase::kRunning);
  world_.is_wanted = world_.is_held = false;
  world_.Run(absl::Seconds(5));
  EXPECT_TRUE(world_.keeper().IsForgotten());
  EXPECT_EQ(world_.jobs.back().state, "CANCELLED");
}

// A sweep may be stopped before it has a trial.
TEST_F(AllocationTest, APoolForASweepWithoutTrialsGoesWithTheSweep) {
  SlurmPool pool = Pool();
  pool.once = true;
  pool.sweep = "s-abcde";
  world_.SetPool(pool);
  world_.Run(absl::Seconds(5));  // The keeper does not know the sweep yet.
  EXPECT_FALSE(world_.keeper().IsForgotten());
  world_.is_held = true;
  world_.Run(absl::Seconds(5));
  world_.is_held = false;
  world_.Run(absl::Seconds(5));
  EXPECT_TRUE(world_.keeper().IsForgotten());
  EXPECT_EQ(world_.OnlyJob().state, "CANCELLED");
}

TEST_F(AllocationTest, APoolForOneJobThatNeverCameGoes) {
  SlurmPool pool = Pool();
  pool.once = true;
  world_.SetPool(pool);
  world_.Run(absl::Minutes(4));
  EXPECT_TRUE(world_.keeper().IsForgotten());
  EXPECT_EQ(world_.jobs.size(), 1u);
}

TEST_F(AllocationTest, AStopGivesEverythingBackAndTheNextYardBeginsAgain) {
  MakeRun();
  world_.keeper().Stop(world_.now);
  world_.Run(absl::Seconds(5));
  EXPECT_TRUE(world_.keeper().IsStopped());
  EXPECT_EQ(world_.OnlyJob().state, "CANCELLED");
  EXPECT_EQ(world_.stored.phase, Phase::kIdle);
  world_.Run(absl::Minutes(5));
  EXPECT_EQ(world_.jobs.size(), 1u);
  world_.Restart();
  world_.Turn();
  EXPECT_EQ(world_.jobs.size(), 2u);
}

TEST_F(AllocationTest, APoolThatWasGivenBackWaitsForATaskInTheNextYard) {
  MakeRun();
  world_.Run(absl::Minutes(12));
  ASSERT_EQ(world_.stored.phase, Phase::kIdle);
  world_.keeper().Stop(world_.now);
  world_.Turn();
  EXPECT_TRUE(world_.keeper().IsStopped());
  world_.Restart();
  world_.Run(absl::Minutes(1));
  EXPECT_EQ(world_.jobs.size(), 1u);
}

TEST_F(AllocationTest, AJobThatSlurmPutsBackIntoItsQueueIsGivenUp) {
  MakeRun();
  world_.is_wanted = true;
  world_.Disconnect();
  world_.OnlyJob().state = "PENDING";
  world_.Run(absl::Seconds(30));
  EXPECT_EQ(world_.stored.number, 2u);
  EXPECT_EQ(world_.jobs.front().state, "CANCELLED");
}

TEST_F(AllocationTest, ALinkThatComesBackInTimeEndsNothing) {
  MakeRun();
  World::Job& job = world_.OnlyJob();
  for (int i = 0; i < 20; ++i) {
    world_.Disconnect();
    job.state = "NODE_FAIL";  // A false report of Slurm.
    world_.Run(absl::Seconds(3));
    job.state = "RUNNING";
    world_.Connect(job);
    world_.Run(absl::Seconds(20));
  }
  EXPECT_EQ(world_.stored.phase, Phase::kRunning);
  EXPECT_EQ(world_.stored.number, 1u);
}

// Any event may happen at any time. World::Submit() and World::Do() check the invariants.
TEST_F(AllocationTest, RandomHistories) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const auto chance = [&](int of) { return random() % static_cast<unsigned>(of) == 0; };
    World world;
    world.SetPool(Pool());
    std::set<std::pair<std::string, std::string>> runs;  // (name, claim)
    for (int i = 0; i < 400; ++i) {
      world.Advance(absl::Milliseconds(random() % 20'000));
      if (chance(10)) world.controller_up = !world.controller_up;
      if (chance(20)) world.launcher_up = !world.launcher_up;
      if (chance(15)) world.is_answer_lost = !world.is_answer_lost;
      if (chance(15)) world.is_queue_empty = !world.is_queue_empty;
      if (chance(10)) world.is_wanted = !world.is_wanted;
      if (chance(60)) world.SetPool(Pool(world.pool->revision + 1));
      if (chance(12)) world.Disconnect();
      for (World::Job& job : world.jobs) {
        if (LifeOf(job.state) == SlurmLife::kEnded) {
          // A killed controller may start an ended job a second time.
          if (chance(60)) {
            job.state = "RUNNING";
            job.is_haunted = true;
          }
          continue;
        }
        if (chance(8)) job.state = "RUNNING";
        if (chance(40)) job.state = "WHATEVER";
        if (chance(30)) {
          job.is_known = !job.is_known;
          job.is_haunted = true;
        }
        if (chance(30)) world.End(job, chance(2) ? "NODE_FAIL" : "TIMEOUT");
        if (job.state == "RUNNING" && chance(2)) world.Connect(job);
      }
      world.Turn(chance(4) ? static_cast<int>(1 + random() % 3) : 0);
      ASSERT_FALSE(testing::Test::HasFailure());
      // All nodes with a key belong to one allocation.
      std::set<std::string> alive;
      for (const std::string& key : world.keys) alive.insert(world.allocations[key]);
      ASSERT_LE(alive.size(), 1u);
    }
    // Once everything works again, waiting tasks get nodes.
    world.controller_up = world.launcher_up = true;
    world.is_answer_lost = world.is_queue_empty = false;
    world.is_wanted = true;
    world.SetPool(Pool(world.pool->revision + 1));
    for (int i = 0; i < 1200 && world.stored.phase != Phase::kRunning; ++i) {
      world.Advance(absl::Seconds(1));
      for (World::Job& job : world.jobs) {
        job.is_known = true;
        if (job.name != world.stored.name || LifeOf(job.state) == SlurmLife::kEnded) continue;
        world.Start(job);
      }
      world.Turn();
    }
    EXPECT_EQ(world.stored.phase, Phase::kRunning) << world.stored.why;
    world.Turn();
    EXPECT_EQ(world.stored.revision, world.pool->revision);
  }
}

}  // namespace
}  // namespace yard

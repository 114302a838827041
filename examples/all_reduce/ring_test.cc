#include "examples/all_reduce/ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <string>
#include <vector>

#include "launcher/testing/child.h"
#include "launcher/testing/multi_process_runner.h"

// Each worker is a process of its own, as it will be later. It runs a function of this file, which
// is registered by its name; its arguments and its result travel between the processes.

namespace all_reduce {
namespace {

using launcher::testing::ClusterSpec;
using launcher::testing::CreateClusterSpec;
using launcher::testing::Function;
using launcher::testing::GetBarrier;
using launcher::testing::Outcome;
using launcher::testing::RunError;
using launcher::testing::RunOptions;
using launcher::testing::RunProcesses;
using launcher::testing::TaskOfThisProcess;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr int kWorkers = 3;

// A worker's life: it gives {rank, 1}, over and over, and the sum of the last step is its result.
absl::StatusOr<std::vector<double>> Work(const std::vector<std::string>& addresses, int steps,
                                         int dies_at_rank) {
  const int rank = TaskOfThisProcess()->index;
  auto ring = Ring::Listen(addresses, rank, absl::Seconds(30));
  if (!ring.ok()) return ring.status();
  if (auto all = GetBarrier()->Wait(); !all.ok()) return all.status();
  if (auto connected = (*ring)->Connect(); !connected.ok()) return connected;
  absl::StatusOr<std::vector<double>> sum;
  for (int step = 0; step < steps; ++step) {
    if (rank == dies_at_rank && step == steps / 2) raise(SIGKILL);
    sum = (*ring)->AllReduce({static_cast<double>(rank), 1});
    if (!sum.ok()) return sum;
  }
  EXPECT_THAT(*sum, SizeIs(2)) << "assertions count in every process";
  return sum;
}
const Function kWork("Work", Work);

TEST(RingTest, AddsUpWhatThreeWorkersGive) {
  const ClusterSpec cluster = CreateClusterSpec(/*has_chief=*/false, kWorkers).value();
  const Outcome outcome = RunProcesses(kWork.With(cluster[0].second, 100, -1), cluster);
  ASSERT_TRUE(outcome.ok()) << outcome.status;
  const auto sums = outcome.result.Values<std::vector<double>>();
  ASSERT_TRUE(sums.ok()) << sums.status();
  EXPECT_THAT(*sums, SizeIs(kWorkers));
  EXPECT_THAT(*sums, Each(ElementsAre(0 + 1 + 2, 3)));
}

TEST(RingTest, TellsItsNeighboursOfADeadWorker) {
  const ClusterSpec cluster = CreateClusterSpec(/*has_chief=*/false, kWorkers).value();
  RunOptions options;
  options.return_output = true;
  const Outcome outcome = RunProcesses(kWork.With(cluster[0].second, 100, 1), cluster, options);
  // The first error that a worker has returned, with its code and its name.
  EXPECT_EQ(outcome.error, RunError::kTaskFailed);
  EXPECT_EQ(outcome.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(outcome.status.message()), HasSubstr("in the ring is gone"));
  // How each process has ended, the killed one among them.
  ASSERT_THAT(outcome.result.attempts, SizeIs(kWorkers));
  for (const auto& attempt : outcome.result.attempts) {
    EXPECT_THAT(attempt.how, HasSubstr(attempt.task == "worker-1" ? "signal 9" : "exit code 1"));
  }
  EXPECT_THAT(outcome.result.lines, ::testing::Contains(HasSubstr("[worker-0]:")));
}

}  // namespace
}  // namespace all_reduce

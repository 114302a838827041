#include "launcher/run/attempt_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bus/schema/launcher_generated.h"
#include "launcher/job/cluster.h"
#include "launcher/job/job_row.h"
#include "launcher/wire/process_limit.h"
#include "launcher/wire/shim_protocol.h"

namespace launcher {
namespace {

using ::testing::IsSupersetOf;

msg::JobSpecT Trial() {
  msg::JobSpecT spec;
  spec.argv = {"prog"};
  spec.working_directory = "/";
  spec.report_channel = std::make_unique<msg::ReportChannelT>();
  spec.report_channel->socket = "/trainer";
  spec.report_channel->nonce = "n0nce";
  return spec;
}

void AddGroup(msg::JobSpecT* spec, const std::string& type, unsigned count) {
  spec->groups.push_back(std::make_unique<msg::TaskGroupT>());
  spec->groups.back()->type = type;
  spec->groups.back()->count = count;
}

// Returns the spec of each task, by rank.
std::vector<ShimSpec> SpecsOf(msg::JobSpecT spec) {
  const JobRow row = MakeJobRow(std::move(spec));
  const ClusterPlan plan = PlanTasks(row.spec, {});
  std::vector<ShimSpec> specs;
  for (std::size_t rank = 0; rank < row.tasks.size(); ++rank) {
    specs.push_back(AttemptSpec({}, row, {}, plan, static_cast<int>(rank), 1));
  }
  return specs;
}

TEST(AttemptSpecTest, TheOnlyTaskOfATrialReports) {
  const auto specs = SpecsOf(Trial());
  ASSERT_EQ(specs.size(), 1u);
  EXPECT_EQ(specs[0].trainer_socket, "/trainer");
  EXPECT_EQ(specs[0].nonce, "n0nce");
  EXPECT_EQ(specs[0].no_reports, "");
}

TEST(AttemptSpecTest, OfAClusterOnlyRankZeroReportsWhateverItsType) {
  msg::JobSpecT spec = Trial();
  AddGroup(&spec, "chief", 1);
  AddGroup(&spec, "worker", 2);
  const auto specs = SpecsOf(std::move(spec));
  ASSERT_EQ(specs.size(), 3u);
  EXPECT_EQ(specs[0].trainer_socket, "/trainer");
  EXPECT_EQ(specs[0].no_reports, "");
  for (std::size_t rank = 1; rank < 3; ++rank) {
    EXPECT_EQ(specs[rank].trainer_socket, "");
    EXPECT_EQ(specs[rank].nonce, "") << "it is a secret between the trainer and rank 0";
    EXPECT_EQ(specs[rank].no_reports,
              "rank " + std::to_string(rank) + " does not report: rank 0 does");
  }
}

TEST(AttemptSpecTest, AJobThatIsNoTrialHasNobodyWhoReports) {
  msg::JobSpecT spec = Trial();
  spec.report_channel.reset();
  AddGroup(&spec, "worker", 2);
  for (const ShimSpec& one : SpecsOf(std::move(spec))) {
    EXPECT_EQ(one.trainer_socket, "");
    EXPECT_EQ(one.no_reports, "");
  }
}

const AttemptHost kHost{
    .locations = {.runtime_directory = "/run", .state_directory = "/state", .registry_address = ""},
    .limits = {{"nofile", 1, 2}, {"core", 3, 4}},
    .own_start_ticks = 9};

JobRow RowOf(msg::JobSpecT spec) {
  JobRow row = MakeJobRow(std::move(spec));
  row.id = "j-abcde";
  return row;
}

// Returns the spec of the third attempt of the last task.
ShimSpec SpecOf(const JobRow& row) {
  return AttemptSpec(kHost, row, {.environment = {"PATH=/bin", "OWN=1"}},
                     PlanTasks(row.spec, row.ports), static_cast<int>(row.tasks.size()) - 1, 3);
}

// Makes a spec with the tasks ps-0, worker-0 and worker-1.
msg::JobSpecT Cluster() {
  msg::JobSpecT spec;
  spec.argv = {"train", "--epochs"};
  spec.working_directory = "/work";
  for (const char* type : {"ps", "worker"}) {
    spec.groups.push_back(std::make_unique<msg::TaskGroupT>());
    spec.groups.back()->type = type;
  }
  spec.groups[1]->count = 2;
  return spec;
}

// (Compared in encoded form, since that is readable text.)
TEST(AttemptSpecTest, AShimIsToldAllThatTheJobAsksFor) {
  msg::JobSpecT job = Cluster();
  job.stop_signal = SIGUSR1;
  job.stop_grace_ms = 1500;
  job.log_directory = "/logs";
  job.log_limit_bytes = 10;
  job.log_rotate_bytes = 11;
  job.log_rotate_files = 12;
  job.daemon = true;
  job.own_namespace = true;
  job.report_channel = std::make_unique<msg::ReportChannelT>();
  job.report_channel->socket = "/run/trainer";
  job.report_channel->nonce = "nonce";
  msg::TaskGroupT& workers = *job.groups[1];
  workers.argv = {"work"};
  workers.working_directory = "/elsewhere";
  workers.ready_fd = 7;
  workers.process_limits.push_back(std::make_unique<msg::ProcessLimitT>());
  workers.process_limits[0]->name = "nofile";
  workers.process_limits[0]->soft = 100;
  workers.process_limits[0]->hard = 200;
  workers.control_limits = std::make_unique<msg::ControlLimitsT>();
  workers.control_limits->memory_bytes = 13;
  workers.control_limits->milli_cpus = 14;
  workers.control_limits->processes = 15;

  ShimSpec spec = SpecOf(RowOf(std::move(job)));
  spec.environment.clear();
  const ShimSpec expected{
      .argv = {"work"},
      .environment = {},
      .working_directory = "/elsewhere",
      .stdout_path = "/logs/worker-1.3.stdout",
      .stderr_path = "/logs/worker-1.3.stderr",
      .control_socket = "/run/tasks/j-abcde.worker-1.3.ctl",
      .task_socket = "/run/tasks/j-abcde.worker-1.3",
      .trainer_socket = "",
      .nonce = "",
      .no_reports = "rank 2 does not report: rank 0 does",
      .log_limit = 10,
      .rotate_bytes = 11,
      .rotate_files = 12,
      .kill_mode = "namespace",
      .ready_fd = 7,
      .limits = {{"nofile", 100, 200}, {"core", 3, 4}},
      .owner = getpid(),
      .owner_start_ticks = 9,
      .owner_stop_signal = SIGUSR1,
      .owner_stop_grace_ms = 1500,
      .control_limits = {.memory_bytes = 13, .milli_cpus = 14, .processes = 15}};
  EXPECT_EQ(spec.Encode(), expected.Encode());
}

TEST(AttemptSpecTest, WithoutAWishItIsToldThis) {
  msg::JobSpecT job;
  job.argv = {"train"};
  job.working_directory = "/work";
  const ShimSpec expected{.argv = {"train"},
                          .environment = {"PATH=/bin", "OWN=1"},
                          .working_directory = "/work",
                          .stdout_path = "/state/jobs/j-abcde/worker-0.3.stdout",
                          .stderr_path = "/state/jobs/j-abcde/worker-0.3.stderr",
                          .control_socket = "/run/tasks/j-abcde.worker-0.3.ctl",
                          .task_socket = "/run/tasks/j-abcde.worker-0.3",
                          .trainer_socket = "",
                          .nonce = "",
                          .no_reports = "",
                          .kill_mode = "",
                          .limits = kHost.limits,
                          .control_limits = {}};
  EXPECT_EQ(SpecOf(RowOf(std::move(job))).Encode(), expected.Encode());
}

TEST(AttemptSpecTest, ATaskIsLikeItsCallerButForTheLimitsThatItAsksFor) {
  msg::JobSpecT job = Cluster();
  job.groups[1]->process_limits.push_back(std::make_unique<msg::ProcessLimitT>());
  job.groups[1]->process_limits[0]->name = "nofile";
  job.groups[1]->process_limits[0]->soft = 100;
  job.groups[1]->process_limits[0]->hard = 200;
  const JobRow row = RowOf(std::move(job));
  CallersProcess caller{.is_known = true,
                        .umask = 0002,
                        .nice = 7,
                        .cpus = "0-3",
                        .limits = {{"core", 6, 6}, {"nofile", 5, 5}}};
  const ShimSpec spec =
      AttemptSpec(kHost, row, {.process = caller}, PlanTasks(row.spec, row.ports), 2, 3);
  caller.limits.pop_back();
  EXPECT_EQ(spec.caller, caller);
  EXPECT_EQ(spec.limits, (std::vector<ProcessLimit>{{"nofile", 100, 200}}));
}

TEST(AttemptSpecTest, GpusAreHiddenFromWhoHasNoneUnlessTheyAreShared) {
  const auto hidden = [](const JobRow& row) {
    AttemptHost host = kHost;
    host.hides_gpus = true;
    const ShimSpec spec = AttemptSpec(host, row, {}, PlanTasks(row.spec, row.ports), 0, 1);
    const auto& all = spec.environment;
    return std::find(all.begin(), all.end(), "CUDA_VISIBLE_DEVICES=") != all.end();
  };
  JobRow row = RowOf(Cluster());
  EXPECT_TRUE(hidden(row));
  row.tasks[0].resources = {"gpu=0,"};
  EXPECT_FALSE(hidden(row));
  row.tasks[0].resources.clear();
  row.spec.share_sets = true;
  EXPECT_FALSE(hidden(row));
}

TEST(AttemptSpecTest, ADaemonsTaskIsStoppedAsItsJobIs) {
  msg::JobSpecT job = Cluster();
  job.daemon = true;
  const ShimSpec spec = SpecOf(RowOf(std::move(job)));
  EXPECT_EQ(spec.owner_stop_signal, SIGTERM);
  EXPECT_EQ(spec.owner_stop_grace_ms, 10'000);
}

TEST(AttemptSpecTest, ATaskIsToldItsPlaceWhatItWasGivenAndHowOftenItWasStarted) {
  JobRow row = RowOf(Cluster());
  row.tasks[2].resources = {"gpu=0,3", "slots=2", "disk=a,"};
  row.status.restarts = 5;
  row.status.tasks[2].restarts = 2;
  const std::vector<std::string> told = {"OWN=1",
                                         "YARD_JOB_ID=j-abcde",
                                         "YARD_TASK=worker-1",
                                         "RANK=2",
                                         "YARD_RESOURCES=gpu=0,3;disk=a",
                                         "CUDA_VISIBLE_DEVICES=0,3",
                                         "TORCHELASTIC_RUN_ID=j-abcde",
                                         "TORCHELASTIC_RESTART_COUNT=2"};
  EXPECT_THAT(SpecOf(row).environment, IsSupersetOf(told));
  row.spec.gang = true;
  EXPECT_THAT(SpecOf(row).environment, IsSupersetOf({"TORCHELASTIC_RESTART_COUNT=5"}));
}

}  // namespace
}  // namespace launcher

// Outputs are from Slurm 22.05 unless noted otherwise.

#include "tools/yard/slurm/slurm_commands.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/yard/at/captured.h"
#include "tools/yard/slurm/slurm_pool.h"

namespace yard {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using Outcome = Submission::Outcome;

SlurmPool Pool() {
  SlurmPool pool;
  pool.pool = "lab";
  pool.nodes = 3;
  pool.directory = "/home/ann/it's";
  pool.gate = {"tcp://login1:7711"};
  return pool;
}

Captured Ended(int code, std::string errors, std::string text = "") {
  return {.code = code, .text = std::move(text), .errors = std::move(errors)};
}

std::string Line(const std::vector<std::string>& words) { return absl::StrJoin(words, " "); }

TEST(SbatchWordsTest, APoolThatAsksForNothingLeavesTheSitesDefaults) {
  EXPECT_EQ(Line(SbatchWords(Pool(), "y-lab-1-0a1b2c3d", {})),
            "sbatch -N 3 --ntasks=3 --ntasks-per-node=1 --parsable --no-requeue --no-kill -d "
            "singleton -J y-lab-1-0a1b2c3d --comment=yard -o /dev/null -e /dev/null -D / "
            "--export=ALL");
}

TEST(SbatchWordsTest, EachWishIsAFlag) {
  SlurmPool pool = Pool();
  pool.time_minutes = 480;
  pool.partition = "gpu";
  pool.account = "a1";
  pool.qos = "high";
  pool.constraint = "a100|h100";
  pool.gpus = "a100:2";
  pool.cpus = 8;
  pool.memory_mib = 4096;
  pool.exclude = {"n1"};
  pool.sbatch_words = {"--mail-type=END", "-J", "theirs"};
  const auto words = SbatchWords(pool, "y-lab-1-0a1b2c3d", {"n1", "n2"});
  EXPECT_THAT(Line(words),
              HasSubstr("-p gpu -A a1 -q high -C a100|h100 --gres=gpu:a100:2 -c 8 --mem=4096M -t "
                        "480 -x n1,n2 -N 3"));
  // Our words follow the user's, so that sbatch uses ours.
  const auto last_name = std::find(words.rbegin(), words.rend(), "-J");
  EXPECT_EQ(*(last_name - 1), "y-lab-1-0a1b2c3d");
}

TEST(SlurmEnvironmentTest, NothingOfTheAllocationAroundTheYardIsKept) {
  EXPECT_THAT(SlurmEnvironment({"PATH=/bin", "SLURM_NTASKS=3", "SBATCH_PARTITION=low",
                                "SLURM_JOB_ID=7", "SQUEUE_FORMAT=%i", "HOME=/home/ann",
                                "SLURM_CONF=/etc/slurm.conf", "SECRET=1", "YARD_STATE=/x"}),
              ElementsAre("PATH=/bin", "HOME=/home/ann", "SLURM_CONF=/etc/slurm.conf",
                          "SLURM_TIME_FORMAT=%s"));
}

TEST(BatchScriptTest, QuotesThePathsAndStartsANodeOnEach) {
  const std::string script = BatchScript(Pool(), "/home/ann/it's/b-01", "/home/ann/it's/y.err");
  EXPECT_THAT(script, StartsWith("#!/bin/sh\nb='/home/ann/it'\\''s/b-01'\n"));
  EXPECT_THAT(script, HasSubstr("|| exit 101\n"));
  EXPECT_THAT(script, HasSubstr("exec srun --nodes=3 --ntasks=3 --ntasks-per-node=1 --no-kill"));
  EXPECT_THAT(script, HasSubstr("--slurm --gate=tcp://login1:7711\n"));
  EXPECT_THAT(script, HasSubstr("cd /\n"));
  EXPECT_THAT(script, Not(HasSubstr("KEY")));
}

TEST(SubmissionTest, AnIdIsTaken) {
  for (const auto& [text, id, cluster] :
       {std::tuple("17\n", "17", ""), std::tuple("17;alpha\n", "17", "alpha"),
        std::tuple("job_submit: hello\n4294967294;c-1.x\n", "4294967294", "c-1.x")}) {
    const auto read = ReadSubmission(Ended(0, "sbatch: lua: be nice\n", text));
    EXPECT_EQ(read.outcome, Outcome::kAccepted) << text;
    EXPECT_EQ(read.id, id);
    EXPECT_EQ(read.cluster, cluster);
  }
}

TEST(SubmissionTest, WordsOfSbatchSayWhyItRefuses) {
  for (const auto& [code, errors, why] : {
           std::tuple(1,
                      "sbatch: error: invalid partition specified: nope\nsbatch: error: Batch job "
                      "submission failed: Invalid partition name specified\n",
                      "invalid partition specified: nope; Batch job submission failed: Invalid "
                      "partition name specified"),
           std::tuple(255, "sbatch: error: Invalid --time specification\n",
                      "Invalid --time specification"),
           std::tuple(1, "sbatch: unrecognized option '--nope'\nTry \"sbatch --help\" for more\n",
                      "unrecognized option '--nope'"),
           std::tuple(1,
                      "sbatch: error: Memory specification can not be satisfied\nsbatch: error: "
                      "Batch job submission failed: Requested node configuration is not "
                      "available\n",
                      "Memory specification can not be satisfied; Batch job submission failed: "
                      "Requested node configuration is not available"),
           std::tuple(1, "sbatch: fatal: Unable to process configuration file\n",
                      "Unable to process configuration file"),
       }) {
    const auto read = ReadSubmission(Ended(code, errors));
    EXPECT_EQ(read.outcome, Outcome::kRefused) << errors;
    EXPECT_EQ(read.why, why);
  }
}

TEST(SubmissionTest, WithoutSbatchNothingWasSubmitted) {
  const auto read =
      ReadSubmission(absl::NotFoundError("there is no program sbatch on the PATH /bin"));
  EXPECT_EQ(read.outcome, Outcome::kRefused);
  EXPECT_THAT(read.why, HasSubstr("; next: "));
}

TEST(SubmissionTest, AnAnswerThatWasLostIsNoRefusal) {
  for (const absl::StatusOr<Captured>& answer : std::vector<absl::StatusOr<Captured>>{
           absl::DeadlineExceededError("sbatch has not ended in 30s"),
           Ended(137, ""),
           Ended(1, ""),
           Ended(0, ""),
           Ended(0, "", "Submitted batch job 17\n"),
           Ended(0, "", "17;$(reboot)\n"),
           Ended(0, "", "-17\n"),
           Ended(1,
                 "sbatch: error: Batch job submission failed: Socket timed out on send/recv "
                 "operation\n"),
           Ended(1,
                 "sbatch: error: Batch job submission failed: Unable to contact slurm "
                 "controller (connect failure)\n"),
           Ended(1,
                 "sbatch: error: Batch job submission failed: Slurm backup controller in "
                 "standby mode\n"),
           Ended(1,
                 "sbatch: error: Slurm temporarily unable to accept job, sleeping and "
                 "retrying\nsbatch: error: Batch job submission failed: Zero Bytes were "
                 "transmitted or received\n"),
       }) {
    const auto read = ReadSubmission(answer);
    EXPECT_EQ(read.outcome, Outcome::kUnknown)
        << (answer.ok() ? answer->errors + answer->text : answer.status().ToString());
    EXPECT_FALSE(read.why.empty());
  }
}

TEST(QueueTest, ReadsJobsOfAllKinds) {
  const auto jobs =
      ReadQueue(Ended(0, "",
                      "17|y-lab-1-0a1b2c3d|RUNNING|1795869532|node[1-2]|None|1795898332\n"
                      "18|y-lab-2-0a1b2c3d|PENDING|1795869533||Priority|N/A\n"
                      "19|a|PENDING|1795869533||ReqNodeNotAvail, UnavailableNodes:node3|N/A\n"
                      "209_[2-5%2]|array|PENDING|1795869533||JobArrayTaskLimit|N/A\n"
                      "209_4|array|RUNNING|1795869533|node1|None|NONE\n"
                      "214+0|het|COMPLETING|1795869533|node1|None|1795869540\n"
                      "22|a|b|c|FAILED|1795869533|node1|NonZeroExitCode|1795869540\n"));
  ASSERT_TRUE(jobs.ok()) << jobs.status();
  ASSERT_THAT(*jobs, SizeIs(7));
  EXPECT_EQ((*jobs)[0], (QueuedJob{.id = "17",
                                   .name = "y-lab-1-0a1b2c3d",
                                   .state = "RUNNING",
                                   .node_list = "node[1-2]",
                                   .reason = "None",
                                   .submitted = 1795869532,
                                   .end = 1795898332}));
  EXPECT_EQ((*jobs)[1].end, 0);
  EXPECT_EQ((*jobs)[2].reason, "ReqNodeNotAvail, UnavailableNodes:node3");
  EXPECT_EQ((*jobs)[3].id, "209_[2-5%2]");
  EXPECT_EQ((*jobs)[5].id, "214+0");
  // A name may contain the field separator.
  EXPECT_EQ((*jobs)[6].name, "a|b|c");
  EXPECT_EQ((*jobs)[6].state, "FAILED");
}

TEST(QueueTest, LinesThatAreNoJobsAreSkipped) {
  const auto jobs = ReadQueue(Ended(0, "",
                                    "CLUSTER: alpha\n\n17|a|RUNNING|1|n|None|x\n|||||||\n"
                                    "slurm_load_jobs: hello\n18|b|PENDING|1\nx|a|R|1|n|None|1\n"
                                    "19|a||1|n|None|1\n"));
  ASSERT_TRUE(jobs.ok());
  ASSERT_THAT(*jobs, SizeIs(1));
  EXPECT_EQ(jobs->front().id, "17");
}

TEST(QueueTest, OnlyAGoodAnswerIsNews) {
  for (const absl::StatusOr<Captured>& answer : std::vector<absl::StatusOr<Captured>>{
           absl::DeadlineExceededError("x"), Ended(137, ""),
           Ended(1,
                 "slurm_load_jobs error: Unable to contact slurm controller (connect "
                 "failure)\n"),
           Ended(0, "", "17|a|RUNNING|1|n|None|1\n18|b|RUNN"),
           Ended(0, "", std::string(kMostQueueBytes, '\n'))}) {
    const auto jobs = ReadQueue(answer);
    EXPECT_FALSE(jobs.ok());
    EXPECT_FALSE(absl::IsNotFound(jobs.status()));
  }
  EXPECT_TRUE(absl::IsNotFound(
      ReadQueue(Ended(1, "slurm_load_jobs error: Invalid job id specified\n")).status()));
  const auto empty = ReadQueue(Ended(0, ""));
  ASSERT_TRUE(empty.ok());
  EXPECT_THAT(*empty, IsEmpty());
}

TEST(QueueTest, EveryStateIsKnownAndUnknownOnesLive) {
  for (const char* const ended :
       {"COMPLETED", "CANCELLED", "CANCELLED by 1000", "FAILED", "TIMEOUT", "NODE_FAIL",
        "PREEMPTED", "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY", "CD", "OOM"}) {
    EXPECT_EQ(LifeOf(ended), SlurmLife::kEnded) << ended;
  }
  for (const char* const alive :
       {"RUNNING", "R", "SUSPENDED", "SIGNALING", "COMPLETING", "CONFIGURING", "STOPPED",
        "STAGE_OUT", "RESIZING", "REVOKED", "POWERING_UP_OF_2031", "", "completed"}) {
    EXPECT_EQ(LifeOf(alive), SlurmLife::kAlive) << alive;
  }
  for (const char* const pending : {"PENDING", "PD", "REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT"}) {
    EXPECT_EQ(LifeOf(pending), SlurmLife::kPending) << pending;
  }
}

TEST(QueueTest, ReasonsThatNeverEndByThemselvesAreSaidSo) {
  for (const char* const reason :
       {"DependencyNeverSatisfied", "PartitionTimeLimit", "PartitionNodeLimit", "PartitionConfig",
        "PartitionDown", "ReqNodeNotAvail, UnavailableNodes:node3", "JobHeldUser", "JobHeldAdmin",
        "launch_failed_requeued_held", "QOSMaxWallDurationPerJobLimit", "AssocMaxCpuPerJobLimit",
        "InvalidAccount", "BadConstraints"}) {
    EXPECT_TRUE(WaitsForEver(reason)) << reason;
    EXPECT_THAT(WordsOfReason(reason),
                StartsWith(absl::StrCat(reason, ", which does not end by itself: ")));
  }
  for (const char* const reason :
       {"None", "Priority", "Resources", "BeginTime", "Dependency", "JobArrayTaskLimit",
        "QOSMaxJobsPerUserLimit", "AssocGrpCpuLimit", "", "SomethingNew"}) {
    EXPECT_FALSE(WaitsForEver(reason)) << reason;
    EXPECT_EQ(WordsOfReason(reason), reason);
  }
  EXPECT_EQ(WordsOfReason("a\033[2J"), "a\\x1B[2J");
}

TEST(CancellationTest, SaysWhatScancelSays) {
  EXPECT_TRUE(ReadCancellation(Ended(0, "")).ok());
  EXPECT_EQ(
      ReadCancellation(Ended(8,
                             "slurm_load_jobs error: Unable to contact slurm controller (connect "
                             "failure)\n"))
          .message(),
      "slurm_load_jobs error: Unable to contact slurm controller (connect failure)");
  EXPECT_EQ(Line(ScancelWords(1000, "alpha", "y-lab-1-0a1b2c3d")),
            "scancel -u 1000 -n y-lab-1-0a1b2c3d -M alpha");
}

TEST(SettingsTest, ReadsTheConfigurationAsScontrolShowsIt) {
  const auto settings = ReadSettings(
      Ended(0, "",
            "Configuration data as of 2026-11-28T14:38:52\nKillWait                = 6 sec\n"
            "MessageTimeout          = 20 sec\nMinJobAge               = 300 sec\n"
            "SLURM_VERSION           = 22.05.8\n"));
  EXPECT_EQ(settings.kill_wait, absl::Seconds(6));
  EXPECT_EQ(settings.message_timeout, absl::Seconds(20));
  EXPECT_EQ(settings.version, "22.05.8");
  for (const char* const text : {"", "KillWait = -1 sec", "KillWait", "KillWait = x\n\n=\n"}) {
    EXPECT_EQ(ReadSettings(Ended(0, "", text)).kill_wait, absl::Seconds(30)) << text;
  }
}

TEST(ExitCodeTest, IsThatOfTheScript) {
  EXPECT_EQ(ReadExitCode(Ended(0, "",
                               "JobId=17 JobName=y-lab-1 UserId=ann(1000) JobState=FAILED "
                               "Reason=NonZeroExitCode ExitCode=101:0 StdOut=/dev/null\n")),
            101);
  EXPECT_EQ(ReadExitCode(Ended(1, "slurm_load_jobs error: Invalid job id specified\n")), -1);
  EXPECT_EQ(ReadExitCode(Ended(0, "", "ExitCode=a:b")), -1);
}

TEST(SlurmCommandsTest, AJobWithAPreemptTimeWasPreempted) {
  const auto was = [](const std::string& time) {
    return WasPreempted(Ended(
        0, "",
        "JobId=17 JobState=COMPLETED PreemptEligibleTime=1795 PreemptTime=" + time + " X=1\n"));
  };
  EXPECT_TRUE(was("1795887900"));
  EXPECT_TRUE(was("2026-11-28T17:47:15"));
  for (const char* const never : {"None", "N/A", "Unknown", "", "0"}) EXPECT_FALSE(was(never));
  EXPECT_FALSE(WasPreempted(Ended(1, "slurm_load_jobs error: Invalid job id specified\n")));
  EXPECT_FALSE(WasPreempted(absl::UnavailableError("it hangs")));
}

}  // namespace
}  // namespace yard

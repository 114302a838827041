#ifndef TOOLS_YARD_SLURM_SLURM_COMMANDS_H_
#define TOOLS_YARD_SLURM_SLURM_COMMANDS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/yard/at/captured.h"
#include "tools/yard/slurm/slurm_pool.h"

namespace yard {

// Builds Slurm's command lines and parses their output. Uses only flags and fields that exist since
// Slurm 18.08; no JSON, and no command that needs the accounting database.

// Limit of the output of squeue, which lists all jobs of the user, in bytes.
inline constexpr std::size_t kMostQueueBytes = 16 << 20;

// ---- sbatch

// Returns the command line of an sbatch that reads its script from stdin. `name` is the job's name;
// `excluded` are nodes in addition to those that the pool excludes. It contains no secret, because
// every user of the cluster can read it.
std::vector<std::string> SbatchWords(const SlurmPool& pool, const std::string& name,
                                     const std::vector<std::string>& excluded);

// Returns the variables of `environment` that Slurm's commands need, without those that change
// their behaviour, such as SLURM_* and SBATCH_* of an allocation around the yard. Makes them print
// times as seconds since 1970.
std::vector<std::string> SlurmEnvironment(const std::vector<std::string>& environment);

// Returns the job's script, which starts one yard-node on each node. `bundle` is the directory of
// the programs (tools/yard/pool/bundle.h); `error_file` receives the stderr of srun and the nodes.
std::string BatchScript(const SlurmPool& pool, const std::string& bundle,
                        const std::string& error_file);
// Exit code of the script if a node cannot see the bundle.
inline constexpr int kNoBundle = 101;

struct Submission {
  enum class Outcome {
    kAccepted,
    kRefused,  // Permanently: no job exists.
    kUnknown,  // A job may exist.
  };
  Outcome outcome = Outcome::kUnknown;
  std::string id = {}, cluster = {};  // Set for kAccepted.
  std::string why = {};               // kRefused: sbatch's message. kUnknown: the cause.
};
// Parses the result of sbatch, `answer` with stderr.
Submission ReadSubmission(const absl::StatusOr<Captured>& answer);

// ---- squeue

// A job in the queue. Strings are as squeue prints them.
struct QueuedJob {
  std::string id;  // "17", "214+0", "209_4", "209_[2-5%2]"
  std::string name, state, node_list, reason;
  std::int64_t submitted = 0, end = 0;  // Seconds since 1970; 0: unknown, or never.

  bool operator==(const QueuedJob&) const = default;
};
// Command lines of squeue for all jobs of this user, including ended ones for as long as Slurm
// keeps them. `cluster` is empty unless sbatch has named one.
std::vector<std::string> SqueueWords(std::uint32_t user, const std::string& cluster);
std::vector<std::string> SqueueOfName(std::uint32_t user, const std::string& cluster,
                                      const std::string& name);
std::vector<std::string> SqueueOfId(const std::string& cluster, const std::string& id);

// NotFound if slurmctld answers that no job has this id. Any other error means no information; its
// message has Slurm's words. Skips lines that describe no job.
absl::StatusOr<std::vector<QueuedJob>> ReadQueue(const absl::StatusOr<Captured>& answer);

// Meaning of a job state for its allocation.
enum class SlurmLife {
  kPending,
  kAlive,  // It has nodes. Unknown states count as alive.
  kEnded,
};
SlurmLife LifeOf(std::string_view state);

// Explains to people why a job waits: "Priority", "PartitionTimeLimit: that does not end by itself;
// ...".
std::string WordsOfReason(std::string_view reason);
// Returns true if a job with this reason waits until a person acts.
bool WaitsForEver(std::string_view reason);

// ---- Other commands

// Cancels all jobs of this user with that name. Exits with 0 even if no such job exists.
std::vector<std::string> ScancelWords(std::uint32_t user, const std::string& cluster,
                                      const std::string& name);
// Returns OK if scancel succeeded, else its error in Slurm's words.
absl::Status ReadCancellation(const absl::StatusOr<Captured>& answer);

std::vector<std::string> ScontrolConfigWords();
struct SlurmSettings {
  std::string version = {};
  // Slurm's defaults.
  absl::Duration message_timeout = absl::Seconds(10);
  absl::Duration kill_wait = absl::Seconds(30);
};
// Settings that are missing from the answer keep their defaults.
SlurmSettings ReadSettings(const absl::StatusOr<Captured>& answer);

std::vector<std::string> ScontrolJobWords(const std::string& cluster, const std::string& id);
// Returns the exit code of the batch script, or -1 if it is unknown.
int ReadExitCode(const absl::StatusOr<Captured>& answer);
// Returns true if Slurm has preempted the job, whatever its final state: a job that exits by itself
// during the grace time of a preemption is COMPLETED.
bool WasPreempted(const absl::StatusOr<Captured>& answer);

}  // namespace yard

#endif  // TOOLS_YARD_SLURM_SLURM_COMMANDS_H_

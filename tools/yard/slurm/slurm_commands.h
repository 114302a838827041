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

// The commands of Slurm that are called, and what they answer. Only flags and fields that are the
// same from Slurm 18.08 on; no JSON, and no command that needs a database of accounts.

// Limit of the output of squeue, which lists all jobs of the user.
inline constexpr std::size_t kMostQueueBytes = 16 << 20;

// ---- sbatch

// The words of an sbatch that reads its script from stdin. `name`: of the job. `excluded`: nodes
// beside those of the pool. No secret is in them: every user of the cluster can read them.
std::vector<std::string> SbatchWords(const SlurmPool& pool, const std::string& name,
                                     const std::vector<std::string>& excluded);

// The part of `environment` that commands of Slurm need, without all that changes them: a yard
// inside an allocation has SLURM_* and SBATCH_* of that one. Times are seconds since 1970.
std::vector<std::string> SlurmEnvironment(const std::vector<std::string>& environment);

// The script of the job: one yard-node on each node. `bundle`: directory of the programs
// (tools/yard/pool/bundle.h). `error_file` gets what srun and the nodes write to stderr.
std::string BatchScript(const SlurmPool& pool, const std::string& bundle,
                        const std::string& error_file);
// The script's exit code where a node does not see the bundle.
inline constexpr int kNoBundle = 101;

struct Submission {
  enum class Outcome {
    kAccepted,
    kRefused,  // For good: there is no job.
    kUnknown,  // There may be a job.
  };
  Outcome outcome = Outcome::kUnknown;
  std::string id = {}, cluster = {};  // kAccepted.
  std::string why = {};               // kRefused: the words of sbatch. kUnknown: why it is.
};
// `answer`: of sbatch, with stderr.
Submission ReadSubmission(const absl::StatusOr<Captured>& answer);

// ---- squeue

// A job in the queue. Texts are as squeue printed them.
struct QueuedJob {
  std::string id;  // "17", "214+0", "209_4", "209_[2-5%2]"
  std::string name, state, node_list, reason;
  std::int64_t submitted = 0, end = 0;  // Seconds since 1970; 0: unknown, or never.

  bool operator==(const QueuedJob&) const = default;
};
// All jobs of this user, ended ones as long as Slurm keeps them. `cluster`: empty unless sbatch
// has said one.
std::vector<std::string> SqueueWords(std::uint32_t user, const std::string& cluster);
std::vector<std::string> SqueueOfName(std::uint32_t user, const std::string& cluster,
                                      const std::string& name);
std::vector<std::string> SqueueOfId(const std::string& cluster, const std::string& id);

// NotFound: slurmctld says that it has no job of that id. Any other error: there is no news; it
// says why in Slurm's words. A line that is no job is skipped.
absl::StatusOr<std::vector<QueuedJob>> ReadQueue(const absl::StatusOr<Captured>& answer);

// The meaning of a state for an allocation.
enum class SlurmLife {
  kPending,
  kAlive,  // It has nodes; also every word that is not known.
  kEnded,
};
SlurmLife LifeOf(std::string_view state);

// Why a job waits, as a person understands it: "Priority", "PartitionTimeLimit: that does not end
// by itself; ...".
std::string WordsOfReason(std::string_view reason);
// Whether a job that waits for this reason waits until a person does something.
bool WaitsForEver(std::string_view reason);

// ---- others

// Cancels all jobs of this user with that name. The exit code is 0 if there is no such job.
std::vector<std::string> ScancelWords(std::uint32_t user, const std::string& cluster,
                                      const std::string& name);
// OK if it was done. Else why not, in Slurm's words.
absl::Status ReadCancellation(const absl::StatusOr<Captured>& answer);

std::vector<std::string> ScontrolConfigWords();
struct SlurmSettings {
  std::string version = {};
  // Slurm's defaults.
  absl::Duration message_timeout = absl::Seconds(10);
  absl::Duration kill_wait = absl::Seconds(30);
};
// Settings that it cannot find stay as they are by default.
SlurmSettings ReadSettings(const absl::StatusOr<Captured>& answer);

std::vector<std::string> ScontrolJobWords(const std::string& cluster, const std::string& id);
// Exit code of the batch script; -1: unknown.
int ReadExitCode(const absl::StatusOr<Captured>& answer);
// True if Slurm has preempted the job, in whatever state it ended: a job that ends by itself in the
// grace time of its preemption is COMPLETED.
bool WasPreempted(const absl::StatusOr<Captured>& answer);

}  // namespace yard

#endif  // TOOLS_YARD_SLURM_SLURM_COMMANDS_H_

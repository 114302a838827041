#ifndef LAUNCHER_JOB_JOB_ROW_H_
#define LAUNCHER_JOB_JOB_ROW_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bus/schema/launcher_generated.h"
#include "launcher/job/supervisor.h"

namespace launcher {

// The launcher's records of a job, its tasks and their attempts.

// One attempt of a task.
struct AttemptRow {
  int number = 0;
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;
  std::int64_t started_us = 0;
  std::int64_t ended_us = 0;  // 0: not over.
  int exit_code = 0;
  int signal = 0;
  std::string reason = {};
  // In the log files. While it lives, `end` is behind the last line that was announced (0: none
  // was), and is kept by chance only.
  std::uint64_t stdout_begin = 0, stdout_end = 0;
  std::uint64_t stderr_begin = 0, stderr_end = 0;
  bool shim_lost = false;
  int error_number = 0;  // errno when the program could not be executed.
  bool core_dumped = false;
  bool was_stopped = false;  // Because of another task, a stop, or the time.
  bool out_of_memory = false;
  std::string node = {};  // Where it runs, or ran; empty: on this host.
  std::string host = {};  // That node's own name of its host, if it is of an allocation.
};

struct TaskRow {
  std::string type;
  int index = 0;
  std::vector<AttemptRow> attempts = {};    // Oldest first.
  std::string address = {};                 // HOST:PORT, in a cluster.
  std::vector<std::string> resources = {};  // Granted: "gpu=0,1".
  std::string node = {};                    // Granted: where its next attempt runs.
  // Why its liveness probe failed last; empty: it did not. Not kept in the store.
  std::string probe = {};

  // "worker-0"
  std::string name() const;
  // Null if the task has no attempt of that number.
  const AttemptRow* attempt(int number) const;
};

struct JobRow {
  std::string id;
  std::string request_id;  // Unique; of the Launch that made it.
  std::int64_t created_us = 0;
  std::int64_t run_since_us = 0;  // When its time began to run.
  // The same by the monotonic clock, which nobody sets; -1: not known, or from before a boot.
  std::int64_t run_since_monotonic_us = -1;
  std::int64_t ended_us = 0;
  msg::JobSpecT spec;          // With the caller's environment: never shown.
  std::vector<TaskRow> tasks;  // By rank.
  JobStatus status;            // With as many tasks.
  // Ports that the job has until it ends: of this host, or, with a pool, of the nodes of its tasks
  // (0: a task has no place yet). As many as PortsNeeded() says.
  std::vector<int> ports;
  // Once a task has failed for good, or the time was over; null before.
  std::unique_ptr<msg::FailureT> failure;

  bool has_ended() const { return HasEnded(status); }
  // With the addresses of the tasks.
  void SetPorts(std::vector<int> ports);
  // The same after its tasks were given nodes; `hosts` by rank, an empty one is this host.
  void SetHosts(const std::vector<std::string>& hosts);
  // As in the addresses: for PlanTasks().
  std::vector<std::string> Hosts() const;
  // The task of that name; null if the job has no such task.
  const TaskRow* task(const std::string& name) const;
  // Null in a spec without groups.
  const msg::TaskGroupT* group(const TaskRow& task) const;
  // The liveness probe of its attempts; null if it has none.
  const msg::ProbeT* liveness(const TaskRow& task) const;
};

// With the tasks that a good spec asks for (cluster.h).
JobRow MakeJobRow(msg::JobSpecT spec);
JobRules RulesOf(const JobRow& row);

// Where an attempt's output is: DIRECTORY/worker-0.1.stdout.
std::string LogPath(const JobRow& row, const TaskRow& task, const std::string& state_directory,
                    int attempt, msg::LogStream stream);
// $YARD_SOCKET of an attempt; its control socket is the same with ".ctl".
std::string TaskSocketPath(const JobRow& row, const TaskRow& task,
                           const std::string& runtime_directory, int attempt);
// The file that a task touches whose liveness probe is a heartbeat.
std::string HeartbeatPath(const JobRow& row, const TaskRow& task,
                          const std::string& state_directory, int attempt);
// Where the launcher keeps what belongs to the job alone.
std::string JobFolder(const std::string& state_directory, const std::string& id);

// The folder of one attempt, for the files that its shim and the launcher share (docs/launcher.md).
std::string AttemptFolder(const JobRow& row, const TaskRow& task,
                          const std::string& state_directory, int attempt);

// The key by which a node knows an attempt: "j-abcde.0.1" of task 0.
std::string NodeKey(const JobRow& row, int task, int attempt);

// A row as a message, without its environment.
msg::JobT JobMessage(const JobRow& row, const std::string& state_directory);
// Lines of an attempt as a message.
msg::LogLinesT LinesMessage(const JobRow& row, const TaskRow& task, int attempt,
                            msg::LogStream stream, std::uint64_t end,
                            std::vector<std::string> lines);

}  // namespace launcher

#endif  // LAUNCHER_JOB_JOB_ROW_H_

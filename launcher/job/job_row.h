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
  std::int64_t ended_us = 0;  // 0 while the attempt runs.
  int exit_code = 0;
  int signal = 0;
  std::string reason = {};
  // Byte offsets of this attempt's output in the log files. While the attempt lives, `end` is the
  // offset after the last line that was announced (0 if no line was), and the store may have an
  // older value.
  std::uint64_t stdout_begin = 0, stdout_end = 0;
  std::uint64_t stderr_begin = 0, stderr_end = 0;
  bool shim_lost = false;
  int error_number = 0;  // errno when the program could not be executed.
  bool core_dumped = false;
  // By the launcher: because of another task, a requested stop, or the time limit.
  bool was_stopped = false;
  bool out_of_memory = false;
  std::string node = {};  // The node on which it runs or ran; empty for this host.
  // The host name that the node itself reports, if it belongs to an allocation.
  std::string host = {};
};

// A task with all its attempts.
struct TaskRow {
  std::string type;
  int index = 0;
  std::vector<AttemptRow> attempts = {};    // Oldest first.
  std::string address = {};                 // HOST:PORT, in a cluster.
  std::vector<std::string> resources = {};  // The granted resources: "gpu=0,1".
  std::string node = {};                    // The granted node, on which the next attempt runs.
  // The latest failure of the liveness probe; empty if it did not fail. Not kept in the store.
  std::string probe = {};

  // Returns the task's name, such as "worker-0".
  std::string name() const;
  // Returns the attempt with this number; null if the task has none.
  const AttemptRow* attempt(int number) const;
};

// A job with its tasks.
struct JobRow {
  std::string id;
  std::string request_id;  // The request id of the Launch call that made the job; unique.
  std::int64_t created_us = 0;
  std::int64_t run_since_us = 0;  // Start of the job's time limit.
  // The same instant by the monotonic clock, which clock changes do not affect; -1 if it is unknown
  // or from before the last boot.
  std::int64_t run_since_monotonic_us = -1;
  std::int64_t ended_us = 0;
  msg::JobSpecT spec;          // Includes the caller's environment, which is never shown to users.
  std::vector<TaskRow> tasks;  // By rank.
  JobStatus status;            // Has one entry for each of `tasks`.
  // Ports that the job holds until it ends: PortsNeeded() ports of this host or, with a pool, of
  // the nodes of its tasks (0 while a task has no node).
  std::vector<int> ports;
  // Set once a task has failed for good or the time limit has passed; null before.
  std::unique_ptr<msg::FailureT> failure;

  bool has_ended() const { return HasEnded(status); }
  // Sets the ports, and the addresses of the tasks that follow from them.
  void SetPorts(std::vector<int> ports);
  // Sets the addresses of the tasks after nodes were granted. `hosts` is by rank; an empty entry is
  // this host.
  void SetHosts(const std::vector<std::string>& hosts);
  // Returns the hosts in the tasks' addresses by rank, as PlanTasks() takes them.
  std::vector<std::string> Hosts() const;
  // Returns the task with this name; null if the job has no such task.
  const TaskRow* task(const std::string& name) const;
  // Returns the group of the task; null if the spec has no groups.
  const msg::TaskGroupT* group(const TaskRow& task) const;
  // Returns the liveness probe of the task's attempts: its group's, else the spec's; null if it has
  // none.
  const msg::ProbeT* liveness(const TaskRow& task) const;
};

// Makes a row with the tasks of a valid spec (cluster.h).
JobRow MakeJobRow(msg::JobSpecT spec);
// Derives the supervisor's rules from the job's spec.
JobRules RulesOf(const JobRow& row);

// Returns the path of an attempt's output: DIRECTORY/worker-0.1.stdout.
std::string LogPath(const JobRow& row, const TaskRow& task, const std::string& state_directory,
                    int attempt, msg::LogStream stream);
// Returns $YARD_SOCKET of an attempt; the control socket has the same path with the suffix ".ctl".
std::string TaskSocketPath(const JobRow& row, const TaskRow& task,
                           const std::string& runtime_directory, int attempt);
// Returns the path of the file that a task with a heartbeat probe touches.
std::string HeartbeatPath(const JobRow& row, const TaskRow& task,
                          const std::string& state_directory, int attempt);
// Returns the folder in which the launcher keeps the files of this job.
std::string JobFolder(const std::string& state_directory, const std::string& id);

// Returns the folder of one attempt, with the files that its shim and the launcher share
// (docs/launcher.md).
std::string AttemptFolder(const JobRow& row, const TaskRow& task,
                          const std::string& state_directory, int attempt);

// Returns the key by which a node identifies an attempt: "j-abcde.0.1" for attempt 1 of task 0.
std::string NodeKey(const JobRow& row, int task, int attempt);

// Converts a row to a message, without its environment.
msg::JobT JobMessage(const JobRow& row, const std::string& state_directory);
// Makes a message of `lines` of an attempt's output. `end` is the byte offset after the last line.
msg::LogLinesT LinesMessage(const JobRow& row, const TaskRow& task, int attempt,
                            msg::LogStream stream, std::uint64_t end,
                            std::vector<std::string> lines);

}  // namespace launcher

#endif  // LAUNCHER_JOB_JOB_ROW_H_

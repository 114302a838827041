#ifndef LAUNCHER_RUN_JOB_TABLE_H_
#define LAUNCHER_RUN_JOB_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/schema/launcher_generated.h"
#include "launcher/job/job_list.h"
#include "launcher/job/job_observers.h"
#include "launcher/job/job_row.h"
#include "launcher/job/job_store.h"
#include "launcher/job/job_time.h"
#include "launcher/job/shared_callers.h"
#include "launcher/job/supervisor.h"
#include "launcher/log/follow_pace.h"
#include "launcher/run/attempt.h"
#include "launcher/run/attempt_spec.h"
#include "launcher/run/grant_rounds.h"
#include "launcher/run/grants.h"
#include "launcher/run/job.h"
#include "launcher/run/job_ports.h"
#include "launcher/run/job_removals.h"
#include "launcher/run/liveness.h"
#include "launcher/run/other_hosts.h"
#include "launcher/run/retired_attempts.h"
#include "launcher/run/shim_spawner.h"
#include "launcher/run/task_run.h"
#include "launcher/share/held_ports.h"
#include "launcher/share/machine_locks.h"
#include "launcher/share/node_queue.h"
#include "launcher/share/resources.h"
#include "launcher/wire/process_limit.h"
#include "launcher/wire/shim_protocol.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"
#include "runtime/file/locations.h"
#include "runtime/file/unique_fd.h"
#include "runtime/thread_pool.h"
#include "runtime/timer.h"

namespace launcher {

// All jobs of the launcher: starts, watches, restarts and stops their tasks. Every decision is
// stored before it is carried out. Use on the loop's thread.
//
// When a JobTable is destroyed (or its process is killed at any instant), its tasks go on under
// their shims; the next JobTable on the same state re-adopts them.
class JobTable {
 public:
  struct Options {
    // Not owned; both outlive the table, and the loop outlives the pool.
    runtime::EventLoop* loop = nullptr;
    runtime::ThreadPool* pool = nullptr;
    runtime::Clock* clock = runtime::Clock::Real();
    runtime::Locations locations;
    // A store that JobStore::OpenIn() has opened; if null, the table opens it.
    std::unique_ptr<JobStore> store = nullptr;
    std::string shim_path;                 // The path of yard-shim.
    std::vector<Resource> resources = {};  // Resources that tasks share.
    // The nodes on which tasks of jobs with a pool run; null if there are no nodes. Not owned;
    // outlives the table.
    OtherHosts* hosts = nullptr;
    // Locks by which the launchers of several yards share those resources; null if no other yard
    // uses them. Not owned; outlives the table.
    MachineLocks* machine_locks = nullptr;
    // How often the table checks whether other yards have released a resource, while a task waits
    // for one.
    absl::Duration look_for_others = absl::Milliseconds(500);
    // Process limits that apply unless the task sets a limit of the same name.
    std::vector<ProcessLimit> limits = {};
    // A task that was granted no GPU sees none (unless its job has share_sets).
    bool hides_gpus = false;
    std::vector<HeldPorts::Range> port_ranges = {};  // As in HeldPorts::Options.
    // Ended jobs are removed, with their folders, once they ended longer ago than `keep_for`, or,
    // oldest first, while there are more than `keep_count`.
    absl::Duration keep_for = absl::Hours(7 * 24);
    std::size_t keep_count = 10'000;
    // Returns a number in [0, 1) for the jitter of restart delays. Unset: the kernel's random
    // source.
    std::function<double()> random;
    // Called on the loop's thread for every change of a job and for whole lines of output; the
    // lines are in the log files before the call, so that log_record.h can read them. Optional.
    // `from` is the byte offset at which the previously reported lines of the attempt end, 0 for
    // its first lines; it is larger if lines were left out.
    std::function<void(msg::JobT)> on_job;
    std::function<void(const std::string& job, std::uint64_t from, msg::LogLinesT)> on_lines;
    // Called when a task arrives at a barrier, with the line that it wrote to its report channel.
    // Call `answer` with the line that the task gets: on the loop's thread, at most once, at any
    // later time. Calls with the same id are the same arrival. Optional.
    struct BarrierLine {
      std::string id;
      std::string task;  // "JOB/worker-0"
      std::string line;
    };
    std::function<void(const BarrierLine&, std::function<void(std::string)> answer)> on_barrier =
        {};
    // Called at each named point between two durable steps, at which a test can kill the process.
    std::function<void(std::string_view point)> fault = {};
  };
  // Loads the state and re-adopts every task of an earlier launcher.
  static absl::StatusOr<std::unique_ptr<JobTable>> Open(Options options);
  ~JobTable();
  JobTable(const JobTable&) = delete;
  JobTable& operator=(const JobTable&) = delete;

  // Stores the job, then starts it. Idempotent: the same request id returns the same job. Errors:
  // InvalidArgument as from CheckJobSpec() and CheckCluster(); NotFound if a job that it starts
  // after does not exist; AlreadyExists if a live job has the same name; FailedPrecondition if it
  // asks for more resources than exist; ResourceExhausted if there are too many jobs or no free
  // ports.
  absl::StatusOr<msg::JobT> Launch(const std::string& request_id, msg::JobSpecT spec);

  // Finds a job by its id, its name (the live job with that name, else the newest), or a unique
  // prefix of its id; finds a task by such a name of its job, "/" and the task's name. NotFound if
  // nothing matches; FailedPrecondition, with the matching jobs, if a prefix is ambiguous.
  struct Named {
    std::string job;
    int task = kWholeJob;
  };
  absl::StatusOr<Named> Find(const std::string& name) const;
  // Returns the row of a job by its exact id; null if the job does not exist or was removed.
  const JobRow* Row(const std::string& id) const;
  // Returns all rows, sorted by id; the pointers are valid until a job is removed.
  std::vector<const JobRow*> Rows() const;
  // Converts a row to a message, without its environment.
  msg::JobT Message(const JobRow& row) const;
  // Returns the jobs that match `options`, oldest first.
  std::vector<msg::JobT> List(const JobListOptions& options) const;
  // Returns the environment with which a job was launched, as "NAME=value", without the variables
  // that its task groups add. It includes secrets. For an ended job it is read from the store,
  // which blocks.
  absl::StatusOr<std::vector<std::string>> EnvironmentOf(const std::string& id) const;

  // In the next three functions the named job or task must exist, and a grace of zero stands for
  // the job's own. Stop() asks the job or task to stop; it does not affect tasks that have ended.
  // `yard_ends` says that the yard goes down: a job with `autostart` then starts again with the
  // next launcher.
  absl::Status Stop(const Named& named, absl::Duration grace, std::string reason,
                    bool yard_ends = false);
  // Stops the running tasks of the job (or the named task), and then starts all tasks of it again.
  // FailedPrecondition while the job is ending; or, if it has ended, while a live job holds one of
  // its ports or while it is being removed.
  absl::Status Restart(const Named& named, absl::Duration grace);
  // Sends a signal to the process groups of the running tasks, and returns the names of these
  // tasks.
  absl::StatusOr<std::vector<std::string>> Signal(const Named& named, int signal);
  // Removes the job's folder in the launcher's state, on a thread of the pool, and then the job.
  // Calls `done` on the loop's thread, possibly before Remove() returns; never if the table is
  // destroyed first, and then the job still exists. FailedPrecondition while the job lives.
  void Remove(const std::string& id, std::function<void(const absl::Status&)> done);
  // Cancels all removals, so that they do not keep threads of the pool while the process ends. They
  // end with Cancelled, and their jobs can be removed again later.
  void GiveUpRemovals() { removals_.GiveUp(); }

  // Calls `changed` after every change of a job and whenever its output grows, until Forget(). The
  // removal of the job counts as a change.
  using ObserverId = JobObservers::Id;
  ObserverId Observe(const std::string& id, std::function<void()> changed) {
    return observers_.Add(id, std::move(changed));
  }
  void Forget(ObserverId observer) { observers_.Forget(observer); }

  // Statistics: `jobs`, `live` and `at_hand` are present numbers; the others count since the start.
  struct Stats {
    std::uint64_t jobs = 0, live = 0, attempts = 0, adopted = 0, lost = 0;
    std::uint64_t at_hand = 0;  // Jobs that live or ended a moment ago, which are fully in memory.
  };
  Stats GetStats() const;
  // Returns the queue for nodes, which knows the places that tasks hold on nodes.
  const NodeQueue& nodes() const { return grants_.nodes(); }

 private:
  explicit JobTable(Options options);

  absl::Status Prepare();
  void Fault(std::string_view point) const {
    if (options_.fault) options_.fault(point);
  }
  absl::Duration Now() const { return options_.clock->Monotonic(); }
  std::int64_t WallUs() const { return absl::ToUnixMicros(options_.clock->Now()); }
  Moment BothClocks() const { return {.wall = options_.clock->Now(), .monotonic = Now()}; }
  Job* Find(const JobRow& row) const;

  void MakeHost();
  void SetUp(Job& job);
  absl::Status MakeWhole(Job& job);
  void PutAside(Job& job);
  void PutAsideLater(const Job& job);
  JobRun* RunOf(const std::string& job) const;
  void Add(std::unique_ptr<Job> job);
  absl::Status CheckRoom(const JobRow& row) const;
  absl::StatusOr<std::string> FindJob(const std::string& name) const;

  const JobRow* NewestOf(const std::string& name) const;
  void FeedOrder(Job& job);
  void FeedOrders();
  void NoteWaiting(const Job& job);
  void ComeBack(Job& job);
  void BeginLiveness(TaskRun* task);
  void OnLook(TaskRun* task, const std::string& why);
  void OnProbeFailed(TaskRun* task, const std::string& reason);
  void Feed(Job& job, const Event& event);
  Decided& Change(Job& job, absl::Duration within);
  void FlushSoon();
  void Flush();
  void CarryOut(Job& job, const Decided& decided);
  void NoteEnd(Job& job, bool had_ended);
  void Carry(Job&, const action::AskForGrant&) {}  // AskForGrants() handles these actions together.
  void Carry(Job& job, const action::StartAttempt& start);
  void Carry(Job& job, const action::StopAttempt& stop);
  void Carry(Job& job, const action::SetTimer& timer);
  void Carry(Job& job, const action::CancelTimer& cancel);
  void SetEndTimer(Job& job);
  void AskForGrants(Job& job, const std::vector<Action>& actions);
  void ReleaseGrants(Job& job, const std::set<int>& changed);
  void NoteGrants(Job& job, const std::vector<Grants::Grant>& grants);
  void AskForPorts(Job& job);
  void BeginGranted(Job& job, const std::vector<int>& granted);
  void NoteHosts(Job& job);
  MachineLocks::Names NamesOf(const std::string& job) const;
  absl::StatusOr<std::vector<runtime::UniqueFd>> LocksOf(const JobRow& row, int task);
  std::vector<int> PortsOf(const Job& job, int task) const;
  void NoteFailure(Job& job);

  ShimSpec SpecOf(const JobRow& row, int task, int attempt) const;
  void OnOver(TaskRun* task, const AttemptEnd& end, std::unique_ptr<Attempt> attempt);
  void OnBarrier(const TaskRun& task, const ShimBarrier& barrier);
  void LetGo(const Job& job);
  void ForgetOld();
  absl::Status ForgetJob(const std::string& id);
  void Restore(const Job& job);
  void TakeUp(Job& job);
  void NoteTakenUp(TaskRun* task);
  void Save(const std::vector<JobStore::Change>& changes);
  void Announce(Job& job);
  void Tell(Job& job);

  Options options_;
  const std::string jobs_directory_;
  const AttemptHost attempt_host_;
  TaskRun::Host host_;
  std::unique_ptr<JobStore> store_;
  Grants grants_;
  GrantRounds grant_rounds_;
  ShimSpawner spawner_;
  FollowPace ready_pace_;
  JobPorts ports_;
  std::map<std::string, std::unique_ptr<Job>> jobs_;
  std::map<std::string, std::string> by_request_;
  SharedCallers callers_;
  std::vector<Job*> decided_;  // Jobs with pending decisions.
  bool flush_comes_ = false;
  runtime::Timer flush_timer_;
  // Tasks of an earlier launcher that are not yet found running or ended.
  std::set<const TaskRun*> being_taken_up_;
  std::set<std::string> waiting_;                                 // Jobs that wait for other jobs.
  std::map<const TaskRun*, std::unique_ptr<Liveness>> liveness_;  // The probes of running attempts.
  absl::Duration opened_;
  RetiredAttempts retired_;
  JobObservers observers_;
  runtime::Timer forget_timer_;
  Stats stats_;
  // Callbacks posted to the loop check this first.
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  JobRemovals removals_;
};

}  // namespace launcher

#endif  // LAUNCHER_RUN_JOB_TABLE_H_

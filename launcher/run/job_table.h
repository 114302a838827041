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

// Every job the launcher knows: starts, watches, restarts and stops their tasks, and keeps what
// it knows in the store before it acts on it. On the loop's thread.
//
// A JobTable that is destroyed (or whose process is killed at any instant) leaves its tasks to
// their shims; the next one on the same state takes them up.
class JobTable {
 public:
  struct Options {
    // Not owned; both outlive the table, and the loop outlives the pool.
    runtime::EventLoop* loop = nullptr;
    runtime::ThreadPool* pool = nullptr;
    runtime::Clock* clock = runtime::Clock::Real();
    runtime::Locations locations;
    // As JobStore::OpenIn() has opened it; null: the table opens it.
    std::unique_ptr<JobStore> store = nullptr;
    std::string shim_path;                 // The path of yard-shim.
    std::vector<Resource> resources = {};  // Resources that tasks share.
    // Where the tasks of jobs with a pool run. Null: nowhere. Not owned; outlives the table.
    OtherHosts* hosts = nullptr;
    // Claims of launchers of other yards to those resources, too. Null: nobody else has some. Not
    // owned; outlives the table.
    MachineLocks* machine_locks = nullptr;
    // How often the table looks whether others have given something back, while a task waits for
    // it.
    absl::Duration look_for_others = absl::Milliseconds(500);
    // Limits of every task that does not ask for a limit of that name.
    std::vector<ProcessLimit> limits = {};
    // A task that was given no GPU sees none (unless its job has share_sets).
    bool hides_gpus = false;
    std::vector<HeldPorts::Range> port_ranges = {};  // As in HeldPorts::Options.
    // Ended jobs are forgotten, with their folders, once they are older or more than this; the
    // oldest first.
    absl::Duration keep_for = absl::Hours(7 * 24);
    std::size_t keep_count = 10'000;
    std::function<double()> random;  // In [0, 1); spreads restarts. Unset: the kernel's.
    // Every change of a job, and whole lines of output, which log_record.h can read before they
    // are told; on the loop's thread. Optional. `from`: where the attempt's lines before these
    // end, 0 if these are its first; further on where lines were left out.
    std::function<void(msg::JobT)> on_job;
    std::function<void(const std::string& job, std::uint64_t from, msg::LogLinesT)> on_lines;
    // A task is at a barrier and says so in this line on its report channel. `answer` takes the
    // line it gets; on the loop's thread, at most once, any time. The same id: the same arrival.
    // Optional.
    struct BarrierLine {
      std::string id;
      std::string task;  // "JOB/worker-0"
      std::string line;
    };
    std::function<void(const BarrierLine&, std::function<void(std::string)> answer)> on_barrier =
        {};
    // Called at each named point between two durable steps: a test kills itself there.
    std::function<void(std::string_view point)> fault = {};
  };
  // Loads the state and takes up every task of an earlier launcher.
  static absl::StatusOr<std::unique_ptr<JobTable>> Open(Options options);
  ~JobTable();
  JobTable(const JobTable&) = delete;
  JobTable& operator=(const JobTable&) = delete;

  // Makes the job durable, then starts it. The same request id again answers with the same job.
  // InvalidArgument: see CheckJobSpec and CheckCluster; NotFound: a job that it starts after;
  // AlreadyExists: a live job has this name;
  // FailedPrecondition: it asks for more resources than there are; ResourceExhausted: there are
  // too many jobs, or no more ports.
  absl::StatusOr<msg::JobT> Launch(const std::string& request_id, msg::JobSpecT spec);

  // A job is named by its id, its name (the live job of that name, else the newest), or a unique
  // prefix of its id; one of its tasks by that, "/" and its own name. NotFound, or
  // FailedPrecondition listing the jobs an ambiguous prefix stands for.
  struct Named {
    std::string job;
    int task = kWholeJob;
  };
  absl::StatusOr<Named> Find(const std::string& name) const;
  // The row of a job by its exact id; null if there is no such job (any more).
  const JobRow* Row(const std::string& id) const;
  // All, in the order of their ids; good until a job is removed.
  std::vector<const JobRow*> Rows() const;
  // As others see it: without its environment.
  msg::JobT Message(const JobRow& row) const;
  // Oldest first.
  std::vector<msg::JobT> List(const JobListOptions& options) const;
  // The environment that a job was launched with, without what its task types add: "NAME=value"
  // each, secrets and all. If the job has ended, it is read from the store.
  absl::StatusOr<std::vector<std::string>> EnvironmentOf(const std::string& id) const;

  // In these calls the named job or task must exist; zero grace: the job's own. Stop() asks it to
  // stop. Tasks that have ended stay as they are.
  // `yard_ends`: the yard goes down, and a job with `autostart` comes back with the next launcher.
  absl::Status Stop(const Named& named, absl::Duration grace, std::string reason,
                    bool yard_ends = false);
  // Stops what runs of it, and starts all of it again. FailedPrecondition while the job ends, or,
  // if it has ended, while a live job has one of its ports or it is being removed.
  absl::Status Restart(const Named& named, absl::Duration grace);
  // Sends a signal to the process groups of what runs of it: the names of those tasks.
  absl::StatusOr<std::vector<std::string>> Signal(const Named& named, int signal);
  // Removes its folder in the launcher's state, on a thread of the pool, then forgets it. `done` is
  // called on the loop's thread, perhaps at once; never, if the table is destroyed before (then the
  // job is still there). FailedPrecondition while it lives.
  void Remove(const std::string& id, std::function<void(const absl::Status&)> done);
  // The process is about to end: gives up removals (Cancelled; what is not removed by now can be
  // removed again), so that no thread of the pool is kept.
  void GiveUpRemovals() { removals_.GiveUp(); }

  // Calls `changed` after every change of a job and every growth of its output, until
  // Forget(). A removal of the job is a change, too.
  using ObserverId = JobObservers::Id;
  ObserverId Observe(const std::string& id, std::function<void()> changed) {
    return observers_.Add(id, std::move(changed));
  }
  void Forget(ObserverId observer) { observers_.Forget(observer); }

  struct Stats {
    std::uint64_t jobs = 0, live = 0, attempts = 0, adopted = 0, lost = 0;
    std::uint64_t at_hand = 0;  // Jobs that live, or have ended a moment ago.
  };
  Stats GetStats() const;
  // The queue for nodes says who has which place there.
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
  void Carry(Job&, const action::AskForGrant&) {}  // AskForGrants() does, for all together.
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
  std::vector<Job*> decided_;  // Jobs with something in `decided`.
  bool flush_comes_ = false;
  runtime::Timer flush_timer_;
  std::set<const TaskRun*> being_taken_up_;                       // Not found yet.
  std::set<std::string> waiting_;                                 // Jobs that wait for other jobs.
  std::map<const TaskRun*, std::unique_ptr<Liveness>> liveness_;  // Attempts that run have one.
  absl::Duration opened_;
  RetiredAttempts retired_;
  JobObservers observers_;
  runtime::Timer forget_timer_;
  Stats stats_;
  // Callbacks posted to the loop look here first.
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  JobRemovals removals_;
};

}  // namespace launcher

#endif  // LAUNCHER_RUN_JOB_TABLE_H_

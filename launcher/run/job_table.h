#ifndef LAUNCHER_RUN_JOB_TABLE_H_
#define LAUNCHER_RUN_JOB_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/schema/launcher_generated.h"
#include "launcher/job/job_observers.h"
#include "launcher/job/job_row.h"
#include "launcher/job/job_store.h"
#include "launcher/job/supervisor.h"
#include "launcher/run/other_hosts.h"
#include "launcher/share/held_ports.h"
#include "launcher/share/machine_locks.h"
#include "launcher/share/node_queue.h"
#include "launcher/share/resources.h"
#include "launcher/wire/process_limit.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"
#include "runtime/file/locations.h"
#include "runtime/thread_pool.h"

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
  virtual ~JobTable() = default;

  // Makes the job durable, then starts it. The same request id again answers with the same job.
  // InvalidArgument: see CheckJobSpec and CheckCluster; NotFound: a job that it starts after;
  // AlreadyExists: a live job has this name;
  // FailedPrecondition: it asks for more resources than there are; ResourceExhausted: there are
  // too many jobs, or no more ports.
  virtual absl::StatusOr<msg::JobT> Launch(const std::string& request_id, msg::JobSpecT spec) = 0;

  // A job is named by its id, its name (the live job of that name, else the newest), or a unique
  // prefix of its id; one of its tasks by that, "/" and its own name. NotFound, or
  // FailedPrecondition listing the jobs an ambiguous prefix stands for.
  struct Named {
    std::string job;
    int task = kWholeJob;
  };
  virtual absl::StatusOr<Named> Find(const std::string& name) const = 0;
  // The row of a job by its exact id; null if there is no such job (any more).
  virtual const JobRow* Row(const std::string& id) const = 0;
  // All, in the order of their ids; good until a job is removed.
  virtual std::vector<const JobRow*> Rows() const = 0;
  // As others see it: without its environment.
  virtual msg::JobT Message(const JobRow& row) const = 0;
  struct ListOptions {
    bool live_only = false;
    std::size_t newest_ended = 0;  // At most so many ended jobs, the last to end; 0: all.
  };
  // Oldest first.
  virtual std::vector<msg::JobT> List(const ListOptions& options) const = 0;
  // The environment that a job was launched with, without what its task types add: "NAME=value"
  // each, secrets and all. If the job has ended, it is read from the store.
  virtual absl::StatusOr<std::vector<std::string>> EnvironmentOf(const std::string& id) const = 0;

  // In these calls the named job or task must exist; zero grace: the job's own. Stop() asks it to
  // stop. Tasks that have ended stay as they are.
  // `yard_ends`: the yard goes down, and a job with `autostart` comes back with the next launcher.
  virtual absl::Status Stop(const Named& named, absl::Duration grace, std::string reason,
                            bool yard_ends = false) = 0;
  // Stops what runs of it, and starts all of it again. FailedPrecondition while the job ends, or,
  // if it has ended, while a live job has one of its ports or it is being removed.
  virtual absl::Status Restart(const Named& named, absl::Duration grace) = 0;
  // Sends a signal to the process groups of what runs of it: the names of those tasks.
  virtual absl::StatusOr<std::vector<std::string>> Signal(const Named& named, int signal) = 0;
  // Removes its folder in the launcher's state, on a thread of the pool, then forgets it. `done` is
  // called on the loop's thread, perhaps at once; never, if the table is destroyed before (then the
  // job is still there). FailedPrecondition while it lives.
  virtual void Remove(const std::string& id, std::function<void(const absl::Status&)> done) = 0;
  // The process is about to end: gives up removals (Cancelled; what is not removed by now can be
  // removed again), so that no thread of the pool is kept.
  virtual void GiveUpRemovals() = 0;

  // Calls `changed` after every change of a job and every growth of its output, until
  // Forget(). A removal of the job is a change, too.
  using ObserverId = JobObservers::Id;
  virtual ObserverId Observe(const std::string& id, std::function<void()> changed) = 0;
  virtual void Forget(ObserverId observer) = 0;

  struct Stats {
    std::uint64_t jobs = 0, live = 0, attempts = 0, adopted = 0, lost = 0;
    std::uint64_t at_hand = 0;  // Jobs that live, or have ended a moment ago.
  };
  virtual Stats GetStats() const = 0;
  // The queue for nodes says who has which place there.
  virtual const NodeQueue& nodes() const = 0;
};

}  // namespace launcher

#endif  // LAUNCHER_RUN_JOB_TABLE_H_

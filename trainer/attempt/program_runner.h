#ifndef TRAINER_ATTEMPT_PROGRAM_RUNNER_H_
#define TRAINER_ATTEMPT_PROGRAM_RUNNER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/launcher_client/job_control.h"
#include "bus/schema/launcher_generated.h"
#include "runtime/event_loop.h"
#include "trainer/store/trial_record.h"

namespace trainer {

// How an attempt ended.
struct ProgramEnd {
  bool success = false;
  std::string reason;                    // Reason of a failure, as text.
  std::vector<std::string> error_lines;  // Last lines of its standard error, if it failed.
  std::string stderr_path = {};
  bool was_refused = false;  // It never ran, and a retry would not run either.
  bool may_go_on = false;    // The process is attached and may keep running.
};

// Runs one attempt of a trial as a program: a job of the launcher with one task or a cluster
// (trial_cluster.h). Its reports come through the Relay; this class handles its life. Use it on the
// loop's thread. Destroying a runner leaves the program running.
class ProgramRunner {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned, nor is `jobs`; both outlive this.
    bus::JobControl* jobs = nullptr;
    std::string trace = {};  // Trace id of the launch.
    // How long to wait for late reports after the program's exit, if the shim has not said that all
    // were sent.
    absl::Duration last_reports = absl::Seconds(2);
    // Memory limit of each task, in bytes, for the text of a failure; 0: no limit.
    std::uint64_t memory_limit = 0;
    // Called when the launcher has started the job. On error it has not, and nothing else is
    // called.
    std::function<void(absl::StatusOr<std::string> job)> on_launched;
    // Called with the job whenever its state changes, and once more when it has ended. Optional.
    std::function<void(const msg::JobT&)> on_changed = {};
    // Called when the attempt has ended and no more reports will arrive.
    std::function<void(ProgramEnd)> on_ended;
  };
  static std::shared_ptr<ProgramRunner> Create(Options options);
  virtual ~ProgramRunner() = default;

  // Call exactly one of these two, once: Launch() starts a new job; TakeUp() follows a job that the
  // launcher has already started.
  virtual void Launch(const std::string& request_id, const msg::JobSpecT& spec) = 0;
  virtual void TakeUp(const std::string& job) = 0;
  // Asks the launcher to stop the program, which is killed after `grace`.
  virtual void Stop(absl::Duration grace, const std::string& reason, const std::string& trace) = 0;
  // Called when the shim has sent all lines of the program; `how` says how an attached one ended.
  virtual void ReportsComplete(std::string_view how) = 0;
  // Called when the shim connects or disconnects.
  virtual void OnConnection(bool /*is_open*/) {}
  // Returns true if all reports were sent, or the launcher says that the reporting task has ended.
  virtual bool nobody_reports() const = 0;
};

// Returns the job of the trial's current attempt. `relay` is the socket path of the report channel.
msg::JobSpecT JobSpecFor(const TrialRecord& trial, const std::string& relay);

// Returns the file of the trial's standard output, shared by all its attempts (docs/launcher.md).
std::string OutputPathOf(const TrialRecord& trial);

// Size in bytes of each standard error file, by path. All attempts of a trial append to one file,
// so the output of the next attempt begins there.
using ErrorSizes = std::map<std::string, std::int64_t>;
ErrorSizes ErrorSizesOf(const TrialRecord& trial);

// Returns the last lines of the attempt's standard error, after the bytes counted in `before`,
// whether or not it failed.
std::vector<std::string> LastErrorLines(const ProgramEnd& end, const ErrorSizes& before);

// Returns the last `count` lines of a file after its first `from` bytes, from at most its last 16
// KiB; empty if the file cannot be read.
std::vector<std::string> LastLines(const std::string& path, std::size_t count,
                                   std::int64_t from = 0);

}  // namespace trainer

#endif  // TRAINER_ATTEMPT_PROGRAM_RUNNER_H_

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

// How an attempt of a trial ended.
struct ProgramEnd {
  bool success = false;
  std::string reason;                    // Why not, in words.
  std::vector<std::string> error_lines;  // The last ones of its standard error, if it failed.
  std::string stderr_path = {};
  bool was_refused = false;  // It never ran, and would not the next time either.
  bool may_go_on = false;    // An attached process, for which the attempt is over all the same.
};

// Runs one attempt of a trial as a program: a job of the launcher's, of one task or of a cluster
// (trial_cluster.h). Its reports come through the Relay; here is its life. On the loop's thread. A
// runner that is destroyed leaves the program alone.
class ProgramRunner {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned, as `jobs`; both outlive it.
    bus::JobControl* jobs = nullptr;
    std::string trace = {};  // Trace id of the launch.
    // How long reports may still come after the program's exit, without word from the shim that
    // there are no more.
    absl::Duration last_reports = absl::Seconds(2);
    // Limit of each of its tasks, in bytes, for the words of a failure; 0: none.
    std::uint64_t memory_limit = 0;
    // The launcher has started it (or will not: then nothing else follows).
    std::function<void(absl::StatusOr<std::string> job)> on_launched;
    // The job is like that now: whenever its state changes, and once more when it has ended.
    // Optional.
    std::function<void(const msg::JobT&)> on_changed = {};
    // It has ended and no more reports will come.
    std::function<void(ProgramEnd)> on_ended;
  };
  static std::shared_ptr<ProgramRunner> Create(Options options);
  virtual ~ProgramRunner() = default;

  // Call one of the two, once: Launch() starts a new job, TakeUp() takes up one that the launcher
  // has started already.
  virtual void Launch(const std::string& request_id, const msg::JobSpecT& spec) = 0;
  virtual void TakeUp(const std::string& job) = 0;
  // Asks the program to end, from outside; it is killed after `grace`.
  virtual void Stop(absl::Duration grace, const std::string& reason, const std::string& trace) = 0;
  // The shim has said that every line of the program was sent; `how` it ended, if it was attached.
  virtual void ReportsComplete(std::string_view how) = 0;
  // Its shim is connected now, or not any more.
  virtual void OnConnection(bool /*is_open*/) {}
  // It has, or the launcher has told that the task which reports has ended.
  virtual bool nobody_reports() const = 0;
};

// The job of a trial's current attempt. `relay` is the path of the report channel's socket.
msg::JobSpecT JobSpecFor(const TrialRecord& trial, const std::string& relay);

// The file of its standard output, which all attempts of the trial have in common
// (docs/launcher.md).
std::string OutputPathOf(const TrialRecord& trial);

// How many bytes there are in each file of standard error, by path: all attempts of a trial write
// into one, so what the next one says begins there.
using ErrorSizes = std::map<std::string, std::int64_t>;
ErrorSizes ErrorSizesOf(const TrialRecord& trial);

// The last lines of its standard error, however it ended, behind what was there `before` it.
std::vector<std::string> LastErrorLines(const ProgramEnd& end, const ErrorSizes& before);

// The last `count` lines of a file behind its first `from` bytes, of its last 16 KiB at most; none
// if it cannot be read.
std::vector<std::string> LastLines(const std::string& path, std::size_t count,
                                   std::int64_t from = 0);

}  // namespace trainer

#endif  // TRAINER_ATTEMPT_PROGRAM_RUNNER_H_

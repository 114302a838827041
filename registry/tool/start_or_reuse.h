#ifndef REGISTRY_TOOL_START_OR_REUSE_H_
#define REGISTRY_TOOL_START_OR_REUSE_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/launcher_client/job_control.h"
#include "bus/schema/registry_generated.h"
#include "registry/tool/instance_view.h"
#include "registry/tool/tool_probe.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"
#include "runtime/timer.h"

namespace registry {

// Returns the temporary directory of a caller, with symbolic links resolved, so that each info
// directory has one name. FailedPrecondition if no temporary directory is writable.
absl::StatusOr<std::string> TemporaryOf(const std::vector<std::string>& environment,
                                        const std::string& working_directory);
// Converts an entry to a message; the id is TOOL-PORT.
msg::InstanceT MessageOf(const InstanceView::Entry& entry, const std::string& job);

// Finds a live tool with the caller's cache key, or asks the launcher to start one: TensorBoard's
// manager.start with its five outcomes, but
// - reuses only live tools of our user (instance_view.h),
// - any number of callers with one key and info directory start one process and wait for it
//   together; a caller whose deadline passes leaves it to the other and later callers,
// - acts on events of files and jobs instead of polling twice a second,
// - leaves a tool whose info file was deleted alone and starts another beside it, like the
//   original,
// - distinguishes tools by name, even with the same key.
// Each key determines the name of its job, so that a restarted registry finds the job that it
// requested before. (A tool that is started beside it has a job with the suffix "-2".)
//
// Loop's thread only.
class StartOrReuse {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;
    runtime::Clock* clock = nullptr;
    bus::JobControl* jobs = nullptr;
    ToolProbe* probe = nullptr;
    uid_t uid = 0;
    // Returns the view of the info directory in a temporary directory, creating it if necessary.
    // Its changes must be passed to Changed().
    std::function<InstanceView*(const std::string& temporary_directory)> view = {};
    std::function<bool()> launcher_is_there = {};
  };
  using CallerId = std::uint64_t;
  struct Caller {
    absl::Duration timeout = absl::Seconds(60);
    std::string trace = {};
    std::function<void(msg::StartOrReuseReplyT)> progress = {};
    // Called once, perhaps within Start(). Errors: InvalidArgument names the field; Unavailable:
    // the launcher does not run; AlreadyExists: another process listens on the port of a tool
    // without info file.
    std::function<void(absl::StatusOr<msg::StartOrReuseReplyT>)> done = {};
  };
  explicit StartOrReuse(Options options);

  CallerId Start(const msg::StartOrReuseRequestT& request, Caller caller);
  // Forgets a caller; `done` is not called. The tool that it has started continues to run.
  void Leave(CallerId caller);
  // Must be called when an entry of a view has changed.
  void Changed(const std::string& temporary_directory);

  // Asks the launcher for the jobs of tools that an earlier registry requested.
  void LearnJobs(const std::string& temporary_directory);
  // Returns the job whose process has this pid; empty if the yard did not start it, or that is not
  // known yet.
  std::string JobOf(pid_t pid) const;
  // True while a caller waits for a tool of this temporary directory, or a tool is being started
  // there.
  bool Uses(const std::string& temporary_directory) const;
  std::size_t flights() const { return flights_.size(); }

 private:
  struct Waiting {
    Caller caller;
    absl::Duration began;
    runtime::Timer timer;
  };
  // One start in progress.
  struct Flight {
    std::string key;                  // The cache key.
    std::string temporary_directory;  // Contains the info directory.
    msg::StartOrReuseRequestT request;
    std::string explicit_binary;
    std::uint64_t number = 0;  // Number of this attempt; callbacks of earlier attempts are ignored.
    int copy = 1;              // Its job: the first of this key, or one beside it.
    bool adopted = false;      // The job existed before this call.
    absl::Duration adopted_at;
    bool port_is_taken = false;
    std::string job;  // The id, once launched.
    pid_t pid = 0;
    std::int64_t started_us = 0;
    std::string progress;
    std::map<CallerId, Waiting> callers;
    runtime::Timer probe_timer;
    absl::Duration probe_pause;
  };
  using FlightId = std::string;  // "TEMPORARY_DIRECTORY\nTOOL\nKEY"

  absl::Status Check(const msg::StartOrReuseRequestT& request) const;
  void Join(const FlightId& flight_id, CallerId id, Caller caller);
  // Returns the reply that ends the call at once if the tool cannot even be tried.
  std::optional<absl::StatusOr<msg::StartOrReuseReplyT>> CannotLaunch(Flight* flight) const;
  // Returns the flight if it is still at this attempt.
  Flight* Find(const FlightId& id, std::uint64_t number);
  void Launch(const FlightId& id);
  void Adopt(const FlightId& id);
  void Follow(const FlightId& id, const std::string& job);
  void JobChanged(const FlightId& id, const msg::JobT& job);
  void JobEnded(const FlightId& id, absl::StatusOr<msg::JobT> job);
  void AdoptedEnded(const FlightId& id);
  bool HasLostItsFile(const Flight& flight) const;
  void Look(const FlightId& id);
  void LookLater(const FlightId& id);
  absl::Status WriteInfo(const Flight& flight) const;
  void Tell(Flight* flight, std::string progress);
  void Finish(const FlightId& id, absl::StatusOr<msg::StartOrReuseReplyT> reply);
  void TimeIsOver(const FlightId& id, CallerId caller);
  msg::StartOrReuseReplyT ReplyOf(const Flight& flight, msg::StartOutcome outcome) const;
  void Note(pid_t pid, const std::string& job);
  void LearnJob(pid_t pid, const std::string& tool, const FlightId& id, int copy);

  const Options options_;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
  std::map<FlightId, Flight> flights_;
  std::map<CallerId, FlightId> callers_;
  CallerId last_caller_ = 0;
  std::uint64_t last_number_ = 0;
  std::map<pid_t, std::string> jobs_;  // Jobs of live processes; empty while the launcher is being
                                       // asked, or if it knows no job.
};

}  // namespace registry

#endif  // REGISTRY_TOOL_START_OR_REUSE_H_

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

// The temporary directory of a caller, without symbolic links, so that each info directory has one
// name. FailedPrecondition: no temporary directory can be written to.
absl::StatusOr<std::string> TemporaryOf(const std::vector<std::string>& environment,
                                        const std::string& working_directory);
// The message of an entry; the id is TOOL-PORT.
msg::InstanceT MessageOf(const InstanceView::Entry& entry, const std::string& job);

// Finds a live tool with the caller's cache key, or has the launcher start one: TensorBoard's
// manager.start with its five outcomes, but
//   - only live tools of our user are reused (instance_view.h),
//   - any number of callers of one key and info directory start one process and wait for it
//     together; a caller whose time is over leaves it to the others and to those to come,
//   - it acts on events of files and jobs instead of looking twice a second,
//   - a tool whose info file was deleted is left alone, and another is started beside it, as there,
//   - a tool with another name is another tool, also with the same key.
// The job of a key has a name of its own, so that a restarted registry finds the job that it had
// asked for before. (The job of a tool that is started beside it has "-2" behind that name.)
//
// On the loop's thread.
class StartOrReuse {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;
    runtime::Clock* clock = nullptr;
    bus::JobControl* jobs = nullptr;
    ToolProbe* probe = nullptr;
    uid_t uid = 0;
    // The view of the info directory in a temporary directory; made if need be. Its changes go to
    // Changed().
    std::function<InstanceView*(const std::string& temporary_directory)> view = {};
    std::function<bool()> launcher_is_there = {};
  };
  using CallerId = std::uint64_t;
  struct Caller {
    absl::Duration timeout = absl::Seconds(60);
    std::string trace = {};
    std::function<void(msg::StartOrReuseReplyT)> progress = {};
    // Once, maybe within Start(). Errors: InvalidArgument names the field; Unavailable: there is no
    // launcher; AlreadyExists: something else listens on the port of a tool without info file.
    std::function<void(absl::StatusOr<msg::StartOrReuseReplyT>)> done = {};
  };
  explicit StartOrReuse(Options options);

  CallerId Start(const msg::StartOrReuseRequestT& request, Caller caller);
  // Forgets a caller; `done` is not called. The tool it has had started goes on.
  void Leave(CallerId caller);
  // An entry of a view has changed.
  void Changed(const std::string& temporary_directory);

  // Asks the launcher for the jobs of tools that an earlier registry has had started.
  void LearnJobs(const std::string& temporary_directory);
  // The job of the tool that is this process; empty if the yard has not started it, or this is not
  // known yet.
  std::string JobOf(pid_t pid) const;
  // True while somebody waits for, or something was started with, this temporary directory.
  bool Uses(const std::string& temporary_directory) const;
  std::size_t flights() const { return flights_.size(); }

 private:
  struct Waiting {
    Caller caller;
    absl::Duration began;
    runtime::Timer timer;
  };
  // One start under way.
  struct Flight {
    std::string key;                  // Cache key.
    std::string temporary_directory;  // Holds the info directory.
    msg::StartOrReuseRequestT request;
    std::string explicit_binary;
    std::uint64_t number = 0;  // Number of this try: callbacks of an earlier one are too late.
    int copy = 1;              // Its job: the first of this key, or one beside it.
    bool adopted = false;      // The job is one that is there already.
    absl::Duration adopted_at;
    bool port_is_taken = false;
    std::string job;  // Id, once launched.
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
  // The reply that ends the call at once, if the tool cannot even be tried.
  std::optional<absl::StatusOr<msg::StartOrReuseReplyT>> CannotLaunch(Flight* flight) const;
  // The flight, if it is still at this try.
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
  std::map<pid_t, std::string> jobs_;  // Jobs of live processes; empty while the launcher is asked,
                                       // or if it knows no job.
};

}  // namespace registry

#endif  // REGISTRY_TOOL_START_OR_REUSE_H_

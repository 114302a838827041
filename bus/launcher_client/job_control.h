#ifndef BUS_LAUNCHER_CLIENT_JOB_CONTROL_H_
#define BUS_LAUNCHER_CLIENT_JOB_CONTROL_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/schema/launcher_generated.h"

namespace bus {

// Requests of another service to the launcher. Call all methods on the loop's thread. They never
// block, and retry across restarts of the launcher until it answers; callbacks run later on the
// loop's thread. `trace`: the command's trace id, empty if there is no command.
class JobControl {
 public:
  virtual ~JobControl() = default;

  // Starts a job; the same request id always means the same job. `done` receives the job's id, or
  // the error of a launcher that will not start it. Two errors mean that the launcher is full at
  // the moment: retry later with the same request id. ResourceExhausted: this call has started
  // nothing; Unavailable: an earlier attempt of it may have started the job.
  virtual void Launch(const std::string& request_id, const std::string& trace,
                      const msg::JobSpecT& spec,
                      std::function<void(absl::StatusOr<std::string>)> done) = 0;
  // Follows a job. `changed`, unless null, receives the job now and whenever its state changes;
  // `ended` receives the ended job, or NotFound if the launcher does not (or no longer) know it.
  virtual void Follow(const std::string& job, std::function<void(const msg::JobT&)> changed,
                      std::function<void(absl::StatusOr<msg::JobT>)> ended) = 0;
  // Asks a job to stop, and kills it after `grace`. Does nothing for an ended or unknown job.
  virtual void Stop(const std::string& job, absl::Duration grace, const std::string& reason,
                    const std::string& trace) = 0;
};

}  // namespace bus

#endif  // BUS_LAUNCHER_CLIENT_JOB_CONTROL_H_

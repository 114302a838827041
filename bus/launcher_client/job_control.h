#ifndef BUS_LAUNCHER_CLIENT_JOB_CONTROL_H_
#define BUS_LAUNCHER_CLIENT_JOB_CONTROL_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/schema/launcher_generated.h"

namespace bus {

// Requests of another service to the launcher. Methods are called on the loop's thread, never
// block, and go on over restarts of the launcher until they have an answer; callbacks run later on
// the loop's thread. A trace follows one command through every hop; empty: none.
class JobControl {
 public:
  virtual ~JobControl() = default;

  // Starts a job; the same request id always means the same job. `done` gets its id, or the error
  // of a launcher that will not start it. Two errors mean that it has no room for the moment, to be
  // asked again under the same request id: ResourceExhausted if this call has started nothing,
  // Unavailable if an earlier try of it may have started the job.
  virtual void Launch(const std::string& request_id, const std::string& trace,
                      const msg::JobSpecT& spec,
                      std::function<void(absl::StatusOr<std::string>)> done) = 0;
  // `changed`, unless null, gets the job now and whenever its state changes; `ended` gets the ended
  // job; NotFound if the launcher does not know it (any more).
  virtual void Follow(const std::string& job, std::function<void(const msg::JobT&)> changed,
                      std::function<void(absl::StatusOr<msg::JobT>)> ended) = 0;
  // Asks a job to stop, and kills it after `grace`. An ended or unknown job is left alone.
  virtual void Stop(const std::string& job, absl::Duration grace, const std::string& reason,
                    const std::string& trace) = 0;
};

}  // namespace bus

#endif  // BUS_LAUNCHER_CLIENT_JOB_CONTROL_H_

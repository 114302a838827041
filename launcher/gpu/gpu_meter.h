#ifndef LAUNCHER_GPU_GPU_METER_H_
#define LAUNCHER_GPU_GPU_METER_H_

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "launcher/gpu/nvml.h"
#include "runtime/clock.h"

namespace launcher {

// Measures GPUs by way of a driver that may be missing, fail, or never answer; the caller then
// merely gets no figures. The driver is called on a separate thread of the meter, which starts with
// the first Measure(). Thread-safe; a call waits for at most `patience`, and not at all while an
// earlier call has no answer yet.
//
// The beginning and the end of a fault are logged once each. After a failure the library is loaded
// again, at the earliest after `again`.
class GpuMeter {
 public:
  struct Options {
    std::string library = "libnvidia-ml.so.1";
    // Must live until the process ends, in case a driver hangs.
    runtime::Clock* clock = runtime::Clock::Real();
    absl::Duration patience = absl::Milliseconds(200);
    absl::Duration again = absl::Seconds(60);
    // Older figures are not returned.
    absl::Duration oldest = absl::Seconds(10);
  };
  explicit GpuMeter(Options options);
  GpuMeter() : GpuMeter(Options()) {}
  // Waits up to a second for a driver call in progress; after that its thread is abandoned.
  ~GpuMeter();
  GpuMeter(const GpuMeter&) = delete;
  GpuMeter& operator=(const GpuMeter&) = delete;

  // The result of a measurement.
  struct Reply {
    GpuFigures figures;    // The newest figures.
    std::string why_none;  // A message if there are no figures; else empty.
    // False if the driver has not answered (recently), so that nothing is known.
    bool is_known = true;
  };
  // Returns the figures of all GPUs and, `with_processes`, the processes that compute on them.
  Reply Measure(bool with_processes);

 private:
  struct Shared;
  const std::shared_ptr<Shared> shared_;
};

}  // namespace launcher

#endif  // LAUNCHER_GPU_GPU_METER_H_

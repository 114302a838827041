#ifndef LAUNCHER_GPU_GPU_METER_H_
#define LAUNCHER_GPU_GPU_METER_H_

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "launcher/gpu/nvml.h"
#include "runtime/clock.h"

namespace launcher {

// Measures GPUs by a driver that may be missing, fail, or never answer: none of that costs more
// than the figures. The driver is asked on a thread of the meter's own, which begins with the first
// question. Any thread; a question waits for `patience` at most, and not at all while an earlier
// one has no answer yet.
//
// A fault is logged when it begins, once, and so is its end. After a failure the library is
// loaded again, at the earliest after `again`.
class GpuMeter {
 public:
  struct Options {
    std::string library = "libnvidia-ml.so.1";
    runtime::Clock* clock = runtime::Clock::Real();  // Outlives the process, if a driver hangs.
    absl::Duration patience = absl::Milliseconds(200);
    absl::Duration again = absl::Seconds(60);
    // Older figures are none.
    absl::Duration oldest = absl::Seconds(10);
  };
  explicit GpuMeter(Options options);
  GpuMeter() : GpuMeter(Options()) {}
  // Waits a second for a driver that is being asked; then its thread is left to itself.
  ~GpuMeter();
  GpuMeter(const GpuMeter&) = delete;
  GpuMeter& operator=(const GpuMeter&) = delete;

  struct Reply {
    GpuFigures figures;    // The newest.
    std::string why_none;  // Words, if there are no figures; else empty.
    bool is_known = true;  // False: the driver has not answered (for a while), so nothing is known.
  };
  Reply Measure(bool with_processes);

 private:
  struct Shared;
  const std::shared_ptr<Shared> shared_;
};

}  // namespace launcher

#endif  // LAUNCHER_GPU_GPU_METER_H_

#ifndef LAUNCHER_GPU_NVML_H_
#define LAUNCHER_GPU_NVML_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bus/schema/launcher_generated.h"

namespace launcher {

// A process that computes on a GPU, with its pid in the driver's pid namespace.
struct GpuProcess {
  pid_t pid = 0;
  std::uint32_t gpu = 0;
};

// All GPUs of the machine, as the driver reports them.
struct GpuFigures {
  // In the driver's order (that of the bus). A figure that the driver does not report is NaN, or 0
  // for both memory figures; a GPU that does not answer has only its index.
  std::vector<msg::GpuUsageT> gpus;
  std::vector<GpuProcess> processes;
  std::vector<std::string> problems;  // "GPU 1: GPU is lost", for each GPU that does not answer.
};

// NVIDIA's management library. It is loaded at run time, since few machines have it; nvml.cc
// declares the functions that are used. Every method may block for as long as the driver does. Not
// thread-safe.
class Nvml {
 public:
  // Loads and initialises the library; `library` is a name for dlopen(). NotFound if it cannot be
  // loaded or is a different library. Unavailable if the driver refuses to initialise. The library
  // is never unloaded.
  static absl::StatusOr<std::unique_ptr<Nvml>> Load(const std::string& library);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // Reads the figures of all GPUs and, `with_processes`, the processes that compute on them.
  // Unavailable if the driver has failed as a whole; load it anew then.
  absl::StatusOr<GpuFigures> Read(bool with_processes);

 private:
  class Impl;
  explicit Nvml(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace launcher

#endif  // LAUNCHER_GPU_NVML_H_

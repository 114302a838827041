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

// A process that computes on a GPU, by its number in the driver's pid namespace.
struct GpuProcess {
  pid_t pid = 0;
  std::uint32_t gpu = 0;
};

// All GPUs of the machine, as the driver has them.
struct GpuFigures {
  // In the driver's order (of the bus). A figure that the driver does not say is NaN, or 0 of both
  // memories; a GPU that does not answer has its index alone.
  std::vector<msg::GpuUsageT> gpus;
  std::vector<GpuProcess> processes;
  std::vector<std::string> problems;  // "GPU 1: GPU is lost", of each that does not answer.
};

// NVIDIA's management library. It is loaded at run time, as few machines have it; what is used of
// it is declared in nvml.cc. Every method may block for as long as the driver likes. One thread.
class Nvml {
 public:
  // Loads and begins it: `library` is a name for dlopen(). NotFound: it cannot be loaded, or is not
  // what it is called. Unavailable: the driver does not let it begin. It is never unloaded.
  static absl::StatusOr<std::unique_ptr<Nvml>> Load(const std::string& library);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // Unavailable: the driver has failed as a whole; load it anew. `with_processes`: who computes.
  absl::StatusOr<GpuFigures> Read(bool with_processes);

 private:
  class Impl;
  explicit Nvml(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace launcher

#endif  // LAUNCHER_GPU_NVML_H_

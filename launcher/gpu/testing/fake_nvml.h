#ifndef LAUNCHER_GPU_TESTING_FAKE_NVML_H_
#define LAUNCHER_GPU_TESTING_FAKE_NVML_H_

#include <atomic>

namespace launcher {

// How the fake library behaves; its function FakeNvml() returns the one that there is in a process.
struct FakeNvmlState {
  // Results of calls: 0, or an error of NVML.
  std::atomic<int> init_result{0}, count_result{0};
  std::atomic<int> lost{-1};         // The GPU that has fallen off the bus.
  std::atomic<int> says_little{-1};  // The GPU that supports no figure but its memory.
  std::atomic<unsigned> gpus{2};
  std::atomic<unsigned> busy_pid{0};   // A process that computes on the last GPU; 0: none does.
  std::atomic<unsigned> more_pids{0};  // So many others that do.
  std::atomic<bool> hangs{false};      // Calls do not return for as long as it is set.
  std::atomic<int> inits{0}, shutdowns{0}, hanging{0};
};

}  // namespace launcher

#endif  // LAUNCHER_GPU_TESTING_FAKE_NVML_H_

#ifndef LAUNCHER_GPU_TESTING_FAKE_NVML_H_
#define LAUNCHER_GPU_TESTING_FAKE_NVML_H_

#include <atomic>

namespace launcher {

// The behaviour of the fake library; its function FakeNvml() returns the only instance in a
// process.
struct FakeNvmlState {
  // Results of calls: 0, or an NVML error.
  std::atomic<int> init_result{0}, count_result{0};
  std::atomic<int> lost{-1};         // Index of a GPU that has fallen off the bus; -1 for none.
  std::atomic<int> says_little{-1};  // Index of a GPU that reports only its memory; -1 for none.
  std::atomic<unsigned> gpus{2};
  std::atomic<unsigned> busy_pid{0};   // A process that computes on the last GPU; 0 if none does.
  std::atomic<unsigned> more_pids{0};  // Number of further processes that do.
  std::atomic<bool> hangs{false};      // Calls block as long as this is set.
  std::atomic<int> inits{0}, shutdowns{0}, hanging{0};
};

}  // namespace launcher

#endif  // LAUNCHER_GPU_TESTING_FAKE_NVML_H_

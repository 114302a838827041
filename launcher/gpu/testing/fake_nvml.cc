// A fake of NVIDIA's library with the same functions. GPU i has a utilisation of 10 * (i + 1) per
// cent, uses i + 1 of 16 GB, has a temperature of 50 + i degrees, and takes 100.5 + i watts.

#include "launcher/gpu/testing/fake_nvml.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

namespace {

launcher::FakeNvmlState state;

constexpr int kNotSupported = 3, kInsufficientSize = 7, kGpuIsLost = 15;

unsigned IndexOf(void* device) {
  return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(device)) - 1;
}

int Check(void* device) {
  const int index = static_cast<int>(IndexOf(device));
  if (index == state.lost) return kGpuIsLost;
  return index == state.says_little ? kNotSupported : 0;
}

struct Utilization {
  unsigned gpu, memory;
};
struct Memory {
  unsigned long long total, free, used;
};
struct ProcessInfo {
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance, compute_instance;
};

}  // namespace

extern "C" {

launcher::FakeNvmlState* FakeNvml() { return &state; }

int nvmlInit_v2() {
  ++state.inits;
  return state.init_result;
}
int nvmlShutdown() {
  ++state.shutdowns;
  return 0;
}
const char* nvmlErrorString(int result) {
  if (result == 9) return "Driver Not Loaded";
  return result == kGpuIsLost ? "GPU is lost" : "Unknown Error";
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  if (state.hangs) ++state.hanging;
  while (state.hangs) state.hangs.wait(true);
  *count = state.gpus;
  return state.count_result;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = reinterpret_cast<void*>(std::uintptr_t{index} + 1);
  return static_cast<int>(index) == state.lost ? kGpuIsLost : 0;
}
int nvmlDeviceGetUUID(void* device, char* text, unsigned size) {
  std::snprintf(text, size, "GPU-%u0000000-0000", IndexOf(device));
  return 0;
}
int nvmlDeviceGetName(void*, char* text, unsigned size) {
  std::snprintf(text, size, "Fake GPU");
  return 0;
}
int nvmlDeviceGetUtilizationRates(void* device, Utilization* rates) {
  rates->gpu = 10 * (IndexOf(device) + 1);
  rates->memory = 5;
  return Check(device);
}
int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
  memory->total = 16'000'000'000;
  memory->used = 1'000'000'000ull * (IndexOf(device) + 1);
  memory->free = memory->total - memory->used;
  return 0;
}
int nvmlDeviceGetTemperature(void* device, int, unsigned* degrees) {
  *degrees = 50 + IndexOf(device);
  return Check(device);
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  *milliwatts = 100'500 + 1000 * IndexOf(device);
  return Check(device);
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, ProcessInfo* infos) {
  const unsigned room = *count;
  *count = 0;
  if (state.busy_pid == 0 || IndexOf(device) + 1 != state.gpus) return 0;
  *count = state.more_pids + 1;
  if (*count > room) return kInsufficientSize;
  for (unsigned i = 0; i < *count; ++i) infos[i] = {1'000'000 + i, 1, 0, 0};
  infos[*count - 1].pid = state.busy_pid;
  return 0;
}

}  // extern "C"

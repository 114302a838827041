#include "launcher/gpu/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace launcher {
namespace {

// The declarations of nvml.h that are used here, as they have been in its versions since 2016.
using Return = int;
constexpr Return kSuccess = 0, kInsufficientSize = 7, kGpuIsLost = 15;
using Device = struct DeviceState*;
struct Utilization {
  unsigned gpu = 0, memory = 0;
};
struct Memory {
  unsigned long long total = 0, free = 0, used = 0;
};
// (nvmlDeviceGetComputeRunningProcesses_v2 and _v3 use the same structure.)
struct ProcessInfo {
  unsigned pid = 0;
  unsigned long long used_memory = 0;
  unsigned gpu_instance = 0, compute_instance = 0;
};
constexpr int kTemperatureOfTheGpu = 0;

constexpr unsigned kMaxGpus = 256;
constexpr std::size_t kMaxText = 96;
constexpr unsigned kMaxProcesses = 4096;
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

struct Functions {
  Return (*init)() = nullptr;
  Return (*shutdown)() = nullptr;
  const char* (*error_string)(Return) = nullptr;
  Return (*count)(unsigned*) = nullptr;
  Return (*handle)(unsigned, Device*) = nullptr;
  Return (*uuid)(Device, char*, unsigned) = nullptr;
  Return (*name)(Device, char*, unsigned) = nullptr;
  Return (*utilization)(Device, Utilization*) = nullptr;
  Return (*memory)(Device, Memory*) = nullptr;
  Return (*temperature)(Device, int, unsigned*) = nullptr;
  Return (*power)(Device, unsigned*) = nullptr;
  Return (*processes)(Device, unsigned*, ProcessInfo*) = nullptr;
};

template <typename Function>
bool Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

// Looks up the functions of a library. An optional function that this version lacks is null.
absl::StatusOr<Functions> FunctionsOf(void* library, const std::string& name) {
  Functions f;
  const bool is_it = Find(library, "nvmlInit_v2", &f.init) &&
                     Find(library, "nvmlDeviceGetCount_v2", &f.count) &&
                     Find(library, "nvmlDeviceGetHandleByIndex_v2", &f.handle);
  if (!is_it) {
    return absl::NotFoundError(
        absl::StrCat(name, " has no nvmlInit_v2, or lacks what goes with it"));
  }
  Find(library, "nvmlShutdown", &f.shutdown);
  Find(library, "nvmlErrorString", &f.error_string);
  Find(library, "nvmlDeviceGetUUID", &f.uuid);
  Find(library, "nvmlDeviceGetName", &f.name);
  Find(library, "nvmlDeviceGetUtilizationRates", &f.utilization);
  Find(library, "nvmlDeviceGetMemoryInfo", &f.memory);
  Find(library, "nvmlDeviceGetTemperature", &f.temperature);
  Find(library, "nvmlDeviceGetPowerUsage", &f.power);
  if (!Find(library, "nvmlDeviceGetComputeRunningProcesses_v3", &f.processes)) {
    Find(library, "nvmlDeviceGetComputeRunningProcesses_v2", &f.processes);
  }
  return f;
}

}  // namespace

class Nvml::Impl {
 public:
  explicit Impl(const Functions& functions) : nvml_(functions) {}
  ~Impl() {
    if (begun_ && nvml_.shutdown != nullptr) nvml_.shutdown();
  }

  absl::Status Begin() {
    const Return result = nvml_.init();
    if (result != kSuccess) return absl::UnavailableError(Words(result));
    begun_ = true;
    return absl::OkStatus();
  }

  absl::StatusOr<GpuFigures> Read(bool with_processes) {
    unsigned count = 0;
    if (const Return result = nvml_.count(&count); result != kSuccess) {
      return absl::UnavailableError(Words(result));
    }
    GpuFigures figures;
    for (unsigned i = 0; i < std::min(count, kMaxGpus); ++i) {
      msg::GpuUsageT gpu;
      gpu.index = i;
      gpu.utilisation = gpu.temperature = gpu.power = kUnknown;
      Device device = nullptr;
      Return result = nvml_.handle(i, &device);
      if (result == kSuccess) result = ReadOne(device, &gpu);
      if (result != kSuccess) {
        figures.problems.push_back(absl::StrCat("GPU ", i, ": ", Words(result)));
      } else if (with_processes) {
        AddProcesses(device, i, &figures.processes);
      }
      figures.gpus.push_back(std::move(gpu));
    }
    return figures;
  }

 private:
  // Reads the figures of one GPU. An error other than kGpuIsLost means that the GPU lacks this
  // figure.
  Return ReadOne(Device device, msg::GpuUsageT* gpu) const {
    Return result = kSuccess;
    const auto ask = [&](auto function, auto... arguments) {
      if (function == nullptr || result == kGpuIsLost) return false;
      const Return answer = function(device, arguments...);
      if (answer == kGpuIsLost) result = answer;
      return answer == kSuccess;
    };
    std::array<char, kMaxText> text{};
    if (ask(nvml_.uuid, text.data(), unsigned{kMaxText})) gpu->uuid = TextOf(text);
    if (ask(nvml_.name, text.data(), unsigned{kMaxText})) gpu->name = TextOf(text);
    Utilization utilization;
    if (ask(nvml_.utilization, &utilization)) gpu->utilisation = utilization.gpu;
    Memory memory;
    if (ask(nvml_.memory, &memory)) {
      gpu->memory_bytes = memory.used;
      gpu->memory_total_bytes = memory.total;
    }
    unsigned number = 0;
    if (ask(nvml_.temperature, kTemperatureOfTheGpu, &number)) gpu->temperature = number;
    if (ask(nvml_.power, &number)) gpu->power = number / 1000.0;  // The driver reports milliwatts.
    return result;
  }

  static std::string TextOf(const std::array<char, kMaxText>& text) {
    return {text.begin(), std::find(text.begin(), text.end(), '\0')};
  }

  void AddProcesses(Device device, unsigned gpu, std::vector<GpuProcess>* all) const {
    if (nvml_.processes == nullptr) return;
    std::vector<ProcessInfo> found(64);
    auto count = static_cast<unsigned>(found.size());
    Return result = nvml_.processes(device, &count, found.data());
    if (result == kInsufficientSize) {
      found.resize(std::min(count + 16, kMaxProcesses));
      count = static_cast<unsigned>(found.size());
      result = nvml_.processes(device, &count, found.data());
    }
    if (result != kSuccess) return;
    found.resize(std::min<std::size_t>(count, found.size()));
    for (const ProcessInfo& one : found) all->push_back({static_cast<pid_t>(one.pid), gpu});
  }

  std::string Words(Return result) const {
    const char* const words = nvml_.error_string == nullptr ? nullptr : nvml_.error_string(result);
    return words == nullptr ? absl::StrCat("error ", result, " of NVML") : std::string(words);
  }

  const Functions nvml_;
  bool begun_ = false;
};

absl::StatusOr<std::unique_ptr<Nvml>> Nvml::Load(const std::string& library) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const why = dlerror();
    return absl::NotFoundError(why == nullptr ? library : why);
  }
  const auto functions = FunctionsOf(handle, library);
  if (!functions.ok()) return functions.status();
  auto impl = std::make_unique<Impl>(*functions);
  if (auto begun = impl->Begin(); !begun.ok()) return begun;
  return std::unique_ptr<Nvml>(new Nvml(std::move(impl)));
}

Nvml::Nvml(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Nvml::~Nvml() = default;

absl::StatusOr<GpuFigures> Nvml::Read(bool with_processes) { return impl_->Read(with_processes); }

}  // namespace launcher

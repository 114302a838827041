#ifndef LAUNCHER_GPU_VISIBLE_GPUS_H_
#define LAUNCHER_GPU_VISIBLE_GPUS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "bus/schema/launcher_generated.h"

namespace launcher {

// Returns the indices of those of `gpus` that `visible`, a value of $CUDA_VISIBLE_DEVICES, names:
// "0,2" by index, "GPU-4f2a" by the beginning of a uuid; in that order, each once. As in CUDA, the
// first entry that names no GPU ends the list. (A part of a GPU, "MIG-...", does not count as a
// GPU, since it cannot be measured separately.) Indices are in the order of the bus, as with
// CUDA_DEVICE_ORDER=PCI_BUS_ID; without that variable the order is the same if all GPUs are alike.
std::vector<std::uint32_t> VisibleGpus(std::string_view visible,
                                       const std::vector<msg::GpuUsageT>& gpus);

}  // namespace launcher

#endif  // LAUNCHER_GPU_VISIBLE_GPUS_H_

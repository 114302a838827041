#ifndef LAUNCHER_GPU_VISIBLE_GPUS_H_
#define LAUNCHER_GPU_VISIBLE_GPUS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "bus/schema/launcher_generated.h"

namespace launcher {

// Indices of those of `gpus` that `visible`, a $CUDA_VISIBLE_DEVICES, names: "0,2" by their places,
// "GPU-4f2a" by the beginning of a uuid, in its order, each once. As CUDA reads it, what stands
// behind a name of no GPU counts for nothing. (A part of a GPU, "MIG-...", is none: nobody measures
// it alone.) Places are those of the bus, as with CUDA_DEVICE_ORDER=PCI_BUS_ID, and the same
// without it where all GPUs are alike.
std::vector<std::uint32_t> VisibleGpus(std::string_view visible,
                                       const std::vector<msg::GpuUsageT>& gpus);

}  // namespace launcher

#endif  // LAUNCHER_GPU_VISIBLE_GPUS_H_

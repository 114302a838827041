#include "launcher/gpu/visible_gpus.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace launcher {
namespace {

const msg::GpuUsageT* Named(absl::string_view name, const std::vector<msg::GpuUsageT>& gpus) {
  std::uint32_t place = 0;
  const bool is_place = absl::SimpleAtoi(name, &place);
  const bool is_uuid = absl::StartsWith(name, "GPU-");
  const auto found = std::find_if(gpus.begin(), gpus.end(), [&](const msg::GpuUsageT& gpu) {
    return is_place ? gpu.index == place : is_uuid && absl::StartsWith(gpu.uuid, name);
  });
  return found == gpus.end() ? nullptr : &*found;
}

}  // namespace

std::vector<std::uint32_t> VisibleGpus(std::string_view visible,
                                       const std::vector<msg::GpuUsageT>& gpus) {
  std::vector<std::uint32_t> indices;
  for (absl::string_view name :
       absl::StrSplit(absl::string_view(visible.data(), visible.size()), ',')) {
    const msg::GpuUsageT* const gpu = Named(absl::StripAsciiWhitespace(name), gpus);
    if (gpu == nullptr) break;
    if (std::count(indices.begin(), indices.end(), gpu->index) == 0) indices.push_back(gpu->index);
  }
  return indices;
}

}  // namespace launcher

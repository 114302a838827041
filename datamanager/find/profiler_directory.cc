#include "datamanager/find/profiler_directory.h"

#include <algorithm>

namespace datamanager {
namespace {

struct Kind {
  std::string_view name;  // Precedes "_DEVICE.suffix".
  ProfilerType type;
};

constexpr Kind kKinds[] = {
    {"ascend_timeline_display", ProfilerType::kAscend},
    {"timeline_display", ProfilerType::kAscend},  // Older releases.
    {"output_op_compute_time", ProfilerType::kAscend},
    {"gpu_op_detail_info", ProfilerType::kGpu},
    {"gpu_activity_data", ProfilerType::kGpu},
    {"gpu_op_type_info", ProfilerType::kGpu},
    {"cpu_op_detail_info", ProfilerType::kCpu},
    {"cpu_op_type_info", ProfilerType::kCpu},
};

std::optional<ProfilerType> TypeOf(std::string_view file) {
  const std::size_t end = file.rfind('_');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view rest = file.substr(end + 1);
  const std::string_view device = rest.substr(0, rest.find('.'));
  const bool is_number = !device.empty() && std::all_of(device.begin(), device.end(), [](char c) {
    return c >= '0' && c <= '9';
  });
  if (!is_number) return std::nullopt;
  for (const Kind& kind : kKinds) {
    if (file.substr(0, end) == kind.name) return kind.type;
  }
  return std::nullopt;
}

}  // namespace

bool MayBeProfilerDirectory(std::string_view name) {
  constexpr std::string_view kBegin = "profiler";
  return name.substr(0, kBegin.size()) == kBegin;
}

std::optional<ProfilerType> FindProfiler(std::span<const std::string> files) {
  std::optional<ProfilerType> found;
  for (const std::string& file : files) {
    const auto type = TypeOf(file);
    if (type.has_value() && (!found.has_value() || *type < *found)) found = type;
  }
  return found;
}

bool IsProfilerSession(std::string_view path) {
  constexpr std::string_view kPlace = "plugins/profile";
  const std::size_t name = path.rfind('/');
  if (name == std::string_view::npos || name < kPlace.size()) return false;
  const std::size_t place = name - kPlace.size();
  return path.substr(place, kPlace.size()) == kPlace && (place == 0 || path[place - 1] == '/');
}

std::string_view ProfilerTypeName(ProfilerType type) {
  switch (type) {
    case ProfilerType::kAscend:
      return "ascend";
    case ProfilerType::kGpu:
      return "gpu";
    case ProfilerType::kCpu:
      return "cpu";
    case ProfilerType::kTensorBoard:
      return "tensorboard";
  }
  return "";
}

}  // namespace datamanager

#include "bus/json/usage_json.h"

#include <cmath>
#include <utility>

namespace bus {
namespace {

using nlohmann::json;

json Figure(double value) { return std::isnan(value) ? json() : json(value); }

template <typename Value>
json Known(bool is_known, const Value& value) {
  return is_known ? json(value) : json();
}

}  // namespace

json ToJson(const msg::TaskUsageT& task) {
  return {{"task", task.task},
          {"attempt", task.attempt},
          {"cpu_s", static_cast<double>(task.cpu_us) / 1e6},
          {"rss_bytes", task.rss_bytes},
          {"processes", task.processes},
          {"source", task.source},
          {"read_bytes", Known(task.io_known, task.read_bytes)},
          {"written_bytes", Known(task.io_known, task.written_bytes)},
          {"gpus", task.gpus}};
}

json ToJson(const msg::GpuUsageT& gpu) {
  const bool has_memory = gpu.memory_total_bytes > 0;
  return {{"gpu", gpu.index},
          {"uuid", gpu.uuid},
          {"model", gpu.name},
          {"utilization_percent", Figure(gpu.utilisation)},
          {"memory_bytes", Known(has_memory, gpu.memory_bytes)},
          {"memory_total_bytes", Known(has_memory, gpu.memory_total_bytes)},
          {"temperature_celsius", Figure(gpu.temperature)},
          {"power_watts", Figure(gpu.power)}};
}

json ToJson(const msg::UsageReplyT& usage) {
  json tasks = json::array(), gpus = json::array();
  for (const auto& task : usage.tasks) tasks.push_back(ToJson(*task));
  for (const auto& gpu : usage.gpus) gpus.push_back(ToJson(*gpu));
  return {{"cores", usage.cores},
          {"memory_bytes", usage.memory_bytes},
          {"tasks", std::move(tasks)},
          {"gpus", std::move(gpus)},
          {"why_no_gpus", Known(!usage.why_no_gpus.empty(), usage.why_no_gpus)}};
}

}  // namespace bus

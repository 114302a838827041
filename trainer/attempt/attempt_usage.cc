#include "trainer/attempt/attempt_usage.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace trainer {
namespace {

// Returns the increase of a counter. Counters never decrease; a smaller value means that its source
// is gone.
double Growth(std::uint64_t before, std::uint64_t now) {
  return static_cast<double>(now - std::min(before, now));
}

void Add(std::optional<double>* sum, double value) { *sum = sum->value_or(0) + value; }

void AddGpus(const msg::UsageReplyT& usage, const std::vector<const msg::TaskUsageT*>& tasks,
             std::vector<SystemValue>* values) {
  std::vector<std::uint32_t> indices;
  for (const msg::TaskUsageT* task : tasks) {
    for (const std::uint32_t index : task->gpus) {
      if (std::count(indices.begin(), indices.end(), index) == 0) indices.push_back(index);
    }
  }
  for (std::size_t place = 0; place < indices.size(); ++place) {
    const auto found = std::find_if(usage.gpus.begin(), usage.gpus.end(),
                                    [&](const auto& gpu) { return gpu->index == indices[place]; });
    if (found == usage.gpus.end()) continue;
    const msg::GpuUsageT& gpu = **found;
    const auto add = [&](std::string_view what, double value) {
      if (std::isnan(value)) return;
      values->push_back({absl::StrCat("sys/gpu", place, "/", std::string(what)), value});
    };
    add("utilization_percent", gpu.utilisation);
    if (gpu.memory_total_bytes > 0) add("memory_bytes", static_cast<double>(gpu.memory_bytes));
    add("temperature_celsius", gpu.temperature);
    add("power_watts", gpu.power);
  }
}

}  // namespace

std::vector<SystemValue> AttemptUsage::Take(const msg::UsageReplyT& usage,
                                            const std::vector<const msg::TaskUsageT*>& tasks) {
  // (The wall clock may have been set back.)
  const double passed_s = static_cast<double>(usage.measured_us - measured_us_) / 1e6;
  std::map<std::string, Before> now;
  std::optional<double> cpu_s, read, written;
  double memory = 0;
  for (const msg::TaskUsageT* task : tasks) {
    now[task->task] = {task->attempt, task->cpu_us, task->read_bytes, task->written_bytes,
                       task->io_known};
    memory += static_cast<double>(task->rss_bytes);
    const auto before = before_.find(task->task);
    const bool is_same = before != before_.end() && before->second.attempt == task->attempt;
    if (!is_same || passed_s <= 0) continue;
    Add(&cpu_s, Growth(before->second.cpu_us, task->cpu_us) / 1e6);
    if (!task->io_known || !before->second.io_known) continue;
    Add(&read, Growth(before->second.read_bytes, task->read_bytes));
    Add(&written, Growth(before->second.written_bytes, task->written_bytes));
  }
  before_ = std::move(now);
  measured_us_ = usage.measured_us;
  std::vector<SystemValue> values;
  if (cpu_s.has_value()) values.push_back({"sys/cpu_percent", *cpu_s / passed_s * 100});
  if (!tasks.empty()) values.push_back({"sys/memory_bytes", memory});
  if (read.has_value()) values.push_back({"sys/disk_read_bytes_per_s", *read / passed_s});
  if (written.has_value()) values.push_back({"sys/disk_written_bytes_per_s", *written / passed_s});
  AddGpus(usage, tasks, &values);
  return values;
}

}  // namespace trainer

#include "tools/yard/top/cpu_rates.h"

#include <algorithm>
#include <utility>

namespace yard::top {

const std::map<std::string, double>& CpuRates::Take(const msg::UsageReplyT& usage) {
  if (usage.measured_us == measured_us_) return cores_;
  const double passed = static_cast<double>(usage.measured_us - measured_us_);
  std::map<std::string, Time> now;
  cores_.clear();
  for (const auto& task : usage.tasks) {
    now[task->task] = {task->attempt, task->cpu_us};
    const auto before = before_.find(task->task);
    // (The wall clock may be set back.)
    if (before == before_.end() || before->second.attempt != task->attempt || passed <= 0) continue;
    // What ended unseen is not counted any more.
    const std::uint64_t used = task->cpu_us - std::min(before->second.cpu_us, task->cpu_us);
    cores_[task->task] = static_cast<double>(used) / passed;
  }
  before_ = std::move(now);
  measured_us_ = usage.measured_us;
  return cores_;
}

}  // namespace yard::top

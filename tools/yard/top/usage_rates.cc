#include "tools/yard/top/usage_rates.h"

#include <algorithm>
#include <utility>

namespace yard::top {
namespace {

// Counters may decrease, because a process that ended unobserved is no longer counted.
double Growth(std::uint64_t before, std::uint64_t now) {
  return static_cast<double>(now - std::min(before, now));
}

}  // namespace

const Rates& UsageRates::Take(const msg::UsageReplyT& usage) {
  if (usage.measured_us == measured_us_) return rates_;
  const double passed = static_cast<double>(usage.measured_us - measured_us_);
  std::map<std::string, Counters> now;
  rates_ = {};
  for (const auto& task : usage.tasks) {
    const Counters& counters = now[task->task] = {task->attempt, task->cpu_us, task->read_bytes,
                                                  task->written_bytes, task->io_known};
    const auto found = before_.find(task->task);
    // The wall clock may have been set back.
    if (found == before_.end() || found->second.attempt != task->attempt || passed <= 0) continue;
    const Counters& before = found->second;
    rates_.cores[task->task] = Growth(before.cpu_us, counters.cpu_us) / passed;
    if (!before.io_known || !counters.io_known) continue;
    rates_.disks[task->task] = {
        Growth(before.read_bytes, counters.read_bytes) / passed * 1e6,
        Growth(before.written_bytes, counters.written_bytes) / passed * 1e6};
  }
  before_ = std::move(now);
  measured_us_ = usage.measured_us;
  return rates_;
}

}  // namespace yard::top

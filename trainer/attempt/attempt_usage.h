#ifndef TRAINER_ATTEMPT_ATTEMPT_USAGE_H_
#define TRAINER_ATTEMPT_ATTEMPT_USAGE_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bus/schema/launcher_generated.h"

namespace trainer {

// Prefix of the names of system metrics in a run's charts, event file and queries.
inline constexpr std::string_view kSystemPrefix = "sys/";

struct SystemValue {
  std::string name;
  double value = 0;
};

// Turns two consecutive measurements of a trial's tasks into system metrics:
//
//   sys/cpu_percent                100 for each core; mean since the previous measurement
//   sys/memory_bytes               resident
//   sys/disk_read_bytes_per_s      mean since the previous measurement, if the launcher
//   sys/disk_written_bytes_per_s   measures it
//   sys/gpu0/utilization_percent   for each GPU of the trial, numbered from 0 in the order of its
//   sys/gpu0/memory_bytes          tasks (what a program calls cuda:0 is gpu0, so curves of trials
//   sys/gpu0/temperature_celsius   on different GPUs have the same name)
//   sys/gpu0/power_watts
//
// (W&B names the first one proc.cpu; MLflow measures the whole machine.)
class AttemptUsage {
 public:
  // `tasks` are the trial's own tasks in `usage`, by rank. Omits each figure that is unknown, or
  // that needs a value that the previous measurement lacks.
  std::vector<SystemValue> Take(const msg::UsageReplyT& usage,
                                const std::vector<const msg::TaskUsageT*>& tasks);

 private:
  struct Before {
    std::uint32_t attempt = 0;
    std::uint64_t cpu_us = 0, read_bytes = 0, written_bytes = 0;
    bool io_known = false;
  };
  std::map<std::string, Before> before_;  // By task.
  std::int64_t measured_us_ = 0;
};

}  // namespace trainer

#endif  // TRAINER_ATTEMPT_ATTEMPT_USAGE_H_

#ifndef TRAINER_ATTEMPT_ATTEMPT_USAGE_H_
#define TRAINER_ATTEMPT_ATTEMPT_USAGE_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bus/schema/launcher_generated.h"

namespace trainer {

// System metrics: the names under which a run's charts, its event file and queries have them.
inline constexpr std::string_view kSystemPrefix = "sys/";

struct SystemValue {
  std::string name;
  double value = 0;
};

// Turns two measurements of a trial's tasks into system metrics:
//
//   sys/cpu_percent                100 for each core, the mean since the measurement before
//   sys/memory_bytes               resident
//   sys/disk_read_bytes_per_s      the mean since the measurement before; where the launcher knows
//   sys/disk_written_bytes_per_s   it
//   sys/gpu0/utilization_percent   of each GPU of the trial, counted from 0 in the order in which
//   sys/gpu0/memory_bytes          its tasks have them (what a program calls cuda:0 is gpu0, so
//   sys/gpu0/temperature_celsius   curves of trials on different GPUs have one name)
//   sys/gpu0/power_watts
//
// (W&B has the first as proc.cpu, MLflow has them for the whole machine.)
class AttemptUsage {
 public:
  // `tasks` are those of `usage` that are the trial's, by rank. A figure
  // that is not known, or that needs what the measurement before did not have, is left out.
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

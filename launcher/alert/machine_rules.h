#ifndef LAUNCHER_ALERT_MACHINE_RULES_H_
#define LAUNCHER_ALERT_MACHINE_RULES_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "bus/alert/alert_rows.h"
#include "bus/schema/launcher_generated.h"

namespace launcher {

// Changes of the machine's conditions: alerts to raise, and causes to release because their
// conditions have ended.
struct MachineNews {
  std::vector<bus::NewAlert> raised = {};  // Their times are not set.
  std::vector<std::string> released = {};
};

// A directory whose disk is watched, and the free space of that disk.
struct DiskSpace {
  std::string directory;
  std::uint64_t device = 0;  // Directories with the same number are on the same disk.
  std::uint64_t free_bytes = 0;
};

// Parses a number with an optional unit, a power of 1024: "512MiB", "2 GiB", "10G", "1048576", "0".
// InvalidArgument describes the format.
absl::StatusOr<std::uint64_t> ParseBytes(std::string_view text);

// Raises an alert for each disk with less than `floor` free bytes, named by the first directory on
// it. The condition ends once a quarter more than `floor` is free. Has no side effects.
class DiskRule {
 public:
  explicit DiskRule(std::uint64_t floor) : floor_(floor) {}
  // Returns what has changed since the last call.
  MachineNews Look(const std::vector<DiskSpace>& rooms);

 private:
  const std::uint64_t floor_;
  std::map<std::string, bool> low_;  // Whether each disk was low at the last check, by cause.
};

// Raises an alert for each GPU that has disappeared or does not answer, once two consecutive checks
// have seen that, since a driver may be slow once. If the figures of all GPUs are missing, for
// example because the driver is being replaced, the check does not count. Has no side effects.
class GpuRule {
 public:
  // Returns what has changed since the last call.
  MachineNews Look(const std::vector<msg::GpuUsageT>& gpus);

 private:
  struct Known {
    std::uint32_t index = 0;
    std::string name;
    int missing = 0;  // Consecutive checks.
  };
  std::map<std::string, Known> known_;  // By uuid.
};

}  // namespace launcher

#endif  // LAUNCHER_ALERT_MACHINE_RULES_H_

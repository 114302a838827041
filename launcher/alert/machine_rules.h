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

// Changes of conditions: alerts that are raised, and causes that are released, as their conditions
// are over.
struct MachineNews {
  std::vector<bus::NewAlert> raised = {};  // Without their times.
  std::vector<std::string> released = {};
};

// A directory whose disk is watched, and how much room that has.
struct DiskSpace {
  std::string directory;
  std::uint64_t device = 0;  // Disks of one number are one disk.
  std::uint64_t free_bytes = 0;
};

// "512MiB", "2 GiB", "10G", "1048576", "0": a number and a power of 1024. InvalidArgument says how
// it is written.
absl::StatusOr<std::uint64_t> ParseBytes(std::string_view text);

// The rooms below `floor` bytes, each disk once, by the first directory on it. A condition is over
// once a quarter more than that is free. Pure.
class DiskRule {
 public:
  explicit DiskRule(std::uint64_t floor) : floor_(floor) {}
  MachineNews Look(const std::vector<DiskSpace>& rooms);

 private:
  const std::uint64_t floor_;
  std::map<std::string, bool> low_;  // By cause, as it was seen last.
};

// The GPUs that were there and are not any more, or do not answer: as two looks in a row have seen
// it, as a driver may be slow once. Its figures as a whole may be missing, because the driver is
// being replaced: that says nothing. Pure.
class GpuRule {
 public:
  MachineNews Look(const std::vector<msg::GpuUsageT>& gpus);

 private:
  struct Known {
    std::uint32_t index = 0;
    std::string name;
    int missing = 0;  // Looks in a row.
  };
  std::map<std::string, Known> known_;  // By uuid.
};

}  // namespace launcher

#endif  // LAUNCHER_ALERT_MACHINE_RULES_H_

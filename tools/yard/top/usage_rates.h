#ifndef TOOLS_YARD_TOP_USAGE_RATES_H_
#define TOOLS_YARD_TOP_USAGE_RATES_H_

#include <cstdint>
#include <map>
#include <string>

#include "bus/schema/launcher_generated.h"

namespace yard::top {

// Disk traffic in bytes per second.
struct DiskRate {
  double read = 0, written = 0;
};

// Rates by task.
struct Rates {
  std::map<std::string, double> cores;    // Number of cores in use.
  std::map<std::string, DiskRate> disks;  // Only where known.
};

// Computes rates from consecutive counters. One thread.
class UsageRates {
 public:
  // Takes a measurement and returns the rates. A task or attempt that was not in the previous
  // measurement has no rates. Taking the same measurement again returns the same rates.
  const Rates& Take(const msg::UsageReplyT& usage);

 private:
  struct Counters {
    std::uint32_t attempt = 0;
    std::uint64_t cpu_us = 0, read_bytes = 0, written_bytes = 0;
    bool io_known = false;
  };
  std::map<std::string, Counters> before_;
  std::int64_t measured_us_ = 0;
  Rates rates_;
};

}  // namespace yard::top

#endif  // TOOLS_YARD_TOP_USAGE_RATES_H_

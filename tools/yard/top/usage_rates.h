#ifndef TOOLS_YARD_TOP_USAGE_RATES_H_
#define TOOLS_YARD_TOP_USAGE_RATES_H_

#include <cstdint>
#include <map>
#include <string>

#include "bus/schema/launcher_generated.h"

namespace yard::top {

// From and to disks, in bytes a second.
struct DiskRate {
  double read = 0, written = 0;
};

// By task.
struct Rates {
  std::map<std::string, double> cores;    // How many it uses.
  std::map<std::string, DiskRate> disks;  // Where that is known.
};

// From counters to rates, by what was measured before. One thread.
class UsageRates {
 public:
  // A task (or a new attempt of it) that was not in the measurement before has none. The same
  // measurement again: the same answer.
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

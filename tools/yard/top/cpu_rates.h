#ifndef TOOLS_YARD_TOP_CPU_RATES_H_
#define TOOLS_YARD_TOP_CPU_RATES_H_

#include <cstdint>
#include <map>
#include <string>

#include "bus/schema/launcher_generated.h"

namespace yard::top {

// From processor time to cores in use, by what was measured before. One thread.
class CpuRates {
 public:
  // By task; a task (or a new attempt of it) that was not in the measurement before has none. The
  // same measurement again: the same answer.
  const std::map<std::string, double>& Take(const msg::UsageReplyT& usage);

 private:
  struct Time {
    std::uint32_t attempt = 0;
    std::uint64_t cpu_us = 0;
  };
  std::map<std::string, Time> before_;
  std::int64_t measured_us_ = 0;
  std::map<std::string, double> cores_;
};

}  // namespace yard::top

#endif  // TOOLS_YARD_TOP_CPU_RATES_H_

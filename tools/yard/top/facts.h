#ifndef TOOLS_YARD_TOP_FACTS_H_
#define TOOLS_YARD_TOP_FACTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bus/schema/envelope_generated.h"
#include "tools/yard/services/service_rows.h"
#include "tools/yard/top/usage_rates.h"

namespace yard::top {

// The services' answers at one moment. They flow one way: to rows, to the model, to the screen.
struct Facts {
  absl::Time at;
  std::vector<ServiceRow> services;
  // Live things, oldest first, then things that have ended since the first read.
  std::vector<msg::SweepT> sweeps;
  std::vector<msg::TrialT> trials;
  std::vector<msg::JobT> jobs;
  std::vector<msg::NodeT> nodes;  // Other hosts where tasks run, by name.
  msg::UsageReplyT usage;
  Rates rates;
  absl::Status why;  // Names a service that does not answer; its earlier facts remain.

  // Details of the selected thing.
  std::string trial;                     // Id of the trial; empty if none.
  std::vector<msg::ResultRowT> reports;  // The newest reports, oldest first.
  std::string output_of;                 // Id of a job or a task; empty if none.
  std::vector<std::string> output;       // The newest lines, oldest first.
};

// The thing whose details are to be read.
struct Subject {
  std::string trial = {};
  std::uint64_t reports = 0;  // Number of the trial's reports.
  std::string output_of = {};
  bool operator==(const Subject&) const = default;
};

}  // namespace yard::top

#endif  // TOOLS_YARD_TOP_FACTS_H_

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

// The services' answers at one moment. Facts go one way: to rows, to the model, to the screen.
struct Facts {
  absl::Time at;
  std::vector<ServiceRow> services;
  // Things that have not ended, oldest first, then things that have ended while somebody looked on.
  std::vector<msg::SweepT> sweeps;
  std::vector<msg::TrialT> trials;
  std::vector<msg::JobT> jobs;
  std::vector<msg::NodeT> nodes;  // Other hosts where tasks run, by name.
  msg::UsageReplyT usage;
  Rates rates;
  absl::Status why;  // Names a service that does not answer; its earlier facts are still here.

  // Details of the thing that is looked at.
  std::string trial;                     // Id of the trial; empty: none.
  std::vector<msg::ResultRowT> reports;  // The newest ones, oldest first.
  std::string output_of;                 // A job or a task; empty: of none.
  std::vector<std::string> output;       // The newest lines, oldest first.
};

// The thing whose details are asked for, too.
struct Subject {
  std::string trial = {};
  std::uint64_t reports = 0;  // Number of reports that the trial has made.
  std::string output_of = {};
  bool operator==(const Subject&) const = default;
};

}  // namespace yard::top

#endif  // TOOLS_YARD_TOP_FACTS_H_

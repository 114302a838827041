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

// What the services say at one moment. Facts go one way: to rows, to the model, to the screen.
struct Facts {
  absl::Time at;
  std::vector<ServiceRow> services;
  // Those that have not ended, oldest first, then those that have ended while somebody looked on.
  std::vector<msg::SweepT> sweeps;
  std::vector<msg::TrialT> trials;
  std::vector<msg::JobT> jobs;
  msg::UsageReplyT usage;
  Rates rates;
  absl::Status why;  // Who does not answer; then what is known of before is still here.

  // Of what is looked at.
  std::string trial;                     // Its id; empty: none.
  std::vector<msg::ResultRowT> reports;  // The newest ones, oldest first.
  std::string output_of;                 // A job or a task; empty: of none.
  std::vector<std::string> output;       // The newest lines, oldest first.
};

// What more is asked about.
struct Subject {
  std::string trial = {};
  std::uint64_t reports = 0;  // That the trial has made.
  std::string output_of = {};
  bool operator==(const Subject&) const = default;
};

}  // namespace yard::top

#endif  // TOOLS_YARD_TOP_FACTS_H_

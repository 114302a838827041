#ifndef WEB_METRICS_YARD_FACTS_H_
#define WEB_METRICS_YARD_FACTS_H_

#include <map>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "bus/call/client.h"
#include "bus/schema/common_generated.h"
#include "bus/schema/launcher_generated.h"
#include "bus/schema/trainer_generated.h"

namespace web {

// Answers of the services at one moment; empty for a service that has not answered.
struct YardFacts {
  std::map<std::string, std::optional<msg::StatsReplyT>> stats;  // By service; all expected ones.
  std::optional<msg::ServicesReplyT> kept;                       // Supervised by the launcher.
  std::optional<msg::JobsReplyT> jobs;                           // Live jobs.
  std::optional<msg::UsageReplyT> usage;
  std::optional<msg::TrialsReplyT> trials;  // Live trials, and the newest ended ones.
};

// Calls all services in parallel. Blocks, hardly longer than `patience`.
YardFacts ReadYardFacts(bus::Client& client, absl::Duration patience);

}  // namespace web

#endif  // WEB_METRICS_YARD_FACTS_H_

#include "tools/yard/health/stuck_things.h"

#include <string_view>
#include <utility>

#include "bus/schema/launcher_methods.h"

namespace yard {

std::vector<StuckFacts> StuckThings(const msg::JobsReplyT& live) {
  constexpr std::string_view kNever = "cannot start: ";  // As in launcher/share/resources.h.
  std::vector<StuckFacts> stuck;
  for (const auto& job : live.jobs) {
    if (job->state != msg::TaskState::Pending || !job->reason.starts_with(kNever)) continue;
    StuckFacts facts{.id = job->id, .why = job->reason};
    for (const auto& label : job->labels) {
      if (label->key == "trial") facts.id = label->value;
    }
    stuck.push_back(std::move(facts));
  }
  return stuck;
}

std::vector<StuckFacts> AskForStuckThings(bus::Client& client, absl::Duration timeout) {
  msg::JobsRequestT live;
  live.live_only = true;
  const auto reply = client.Call<rpc::Launcher::Jobs>(live, {.timeout = timeout});
  return reply.ok() ? StuckThings(*reply) : std::vector<StuckFacts>();
}

}  // namespace yard

#include "launcher/run/grant_rounds.h"

#include <cstddef>
#include <map>
#include <utility>

namespace launcher {
namespace {

// Number of waiting jobs that are notified of each change of grants; jobs further back in the queue
// are notified when they move up.
constexpr std::size_t kWaitingTold = 100;

}  // namespace

void GrantRounds::Look() {
  Grants& grants = *options_.grants;
  const auto others = grants.WaitsForOthers();
  auto given = grants.GrantNext();
  const bool looked_in_vain =
      !others_timer_.is_set() && given.empty() && others == grants.WaitsForOthers();
  LookAgainForOthers();
  if (looked_in_vain && !others.empty()) return;
  std::map<std::string, std::vector<Grants::Grant>> by_job;
  for (auto& grant : given) by_job[grant.job].push_back(std::move(grant));
  for (auto& [job, all] : by_job) {
    options_.loop->Post([this, alive = alive_, job = job, all = std::move(all)] {
      if (*alive) options_.on_granted(job, all);
    });
  }
  if (!options_.on_waits) return;
  for (const std::string& job : grants.Waiting(kWaitingTold)) options_.on_waits(job);
}

void GrantRounds::LookAgainForOthers() {
  if (others_timer_.is_set() || options_.grants->WaitsForOthers().empty()) return;
  others_timer_.Start(options_.loop, options_.look_for_others, [this] { Look(); });
}

}  // namespace launcher

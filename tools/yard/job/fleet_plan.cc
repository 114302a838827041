#include "tools/yard/job/fleet_plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"

namespace yard {
namespace {

using Action = FleetStep::Action;

constexpr std::size_t kMostNamed = 5;  // Number of differing keys that are named.

bool HasEnded(const msg::JobT& job) {
  return job.state == msg::TaskState::Exited || job.state == msg::TaskState::Failed ||
         job.state == msg::TaskState::Lost;
}

// Returns for each name its live job, else its newest.
std::map<std::string, const msg::JobT*> ByName(const std::vector<const msg::JobT*>& jobs) {
  std::map<std::string, const msg::JobT*> by_name;
  for (const msg::JobT* const job : jobs) {
    if (job->name.empty()) continue;
    const msg::JobT*& known = by_name[job->name];
    const bool is_better =
        known == nullptr || (HasEnded(*known) && !HasEnded(*job)) ||
        (HasEnded(*known) == HasEnded(*job) && job->created_us >= known->created_us);
    if (is_better) known = job;
  }
  return by_name;
}

// Returns the step for a job of the file that exists in the yard.
FleetStep StepOf(FleetJob& wanted, const msg::JobT& known) {
  FleetStep step{.name = wanted.name, .id = known.id, .job = &wanted};
  const bool changed = known.applied != wanted.applied;
  const std::string differs =
      changed ? "changed: " + Differences(known.applied, wanted.applied) : "";
  if (!HasEnded(known)) {
    const bool ends = known.stop_requested || known.state == msg::TaskState::Stopping;
    step.action = changed || ends ? Action::kRestart : Action::kKeep;
    step.why = changed ? differs : ends ? "is being stopped" : "is unchanged";
  } else if (changed) {
    step.action = Action::kStart;
    step.why = differs;
  } else if (known.stop_requested) {
    step.action = Action::kStart;
    step.why = "was stopped";
  } else if (known.state != msg::TaskState::Exited) {
    step.action = Action::kStart;
    step.why = "has failed";
  } else {
    step.why = "is done, and unchanged";
  }
  return step;
}

void Compare(const std::string& place, const nlohmann::json& before, const nlohmann::json& after,
             std::set<std::string>* keys) {
  if (before == after) return;
  if (!before.is_object() || !after.is_object()) {
    keys->insert(place);
    return;
  }
  std::set<std::string> names;
  for (const auto& [name, value] : before.items()) names.insert(name);
  for (const auto& [name, value] : after.items()) names.insert(name);
  for (const std::string& name : names) {
    const std::string at = place.empty() ? name : absl::StrCat(place, ".", name);
    Compare(at, before.value(name, nlohmann::json()), after.value(name, nlohmann::json()), keys);
  }
}

}  // namespace

const char* NameOf(Action action) {
  switch (action) {
    case Action::kStart:
      return "start";
    case Action::kRestart:
      return "restart";
    case Action::kStop:
      return "stop";
    case Action::kKeep:
      return "keep";
    case Action::kLeave:
      return "leave";
  }
  return "";
}

std::string Differences(const std::string& before, const std::string& after) {
  const auto old_job = nlohmann::json::parse(before, nullptr, /*allow_exceptions=*/false);
  const auto new_job = nlohmann::json::parse(after, nullptr, /*allow_exceptions=*/false);
  std::set<std::string> keys;
  if (old_job.is_object() && new_job.is_object()) Compare("", old_job, new_job, &keys);
  if (keys.empty()) return "its file";
  std::vector<std::string> named(keys.begin(), keys.end());
  const std::size_t more = named.size() > kMostNamed ? named.size() - kMostNamed : 0;
  named.resize(named.size() - more);
  return absl::StrCat(absl::StrJoin(named, ", "),
                      more > 0 ? absl::StrCat(", ", more, " more") : "");
}

absl::StatusOr<std::vector<FleetStep>> PlanFleet(
    Fleet& fleet, const std::vector<const msg::JobT*>& known, bool prune,
    const std::function<bool(const std::string& path)>& exists) {
  const auto by_name = ByName(known);
  const auto is_ours = [&](const msg::JobT& job) {
    return job.applied_from == fleet.path ||
           (!job.applied_from.empty() && !exists(job.applied_from));
  };
  std::vector<FleetStep> steps;
  std::set<std::string> names;
  for (const FleetJob& job : fleet.jobs) names.insert(job.name);
  for (const auto& [name, job] : by_name) {
    if (names.contains(name) || HasEnded(*job) || job->applied_from != fleet.path) continue;
    steps.push_back({.action = prune ? Action::kStop : Action::kLeave,
                     .name = name,
                     .why = "is in the file no more",
                     .id = job->id});
  }
  for (FleetJob& job : fleet.jobs) {
    const auto found = by_name.find(job.name);
    if (found == by_name.end()) {
      steps.push_back(
          {.action = Action::kStart, .name = job.name, .why = "is new", .id = {}, .job = &job});
    } else if (is_ours(*found->second)) {
      steps.push_back(StepOf(job, *found->second));
    } else if (HasEnded(*found->second)) {
      steps.push_back(
          {.action = Action::kStart, .name = job.name, .why = "is new", .id = {}, .job = &job});
    } else {
      const std::string& owner = found->second->applied_from;
      return absl::AlreadyExistsError(
          absl::StrCat("the job ", job.name, " (", found->second->id, ") runs, and ",
                       owner.empty() ? "no file keeps it" : owner + " keeps it",
                       "; next: yard stop ", found->second->id, ", or give it another name"));
    }
  }
  return steps;
}

}  // namespace yard

#include "launcher/run/grants.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "launcher/job/cluster.h"
#include "runtime/text/printable.h"

namespace launcher {
namespace {

constexpr char kGpu[] = "gpu";
constexpr char kSlots[] = "slots";

const msg::TaskGroupT* GroupOf(const msg::JobSpecT& spec, const PlannedTask& task) {
  return task.group < 0 ? nullptr : spec.groups[static_cast<std::size_t>(task.group)].get();
}

// Returns the requests of a job's tasks for resources of this host; a task that requests nothing is
// left out.
std::vector<Resources::TaskWishes> WishesOf(const msg::JobSpecT& spec) {
  std::vector<Resources::TaskWishes> all;
  for (const PlannedTask& task : PlanTasks(spec, {}).tasks) {
    const msg::TaskGroupT* const group = GroupOf(spec, task);
    if (group == nullptr) continue;
    Resources::TaskWishes wishes{.task = task.name(), .wishes = {}};
    for (const auto& wish : group->resources) wishes.wishes.push_back({wish->name, wish->amount});
    if (!wishes.wishes.empty()) all.push_back(std::move(wishes));
  }
  return all;
}

// Returns what the tasks of a job need of a node, by rank.
std::vector<NodeQueue::Need> NeedsOf(const msg::JobSpecT& spec) {
  std::vector<NodeQueue::Need> needs;
  for (const PlannedTask& task : PlanTasks(spec, {}).tasks) {
    NodeQueue::Need& need = needs.emplace_back();
    need.task = task.name();
    const msg::TaskGroupT* const group = GroupOf(spec, task);
    if (group == nullptr) continue;
    for (const auto& wish : group->resources) {
      if (wish->name == kSlots) need.slots = wish->amount;
      if (wish->name == kGpu) need.gpus = wish->amount;
    }
    if (group->control_limits == nullptr) continue;
    need.milli_cpus = group->control_limits->milli_cpus;
    need.memory_bytes = group->control_limits->memory_bytes;
  }
  if (!spec.share_sets) return needs;
  std::uint64_t most = 0;
  for (const NodeQueue::Need& need : needs) most = std::max(most, need.gpus);
  for (NodeQueue::Need& need : needs) {
    need.shares_gpus = true;
    if (need.gpus > 0) need.gpus = most;
  }
  return needs;
}

std::vector<std::string> TextsOf(const NodeQueue::Place& place) {
  std::vector<std::string> texts;
  if (!place.gpus.empty()) {
    texts.push_back(Resources::Given{.name = kGpu,
                                     .amount = static_cast<std::uint32_t>(place.gpus.size()),
                                     .members = place.gpus}
                        .ToString());
  }
  if (place.slots > 1) texts.push_back(absl::StrCat(kSlots, "=", place.slots));
  return texts;
}

absl::Status CheckOfPool(const msg::JobSpecT& spec) {
  for (const auto& group : spec.groups) {
    for (const auto& wish : group->resources) {
      if (wish->name == kGpu || wish->name == kSlots) continue;
      return absl::FailedPreconditionError(
          absl::StrCat(group->type, " asks for ", runtime::Printable(wish->name), "=", wish->amount,
                       ", but nodes of a pool have slots and gpu"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Grants::Check(const msg::JobSpecT& spec) const {
  if (spec.pool.empty()) return resources_.Check(WishesOf(spec), spec.share_sets);
  if (auto status = CheckOfPool(spec); !status.ok()) return status;
  return nodes_.Check(spec.pool, NeedsOf(spec));
}

void Grants::SetNodes(std::vector<NodeQueue::Node> nodes) { nodes_.SetAll(std::move(nodes)); }

void Grants::Request(const JobRow& row, const std::vector<int>& tasks) {
  std::set<std::string> wanted;
  for (const int task : tasks) {
    wanted.insert(row.tasks[static_cast<std::size_t>(task)].name());
    Release(row.id, row.tasks[static_cast<std::size_t>(task)].name());
  }
  const auto is_unwanted = [&](const auto& one) { return !wanted.contains(one.task); };
  if (row.spec.pool.empty()) {
    auto wishes = WishesOf(row.spec);
    std::erase_if(wishes, is_unwanted);
    if (!wishes.empty()) resources_.Request(row.id, std::move(wishes), row.spec.share_sets);
    return;
  }
  auto needs = NeedsOf(row.spec);
  // The other tasks of the cluster go on and know this task by its address, so it must not move to
  // another node.
  const bool is_bound = !row.spec.gang && row.tasks.size() > 1;
  for (std::size_t rank = 0; is_bound && rank < needs.size(); ++rank) {
    needs[rank].only_on = row.tasks[rank].node;
  }
  std::erase_if(needs, is_unwanted);
  if (!needs.empty()) nodes_.Request(row.id, row.spec.pool, std::move(needs));
}

std::vector<Grants::Grant> Grants::GrantNext() {
  std::vector<Grant> grants;
  for (const auto& given : resources_.GrantNext()) grants.push_back({given.job, given.task});
  for (const auto& given : nodes_.GrantNext()) grants.push_back({given.job, given.task});
  return grants;
}

std::optional<Grants::Held> Grants::HeldBy(const std::string& job, const std::string& task) const {
  if (const NodeQueue::Place* const place = nodes_.Held(job, task)) {
    return Held{.node = place->node, .resources = TextsOf(*place)};
  }
  const auto* const given = resources_.Held(job, task);
  if (given == nullptr) return std::nullopt;
  Held held;
  for (const auto& one : *given) held.resources.push_back(one.ToString());
  return held;
}

void Grants::Release(const std::string& job, const std::string& task) {
  resources_.Release(job, task);
  nodes_.Release(job, task);
}

void Grants::Restore(const JobRow& row, int task) {
  const auto at = static_cast<std::size_t>(task);
  const TaskRow& from = row.tasks[at];
  if (row.spec.pool.empty()) {
    if (from.resources.empty()) return;
    return resources_.Restore(row.id, from.name(), from.resources, row.spec.share_sets);
  }
  if (from.node.empty()) return;
  const NodeQueue::Need need = NeedsOf(row.spec)[at];
  NodeQueue::Place place{.node = from.node,
                         .slots = need.slots,
                         .milli_cpus = need.milli_cpus,
                         .memory_bytes = need.memory_bytes};
  for (const std::string& text : from.resources) {
    const auto resource = ParseResource(text);
    if (resource.ok() && resource->name == kGpu) place.gpus = resource->members;
  }
  nodes_.Restore(row.id, from.name(), std::move(place));
}

std::string Grants::WhyWaiting(const std::string& job) const {
  std::string why = resources_.WhyWaiting(job);
  return why.empty() ? nodes_.WhyWaiting(job) : why;
}

std::vector<std::string> Grants::Waiting(std::size_t count) const {
  std::vector<std::string> jobs = resources_.Waiting(count);
  for (std::string& job : nodes_.Waiting(count)) jobs.push_back(std::move(job));
  return jobs;
}

}  // namespace launcher

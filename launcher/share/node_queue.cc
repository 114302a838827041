#include "launcher/share/node_queue.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/counted.h"

namespace launcher {
namespace {

constexpr std::size_t kNamedNodes = 4;

// True if the need fits; a resource of unknown capacity (`of_all` 0) always does.
bool FitsInto(std::uint64_t need, std::uint64_t free, std::uint64_t of_all) {
  return of_all == 0 || need <= free;
}

std::uint64_t Less(std::uint64_t from, std::uint64_t what) { return from < what ? 0 : from - what; }

// Describes a need: "2 slots, 1 GPU and 8 GiB".
std::string Words(const NodeQueue::Need& need) {
  std::vector<std::string> parts;
  if (need.slots > 1 || (need.gpus == 0 && need.milli_cpus == 0 && need.memory_bytes == 0)) {
    parts.push_back(runtime::Counted(need.slots, "slot"));
  }
  if (need.gpus > 0) parts.push_back(runtime::Counted(need.gpus, "GPU"));
  if (need.milli_cpus > 0) {
    parts.push_back(absl::StrCat(static_cast<double>(need.milli_cpus) / 1000, " CPUs"));
  }
  if (need.memory_bytes > 0) parts.push_back(absl::StrCat(need.memory_bytes >> 20, " MiB"));
  return absl::StrJoin(parts, ", ");
}

}  // namespace

void NodeQueue::Set(Node node) {
  std::string name = node.name;
  nodes_[std::move(name)] = std::move(node);
}

void NodeQueue::Remove(const std::string& name) { nodes_.erase(name); }

void NodeQueue::SetAll(std::vector<Node> nodes) {
  nodes_.clear();
  for (Node& node : nodes) Set(std::move(node));
}

const NodeQueue::Node* NodeQueue::Find(const std::string& name) const {
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? nullptr : &found->second;
}

std::vector<const NodeQueue::Node*> NodeQueue::NodesOf(const std::string& pool) const {
  std::vector<const Node*> nodes;
  for (const auto& [name, node] : nodes_) {
    if (node.pool == pool) nodes.push_back(&node);
  }
  return nodes;
}

NodeQueue::Room NodeQueue::Whole(const Node& node) {
  return {.node = &node,
          .slots = node.slots,
          .gpus = node.gpus,
          .milli_cpus = node.milli_cpus,
          .memory_bytes = node.memory_bytes};
}

std::vector<NodeQueue::Room> NodeQueue::RoomsFor(const Unit& unit) const {
  std::map<std::string_view, Room> rooms;
  for (const Node* const node : NodesOf(unit.pool)) {
    if (node->takes_tasks) rooms[node->name] = Whole(*node);
  }
  for (const auto& [key, place] : held_) {
    const auto found = rooms.find(place.node);
    if (found == rooms.end()) continue;
    Room& room = found->second;
    room.slots = Less(room.slots, place.slots);
    room.milli_cpus = Less(room.milli_cpus, place.milli_cpus);
    room.memory_bytes = Less(room.memory_bytes, place.memory_bytes);
    std::erase_if(room.gpus, [&place = place](const std::string& gpu) {
      return std::find(place.gpus.begin(), place.gpus.end(), gpu) != place.gpus.end();
    });
    if (key.first == unit.job && !place.gpus.empty()) room.shared = place.gpus;
  }
  std::vector<Room> all;
  for (auto& [name, room] : rooms) all.push_back(std::move(room));
  return all;
}

bool NodeQueue::Fits(const Need& need, const Room& room) const {
  const Node& node = *room.node;
  // (A node that was removed no longer restricts the choice.)
  if (!need.only_on.empty() && need.only_on != node.name && Find(need.only_on) != nullptr) {
    return false;
  }
  const bool has_gpus = need.gpus <= room.gpus.size() || (need.shares_gpus && !room.shared.empty());
  return need.slots <= room.slots && has_gpus &&
         FitsInto(need.milli_cpus, room.milli_cpus, node.milli_cpus) &&
         FitsInto(need.memory_bytes, room.memory_bytes, node.memory_bytes);
}

NodeQueue::Place NodeQueue::Take(const Need& need, Room& room) {
  Place place{.node = room.node->name,
              .slots = need.slots,
              .milli_cpus = need.milli_cpus,
              .memory_bytes = need.memory_bytes};
  if (need.gpus > 0 && need.shares_gpus && !room.shared.empty()) {
    place.gpus = room.shared;
  } else {
    const auto end = room.gpus.begin() + static_cast<std::ptrdiff_t>(need.gpus);
    place.gpus.assign(room.gpus.begin(), end);
    room.gpus.erase(room.gpus.begin(), end);
    if (need.shares_gpus) room.shared = place.gpus;
  }
  room.slots = Less(room.slots, need.slots);
  room.milli_cpus = Less(room.milli_cpus, need.milli_cpus);
  room.memory_bytes = Less(room.memory_bytes, need.memory_bytes);
  return place;
}

// Places the largest needs first, and equal needs in their order, so that tasks with neighbouring
// ranks share a node.
std::optional<std::vector<NodeQueue::Place>> NodeQueue::Fit(const std::vector<Need>& needs,
                                                            std::vector<Room> rooms) const {
  std::stable_sort(rooms.begin(), rooms.end(), [](const Room& a, const Room& b) {
    return std::pair(a.gpus.size(), a.slots) > std::pair(b.gpus.size(), b.slots);
  });
  std::vector<std::size_t> order(needs.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tuple(needs[a].gpus, needs[a].memory_bytes, needs[a].slots) >
           std::tuple(needs[b].gpus, needs[b].memory_bytes, needs[b].slots);
  });
  std::vector<Place> places(needs.size());
  for (const std::size_t i : order) {
    const auto room = std::find_if(rooms.begin(), rooms.end(),
                                   [&](const Room& one) { return Fits(needs[i], one); });
    if (room == rooms.end()) return std::nullopt;
    places[i] = Take(needs[i], *room);
  }
  return places;
}

bool NodeQueue::CanEverFit(const Unit& unit) const {
  std::vector<Room> rooms;
  for (const Node* const node : NodesOf(unit.pool)) {
    if (node->slots == 0) return true;
    rooms.push_back(Whole(*node));
  }
  return Fit(unit.needs, std::move(rooms)).has_value();
}

absl::Status NodeQueue::Check(const std::string& pool, const std::vector<Need>& needs) const {
  const auto nodes = NodesOf(pool);
  if (nodes.empty()) {
    std::set<std::string> pools;
    for (const auto& [name, node] : nodes_) pools.insert(node.pool);
    return absl::NotFoundError(absl::StrCat(
        "there is no pool ", pool,
        pools.empty() ? "" : absl::StrCat("; the pools are ", absl::StrJoin(pools, ", ")),
        "; next: yard pool ", pool, " --hosts HOST,..."));
  }
  const Unit unit{.job = "", .pool = pool, .needs = needs};
  if (CanEverFit(unit)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("pool ", pool, " is too small: ", WhyNoRoom(unit)));
}

void NodeQueue::Request(const std::string& job, const std::string& pool, std::vector<Need> needs) {
  queue_.push_back({job, pool, std::move(needs)});
}

std::vector<NodeQueue::Grant> NodeQueue::GrantNext() {
  std::vector<Grant> grants;
  std::set<std::string> waited_for;  // Pools.
  for (auto unit = queue_.begin(); unit != queue_.end();) {
    if (waited_for.contains(unit->pool)) {
      ++unit;
      continue;
    }
    auto places = Fit(unit->needs, RoomsFor(*unit));
    if (!places) {
      // (No request waits behind one that can never be granted.)
      if (CanEverFit(*unit)) waited_for.insert(unit->pool);
      ++unit;
      continue;
    }
    for (std::size_t i = 0; i < places->size(); ++i) {
      held_[{unit->job, unit->needs[i].task}] = (*places)[i];
      grants.push_back({unit->job, unit->needs[i].task, std::move((*places)[i])});
    }
    unit = queue_.erase(unit);
  }
  return grants;
}

const NodeQueue::Place* NodeQueue::Held(const std::string& job, const std::string& task) const {
  const auto held = held_.find({job, task});
  return held == held_.end() ? nullptr : &held->second;
}

void NodeQueue::Release(const std::string& job, const std::string& task) {
  for (Unit& unit : queue_) {
    if (unit.job != job) continue;
    std::erase_if(unit.needs, [&](const Need& need) { return need.task == task; });
  }
  std::erase_if(queue_, [](const Unit& unit) { return unit.needs.empty(); });
  held_.erase({job, task});
}

void NodeQueue::Restore(const std::string& job, const std::string& task, Place place) {
  held_[{job, task}] = std::move(place);
}

std::uint64_t NodeQueue::SlotsUsed(const std::string& node) const {
  std::uint64_t used = 0;
  for (const auto& [key, place] : held_) used += place.node == node ? place.slots : 0;
  return used;
}

std::uint64_t NodeQueue::GpusUsed(const std::string& node) const {
  std::set<std::string_view> used;  // (A set, since tasks may share GPUs.)
  for (const auto& [key, place] : held_) {
    if (place.node == node) used.insert(place.gpus.begin(), place.gpus.end());
  }
  return used.size();
}

// Describes the free part of a node, as far as the need asks for it: "a has 1 of 4 slots free, 0 of
// 2 GPUs".
std::string NodeQueue::FreeOf(const Room& room, const Need& need) {
  const Node& node = *room.node;
  std::string words = absl::StrCat(node.name, " has ", room.slots, " of ",
                                   runtime::Counted(node.slots, "slot"), " free");
  if (need.gpus > 0) {
    absl::StrAppend(&words, ", ", room.gpus.size(), " of ",
                    runtime::Counted(node.gpus.size(), "GPU"));
  }
  if (need.memory_bytes > 0 && node.memory_bytes > 0) {
    absl::StrAppend(&words, ", ", room.memory_bytes >> 20, " of ", node.memory_bytes >> 20, " MiB");
  }
  if (need.milli_cpus > 0 && node.milli_cpus > 0) {
    absl::StrAppend(&words, ", ", static_cast<double>(room.milli_cpus) / 1000, " of ",
                    static_cast<double>(node.milli_cpus) / 1000, " CPUs");
  }
  return words;
}

// Explains why a request does not fit, by its largest need and the room of each node.
std::string NodeQueue::WhyNoRoom(const Unit& unit) const {
  const auto largest =
      std::max_element(unit.needs.begin(), unit.needs.end(), [](const Need& a, const Need& b) {
        return std::tuple(a.gpus, a.memory_bytes, a.slots) <
               std::tuple(b.gpus, b.memory_bytes, b.slots);
      });
  std::vector<std::string> rooms;
  for (const Node* const node : NodesOf(unit.pool)) {
    if (node->takes_tasks) continue;
    const bool is_told = !node->why.empty();
    std::string words = is_told ? node->why : absl::StrCat(node->name, " takes no tasks now");
    // (Nodes of one allocation share a reason, which is named once.)
    if (!is_told || std::find(rooms.begin(), rooms.end(), words) == rooms.end()) {
      rooms.push_back(std::move(words));
    }
  }
  for (const Room& room : RoomsFor(unit)) rooms.push_back(FreeOf(room, *largest));
  if (rooms.size() > kNamedNodes) {
    const std::size_t more = rooms.size() - kNamedNodes;
    rooms.resize(kNamedNodes);
    rooms.push_back(absl::StrCat(more, " more"));
  }
  return absl::StrCat(unit.needs.size() == 1
                          ? absl::StrCat(largest->task, " needs ", Words(*largest))
                          : absl::StrCat("its ", unit.needs.size(), " tasks start together, and ",
                                         largest->task, " needs ", Words(*largest)),
                      rooms.empty() ? "" : absl::StrCat("; ", absl::StrJoin(rooms, "; ")));
}

// Returns ", which has 6 slots, and it needs 7" for a request that waits for more nodes; empty if
// it can fit.
std::string NodeQueue::TooSmall(const Unit& unit) const {
  if (CanEverFit(unit)) return "";
  std::uint64_t has = 0, needs = 0;
  for (const Node* const node : NodesOf(unit.pool)) has += node->slots;
  for (const Need& need : unit.needs) needs += need.slots;
  if (needs <= has) return ", which is too small";
  return absl::StrCat(", which has ", runtime::Counted(has, "slot"), ", and it needs ", needs);
}

std::string NodeQueue::WhyWaiting(const std::string& job) const {
  const auto unit = std::find_if(queue_.begin(), queue_.end(),
                                 [&](const Unit& other) { return other.job == job; });
  if (unit == queue_.end()) return "";
  if (NodesOf(unit->pool).empty()) {
    return absl::StrCat("waits for pool ", unit->pool,
                        ", which has no nodes any more; next: yard "
                        "pool ",
                        unit->pool, " --hosts HOST,...");
  }
  const auto before = std::find_if(queue_.begin(), unit, [&](const Unit& other) {
    return other.pool == unit->pool && CanEverFit(other);
  });
  if (before != unit) return absl::StrCat("waits for pool ", unit->pool, " behind ", before->job);
  return absl::StrCat("waits for pool ", unit->pool, TooSmall(*unit), ": ", WhyNoRoom(*unit));
}

std::vector<std::string> NodeQueue::Waiting(std::size_t count) const {
  std::vector<std::string> jobs;
  for (const Unit& unit : queue_) {
    if (jobs.size() == count) break;
    if (std::find(jobs.begin(), jobs.end(), unit.job) == jobs.end()) jobs.push_back(unit.job);
  }
  return jobs;
}

}  // namespace launcher

#ifndef LAUNCHER_SHARE_NODE_QUEUE_H_
#define LAUNCHER_SHARE_NODE_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace launcher {

// Decides on which node of its job's pool a task runs, without a clock or system calls: the same
// calls give the same answers.
//
// All tasks that one call asks for get their places together or not at all. First come, first
// served in each pool: nobody overtakes a job that waits there, but for one that the pool could not
// hold even if nothing ran. The tasks of a job fill one node after the other, beginning with the
// one that has most room, so that single tasks spread and gangs stay together.
//
// One thread.
class NodeQueue {
 public:
  // A node, and how much of everything it has. Processors or memory of 0 are not known, and not
  // counted.
  struct Node {
    std::string name;  // Unique over all pools.
    std::string pool;
    std::uint64_t slots = 0;  // Tasks that it may have at a time. 0: it has never connected.
    std::vector<std::string> gpus = {};
    std::uint64_t milli_cpus = 0;
    std::uint64_t memory_bytes = 0;
    bool takes_tasks = true;  // False: it is away, or is being drained.
    std::string why = {};     // Why it takes none, for people; empty: nobody has said.

    bool operator==(const Node&) const = default;
  };
  // The needs of a task, which one node has to meet.
  struct Need {
    std::string task = {};  // "worker-0"
    std::uint64_t slots = 1;
    std::uint64_t gpus = 0;
    // It has the same GPUs as the other tasks of its job on the same node. (All needs of a job have
    // it, or none, and as many GPUs.)
    bool shares_gpus = false;
    std::uint64_t milli_cpus = 0;
    std::uint64_t memory_bytes = 0;
    std::string only_on =
        {};  // Name of the only node where it may run, as long as there is such a node.
  };
  // The part of a node that a task has.
  struct Place {
    std::string node = {};
    std::uint64_t slots = 0;
    std::vector<std::string> gpus = {};
    std::uint64_t milli_cpus = 0;
    std::uint64_t memory_bytes = 0;
  };
  struct Grant {
    std::string job, task;
    Place place;
  };

  // Adds a node, or changes it. Tasks that are there stay.
  void Set(Node node);
  void Remove(const std::string& name);
  // These are all there are.
  void SetAll(std::vector<Node> nodes);
  // Null: there is no such node.
  const Node* Find(const std::string& name) const;
  std::vector<const Node*> NodesOf(const std::string& pool) const;

  // NotFound: there is no such pool, and what pools there are. FailedPrecondition: a task needs
  // more than any node of the pool has, whose facts are all known.
  absl::Status Check(const std::string& pool, const std::vector<Need>& needs) const;

  // Queues what Check() accepts: the tasks of a job, or those that start anew. Ask for all at once.
  void Request(const std::string& job, const std::string& pool, std::vector<Need> needs);
  // Places that can be had now, in the order of the requests; each once. To be called after
  // Request(), Release(), Set() and Remove().
  std::vector<Grant> GrantNext();
  // Null: the task has no place.
  const Place* Held(const std::string& job, const std::string& task) const;
  // The task is over, or no longer waits.
  void Release(const std::string& job, const std::string& task);
  // A task of an earlier launcher has this place. It is believed.
  void Restore(const std::string& job, const std::string& task, Place place);

  // The slots and the GPUs of a node that tasks have.
  std::uint64_t SlotsUsed(const std::string& node) const;
  std::uint64_t GpusUsed(const std::string& node) const;
  // Why the job still waits, for people: "waits for pool lab: no node has 2 free GPUs (a has 1 of 4
  // free)", "waits for pool lab behind j-abcde", "waits for pool lab: node a is away". Empty if it
  // does not.
  std::string WhyWaiting(const std::string& job) const;
  // The first `count` jobs that wait, in the order in which they asked.
  std::vector<std::string> Waiting(std::size_t count) const;

 private:
  struct Unit {
    std::string job, pool;
    std::vector<Need> needs;
  };
  // The part of a node that is free.
  struct Room {
    const Node* node = nullptr;
    std::uint64_t slots = 0;
    std::vector<std::string> gpus = {};
    std::vector<std::string> shared = {};  // GPUs of the job that it is for; not free.
    std::uint64_t milli_cpus = 0;
    std::uint64_t memory_bytes = 0;
  };
  using TaskKey = std::pair<std::string, std::string>;

  static Room Whole(const Node& node);
  // The nodes of the pool that take tasks, and what is free of each.
  std::vector<Room> RoomsFor(const Unit& unit) const;
  bool Fits(const Need& need, const Room& room) const;
  static Place Take(const Need& need, Room& room);
  // A place for each need, in their order; nothing if there is not enough room.
  std::optional<std::vector<Place>> Fit(const std::vector<Need>& needs,
                                        std::vector<Room> rooms) const;
  // If nothing ran. (A node that has never connected may have anything.)
  bool CanEverFit(const Unit& unit) const;
  static std::string FreeOf(const Room& room, const Need& need);
  std::string TooSmall(const Unit& unit) const;
  std::string WhyNoRoom(const Unit& unit) const;

  std::map<std::string, Node> nodes_;
  std::deque<Unit> queue_;
  std::map<TaskKey, Place> held_;
};

}  // namespace launcher

#endif  // LAUNCHER_SHARE_NODE_QUEUE_H_

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

// Assigns tasks to the nodes of their job's pool. Uses no clock and no system calls: the same calls
// give the same answers.
//
// All tasks of one Request() get their places together or not at all. Each pool is first come,
// first served: no request overtakes a waiting one, except one that the pool could not hold even if
// nothing ran. The tasks of a job fill one node after the other, beginning with the one that has
// the most room, so that single tasks spread out and gangs stay together.
//
// Not thread-safe.
class NodeQueue {
 public:
  // A node and its capacity. A value of 0 for processors or memory is unknown, and is not counted.
  struct Node {
    std::string name;  // Unique over all pools.
    std::string pool;
    // Number of tasks that it may run at a time; 0 if it has never connected.
    std::uint64_t slots = 0;
    std::vector<std::string> gpus = {};
    std::uint64_t milli_cpus = 0;
    std::uint64_t memory_bytes = 0;
    bool takes_tasks = true;  // False while the node is disconnected or being drained.
    std::string why = {};     // Message that says why it takes no tasks; may be empty.

    bool operator==(const Node&) const = default;
  };
  // The needs of a task, which a single node must meet.
  struct Need {
    std::string task = {};  // "worker-0"
    std::uint64_t slots = 1;
    std::uint64_t gpus = 0;
    // The task uses the same GPUs as the other tasks of its job on the same node. (All needs of a
    // job agree in this field and, if it is set, in the number of GPUs.)
    bool shares_gpus = false;
    std::uint64_t milli_cpus = 0;
    std::uint64_t memory_bytes = 0;
    std::string only_on =
        {};  // Name of the only node on which it may run; ignored if that node no longer exists.
  };
  // The part of a node that a task holds.
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

  // Adds a node, or changes it. Tasks on it keep their places.
  void Set(Node node);
  // Removes a node.
  void Remove(const std::string& name);
  // Replaces the whole set of nodes.
  void SetAll(std::vector<Node> nodes);
  // Returns a node by its name; null if it does not exist.
  const Node* Find(const std::string& name) const;
  // Returns the nodes of a pool.
  std::vector<const Node*> NodesOf(const std::string& pool) const;

  // Validates a request. NotFound, with the existing pools, if the pool does not exist.
  // FailedPrecondition if a task needs more than any node of the pool has, and the capacity of all
  // nodes is known.
  absl::Status Check(const std::string& pool, const std::vector<Need>& needs) const;

  // Queues needs that Check() accepts: those of all tasks of a job that start together, in one
  // call.
  void Request(const std::string& job, const std::string& pool, std::vector<Need> needs);
  // Grants all requests that are possible now, in their order, and returns each grant once. Call it
  // after Request(), Release(), Set() and Remove().
  std::vector<Grant> GrantNext();
  // Returns the place that a task holds; null if it holds none.
  const Place* Held(const std::string& job, const std::string& task) const;
  // Releases the task's place, or removes it from the queue.
  void Release(const std::string& job, const std::string& task);
  // Records that a task of an earlier launcher holds this place, without checking it.
  void Restore(const std::string& job, const std::string& task, Place place);

  // Return the numbers of slots and of GPUs of a node that tasks hold.
  std::uint64_t SlotsUsed(const std::string& node) const;
  std::uint64_t GpusUsed(const std::string& node) const;
  // Returns a message that says why the job still waits: "waits for pool lab: no node has 2 free
  // GPUs (a has 1 of 4 free)", "waits for pool lab behind j-abcde", "waits for pool lab: node a is
  // away". Empty if it does not wait.
  std::string WhyWaiting(const std::string& job) const;
  // Returns the first `count` waiting jobs, in the order of their requests.
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
    // GPUs that the same job already holds here, for tasks with shares_gpus; not free.
    std::vector<std::string> shared = {};
    std::uint64_t milli_cpus = 0;
    std::uint64_t memory_bytes = 0;
  };
  using TaskKey = std::pair<std::string, std::string>;

  static Room Whole(const Node& node);
  // Returns the free part of each node of the pool that takes tasks.
  std::vector<Room> RoomsFor(const Unit& unit) const;
  bool Fits(const Need& need, const Room& room) const;
  static Place Take(const Need& need, Room& room);
  // Returns a place for each need, in their order; nullopt if there is not enough room.
  std::optional<std::vector<Place>> Fit(const std::vector<Need>& needs,
                                        std::vector<Room> rooms) const;
  // True if the request would fit if nothing ran. (A node that has never connected counts as large
  // enough.)
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

#ifndef LAUNCHER_SHARE_RESOURCES_H_
#define LAUNCHER_SHARE_RESOURCES_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "launcher/share/claims.h"

namespace launcher {

// Maximum amount of a resource that the launchers of several users share.
inline constexpr std::uint32_t kMaxSharedAmount = 128;

// A resource that tasks share.
struct Resource {
  std::string name;
  // The members of a set, in the order in which tasks get them. Empty if the resource is an amount.
  std::vector<std::string> members;
  std::uint32_t amount = 0;  // For a set, the number of members.

  bool is_set() const { return !members.empty(); }
  // Returns the text that ParseResource() reads.
  std::string ToString() const;
};

// Parses a resource. "slots=4" is an amount. A comma makes a set: "disk=a,b" has two members,
// "disk=a," has one. "gpu" is a set even without a comma: "gpu=0". InvalidArgument names the error
// in the text.
absl::StatusOr<Resource> ParseResource(const std::string& text);
// Parses several texts; InvalidArgument if a name occurs twice.
absl::StatusOr<std::vector<Resource>> ParseResources(const std::vector<std::string>& texts);

// Detects the resources of this machine that need no declaration: "gpu=0,1" if the folder `devices`
// has the device files nvidia0 and nvidia1; else none. `visible` is $CUDA_VISIBLE_DEVICES if it is
// set: then only the GPUs in it count, as CUDA reads it (up to the first entry that names no GPU,
// such as -1).
std::vector<std::string> LocalResources(const std::string& devices,
                                        const std::optional<std::string>& visible = std::nullopt);

// Decides which task may use which resources. Uses no clock and no system calls: the same calls
// give the same answers.
//
// All resources of one Request() are granted together or not at all: the tasks of a job wait for
// each other, so two jobs with the resources of half their tasks each would deadlock. First come,
// first served: no request gets any part of a resource for which an earlier request waits, so that
// later requests cannot starve a large one. Requests without a common resource do not wait for each
// other.
//
// ... of all devices, without regard to other programs on the machine. Here a task gets as many as
// it requests, and no other task, of this job or another, has them at the same time.
//
// Not thread-safe.
class Resources {
 public:
  // A request for an amount, or a number of members, of one resource.
  struct Wish {
    std::string name;
    std::uint32_t amount = 0;
  };
  struct TaskWishes {
    std::string task;  // "worker-0"
    std::vector<Wish> wishes;
  };
  // The part of one resource that a task holds.
  struct Given {
    std::string name;
    std::uint32_t amount = 0;
    std::vector<std::string> members;  // For a set.

    // Returns "gpu=0,1" or "slots=2".
    std::string ToString() const;
  };
  struct Grant {
    std::string job, task;
    std::vector<Given> given;  // In the order of the wishes.
  };

  // `there_is` lists the resources; their names are unique. `claims` handles resources that other
  // launchers of the machine share; null if no resource is shared. Not owned; outlives this.
  explicit Resources(std::vector<Resource> there_is, Claims* claims = nullptr);

  // FailedPrecondition, with the existing resources, if the tasks of one job can never hold all
  // their wishes at the same time. With `share_sets` all tasks of the job share the members of each
  // set: as many as the largest wish, and each task uses them from the first on.
  absl::Status Check(const std::vector<TaskWishes>& tasks, bool share_sets) const;

  // Queues wishes that Check() accepts: those of all tasks of a job that start together, in one
  // call. (A job that requests more while it holds resources may deadlock with another one that
  // does the same.)
  void Request(const std::string& job, std::vector<TaskWishes> tasks, bool share_sets);
  // Grants all requests that are possible now, in their order, and returns each grant once. Call it
  // after Request() and Release(), and periodically while WaitsForOthers() is not empty.
  std::vector<Grant> GrantNext();
  // Returns messages about the members that the last GrantNext() could not claim because other
  // launchers hold them; their release gives no notification. Empty if all requests wait only for
  // this launcher's own tasks.
  std::vector<std::string> WaitsForOthers() const;
  // The resources that the task has been granted and has not released; null if none.
  const std::vector<Given>* Held(const std::string& job, const std::string& task) const;
  // Returns the claimed members that the task holds: pairs of a resource and a member.
  std::vector<std::pair<std::string, std::string>> Claimed(const std::string& job,
                                                           const std::string& task) const;
  // Releases what the task holds, or removes it from the queue.
  void Release(const std::string& job, const std::string& task);

  // Records that a task of an earlier launcher holds `given` (in the form of Given::ToString())
  // according to the store. It is not checked: members that no longer exist are merely not granted
  // to others.
  void Restore(const std::string& job, const std::string& task,
               const std::vector<std::string>& given, bool share_sets);

  // Returns a message that says why the job still waits: "waits for gpu: 2 of 2 are used by
  // j-abcde/worker-0", or "waits for gpu behind j-abcde"; for a job of an earlier launcher that had
  // more resources, "cannot start: worker-0 asks for gpu=2, but there is gpu=0"; and for a member
  // that another launcher holds, "waits for gpu: gpu 0 is held by alice's trial lr-3 since 21:04".
  // Empty if it does not wait.
  std::string WhyWaiting(const std::string& job) const;
  // Returns the first `count` waiting jobs, in the order of their requests.
  std::vector<std::string> Waiting(std::size_t count) const;

 private:
  struct Pool {
    Resource what;
    std::map<std::string, std::uint64_t> users;  // "j-abcde/worker-0", or the job of a shared set.
    // Member to user; includes members that no longer exist.
    std::map<std::string, std::string> user_of;
    // For an amount that other launchers share: the slots that each user has claimed.
    std::map<std::string, std::vector<std::string>> slots;
    // Members claimed for the unit that GrantNext() is serving; else empty.
    std::deque<std::string> claimed;
    std::vector<std::string> elsewhere;  // Why the last GrantNext() could not claim members.

    // Returns the members (or slots) that no task of this launcher holds.
    std::vector<std::string> Candidates() const;
    std::uint64_t Used() const;
    std::uint64_t Free() const;
    void Take(const std::string& user, std::vector<std::string>* members, std::uint64_t count);
  };
  struct Unit {
    std::string job;
    std::vector<TaskWishes> tasks;
    bool share_sets = false;
  };
  // The members of a set that all tasks of a job share, and the tasks that use them.
  struct Shared {
    std::vector<std::string> members;
    std::set<std::string> tasks;
  };
  using TaskKey = std::pair<std::string, std::string>;

  // Returns how much of each resource the unit needs beyond the members that its job already
  // shares.
  std::map<std::string, std::uint64_t> Needs(const Unit& unit) const;
  bool Fits(const std::map<std::string, std::uint64_t>& needs) const;
  bool IsShared(const std::string& resource) const;
  bool ClaimAll(const std::string& job, const std::map<std::string, std::uint64_t>& needs);
  void Reclaim(const std::string& job, const std::string& user, const Resource& given);
  Grant Give(const Unit& unit, const TaskWishes& task);
  Given GiveOne(const Unit& unit, const std::string& task, const Wish& wish);
  void TakeBack(const std::string& job, const std::string& task, const Given& given);
  std::string Users(const Pool& pool) const;
  std::string ThereIs() const;

  Claims* const claims_;
  std::map<std::string, Pool> pools_;
  std::deque<Unit> queue_;
  std::map<TaskKey, std::vector<Given>> held_;
  std::map<TaskKey, Shared> shared_;  // By job and resource.
};

}  // namespace launcher

#endif  // LAUNCHER_SHARE_RESOURCES_H_

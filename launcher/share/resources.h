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

// The largest amount of a resource that launchers of several users share.
inline constexpr std::uint32_t kMaxSharedAmount = 128;

// Something that tasks have to share.
struct Resource {
  std::string name;
  // The members of a set, in the order in which they are given to tasks. Empty: the resource is an
  // amount.
  std::vector<std::string> members;
  std::uint32_t amount = 0;  // For a set, the number of members.

  bool is_set() const { return !members.empty(); }
  // As ParseResource() reads it.
  std::string ToString() const;
};

// "slots=4" is an amount. A comma makes a set: "disk=a,b" has two members, "disk=a," has one. "gpu"
// is a set without it too: "gpu=0". InvalidArgument says what is wrong with the text.
absl::StatusOr<Resource> ParseResource(const std::string& text);
// Parses several texts, and refuses a name that is there twice.
absl::StatusOr<std::vector<Resource>> ParseResources(const std::vector<std::string>& texts);

// Resources of this machine that nobody has to declare: "gpu=0,1" if `devices` has the device files
// nvidia0 and nvidia1; else nothing. `visible` is $CUDA_VISIBLE_DEVICES, if it is set: then only
// the GPUs that it names count, as CUDA reads it (up to the first entry that names no GPU, such as
// -1).
std::vector<std::string> LocalResources(const std::string& devices,
                                        const std::optional<std::string>& visible = std::nullopt);

// Decides which task may use which resources, without a clock or system calls: the same calls give
// the same answers.
//
// All resources that one call asks for are granted together or not at all: the tasks of a job wait
// for each other, and two jobs with half of their tasks each would wait for ever. First come, first
// served: no request gets anything of a resource for which an earlier request waits, so that a
// large request is served as soon as the tasks before it have ended, whatever comes after it.
// Requests that have no resource in common do not wait for each other.
//
// TensorFlow's runner with share_gpu=False gives worker `i` of `n` the devices i, i + n, i + 2n,
// ... of all there are, without knowing of other programs on the machine. Here a task gets as many
// as it asks for, and nobody else has them while it does, of this job or another.
//
// One thread.
class Resources {
 public:
  struct Wish {
    std::string name;
    std::uint32_t amount = 0;
  };
  struct TaskWishes {
    std::string task;  // "worker-0"
    std::vector<Wish> wishes;
  };
  // The part of one resource that a task has.
  struct Given {
    std::string name;
    std::uint32_t amount = 0;
    std::vector<std::string> members;  // For a set.

    // "gpu=0,1" or "slots=2"
    std::string ToString() const;
  };
  struct Grant {
    std::string job, task;
    std::vector<Given> given;  // In the order of the wishes.
  };

  // The names are different ones. `claims`: what other launchers of the machine may have, too; null
  // if nothing. Not owned; outlives this.
  explicit Resources(std::vector<Resource> there_is, Claims* claims = nullptr);

  // FailedPrecondition if the tasks of one job could never have all this at once, naming what there
  // is. With `share_sets` all tasks of the job have the same members of each set: those that the
  // one with the largest wish gets, from the first on.
  absl::Status Check(const std::vector<TaskWishes>& tasks, bool share_sets) const;

  // Queues what Check() accepts: all tasks of a job, or those that start anew. Ask for all at once:
  // a job that asks for more while it holds something may wait for another one that does the same.
  void Request(const std::string& job, std::vector<TaskWishes> tasks, bool share_sets);
  // Grants that are possible now, in the order of the requests; each grant once. To be called after
  // Request() and Release(), and again and again while something waits for others.
  std::vector<Grant> GrantNext();
  // Why members could not be had of others when GrantNext() looked for somebody, in words. Nobody
  // tells when they are given back. Empty: all that wait wait for this launcher's own tasks.
  std::vector<std::string> WaitsForOthers() const;
  // The resources that the task has been granted and has not released; null if none.
  const std::vector<Given>* Held(const std::string& job, const std::string& task) const;
  // Claimed members that the task has: names of resources and of their members.
  std::vector<std::pair<std::string, std::string>> Claimed(const std::string& job,
                                                           const std::string& task) const;
  // The task is over, or no longer waits.
  void Release(const std::string& job, const std::string& task);

  // A task of an earlier launcher has this by what the store says, in the form of
  // Given::ToString(). It is believed: what is no longer there is only not given to
  // others.
  void Restore(const std::string& job, const std::string& task,
               const std::vector<std::string>& given, bool share_sets);

  // Why the job still waits, for people: "waits for gpu: 2 of 2 are used by j-abcde/worker-0", or
  // "waits for gpu behind j-abcde"; or, of a job of an earlier launcher that had more, "cannot
  // start: worker-0 asks for gpu=2, but there is gpu=0"; or, of others, "waits for gpu: gpu 0 is
  // held by alice's trial lr-3 since 21:04". Empty if it does not.
  std::string WhyWaiting(const std::string& job) const;
  // The first `count` jobs that wait, in the order in which they asked.
  std::vector<std::string> Waiting(std::size_t count) const;

 private:
  struct Pool {
    Resource what;
    std::map<std::string, std::uint64_t> users;  // "j-abcde/worker-0", or the job of a shared set.
    std::map<std::string, std::string> user_of;  // Member to user; also of those not there.
    // The slots that each user has claimed of an amount that others share.
    std::map<std::string, std::vector<std::string>> slots;
    std::deque<std::string> claimed;     // For the unit that is served; else empty.
    std::vector<std::string> elsewhere;  // Why members could not be had, of the last GrantNext().

    // Members (or slots) that no task of ours has.
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
  // The members of a set that all tasks of a job share.
  struct Shared {
    std::vector<std::string> members;
    std::set<std::string> tasks;
  };
  using TaskKey = std::pair<std::string, std::string>;

  // How much of each resource it needs beyond what its job shares already.
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

#ifndef LAUNCHER_SHARE_BARRIERS_H_
#define LAUNCHER_SHARE_BARRIERS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace launcher {

// The named barriers of one job's tasks: each waits until all parties of a barrier have come. No
// clock: `now` comes in, and the same calls give the same answers.
//
// A barrier can be used again and again: when all have come, its next round begins. It is broken,
// for everybody who waits and everybody who comes, when the time of one who waits is over or a
// party ends, until Reset(). The barrier of TensorFlow's runner, and more: that one is for all
// tasks, has no time-out, and waits for ever for a task that is gone.
//
// One thread.
class Barriers {
 public:
  static constexpr std::size_t kMaxBarriers = 1000;  // At which somebody waits, or that are broken.
  static constexpr std::size_t kMaxName = 128;

  // The caller's number for a request, to know whom an answer is for.
  using Ticket = std::uint64_t;
  struct Answer {
    Ticket ticket = 0;
    // The place in which the task came, from 0. FailedPrecondition says what broke the barrier;
    // DeadlineExceeded for the task whose time was over.
    absl::StatusOr<int> place;
  };
  struct Arrival {
    Ticket ticket = 0;
    // An id that was told before marks the same arrival, told again because its answer was lost.
    // Empty: never an arrival that was told before.
    std::string id;
    std::string task;  // "worker-0"
    std::string name;
    // "worker-0", or "worker" for all of a type; empty: every task.
    std::vector<std::string> parties;
    absl::Duration timeout = absl::InfiniteDuration();  // So is zero.
  };

  // All tasks of the job.
  explicit Barriers(const std::vector<std::string>& tasks);

  // Returns the answers that there are now. A task that waits already, and comes again, counts
  // once, and both requests are answered. InvalidArgument for a task or parties that the job does
  // not have, a caller who is not among them, or others than those who wait have named;
  // ResourceExhausted at the limits.
  std::vector<Answer> Arrive(const Arrival& arrival, absl::Duration now);
  // Breaks the barriers at which somebody's time is over.
  std::vector<Answer> Expire(absl::Duration now);
  // When Expire() has something to do.
  absl::Duration NextTimeout() const;

  // It will not come any more. `how`: "exit code 3".
  std::vector<Answer> TaskEnded(const std::string& task, const std::string& how);
  // It runs (again). A barrier that its end has broken stays broken.
  void TaskStarted(const std::string& task);
  // The job starts anew: all barriers and ends are forgotten. Tasks that wait at a barrier are
  // answered with Cancelled.
  std::vector<Answer> Reset();

 private:
  struct Waiting {
    std::string id;
    int place = 0;
    std::vector<Ticket> tickets;
    absl::Duration since, until;
  };
  struct Barrier {
    std::vector<int> parties;        // The parties of this round; sorted.
    std::map<int, Waiting> waiting;  // By party.
    struct Past {
      std::string id;
      int place = 0;
    };
    std::map<int, Past> past;  // By party: its place in the last round that it was in.
    absl::Status broken;       // OK: it is not.
    std::uint64_t used = 0;

    bool IsIdle() const { return waiting.empty() && broken.ok(); }
  };

  absl::StatusOr<std::vector<int>> Parties(const std::vector<std::string>& names) const;
  absl::StatusOr<Barrier*> Find(const std::string& name);
  absl::Status CheckParties(const Arrival& arrival, int task, const std::vector<int>& parties,
                            const Barrier& barrier) const;
  std::string Names(const std::vector<int>& tasks) const;
  static std::vector<Answer> Complete(Barrier& barrier);
  static std::vector<Answer> Break(const std::string& name, Barrier& barrier,
                                   const std::string& why);

  std::vector<std::string> tasks_;
  std::map<std::string, int> by_name_;
  std::map<std::string, std::vector<int>> by_type_;
  std::map<std::string, Barrier> barriers_;
  std::map<int, std::string> ended_;  // How each ended task has ended.
  std::uint64_t last_use_ = 0;
};

}  // namespace launcher

#endif  // LAUNCHER_SHARE_BARRIERS_H_

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

// The named barriers of one job: each task waits until all parties of the barrier have arrived. Has
// no clock: the caller passes `now`, and the same calls give the same answers.
//
// A barrier is reusable: when all parties have arrived, its next round begins. When a waiting task
// times out or a party ends, the barrier is broken, for all waiting and all later arrivals, until
// Reset(). Extends the barrier of TensorFlow's runner, which is for all tasks, has no time-out, and
// waits for ever for a task that has ended.
//
// Not thread-safe.
class Barriers {
 public:
  // Limit of barriers that are broken or at which a task waits.
  static constexpr std::size_t kMaxBarriers = 1000;
  static constexpr std::size_t kMaxName = 128;

  // The caller's number of a request, which identifies the answer to it.
  using Ticket = std::uint64_t;
  struct Answer {
    Ticket ticket = 0;
    // The task's position in the order of arrival, from 0. FailedPrecondition says what broke the
    // barrier; DeadlineExceeded for the task that timed out.
    absl::StatusOr<int> place;
  };
  struct Arrival {
    Ticket ticket = 0;
    // Identifies the arrival: a request with an id that was used before repeats that arrival,
    // because its answer was lost. If empty, the request is always a new arrival.
    std::string id;
    std::string task;  // "worker-0"
    std::string name;
    // "worker-0", or "worker" for all tasks of a type; empty for every task.
    std::vector<std::string> parties;
    absl::Duration timeout = absl::InfiniteDuration();  // Zero is infinite, too.
  };

  // `tasks` are the names of all tasks of the job.
  explicit Barriers(const std::vector<std::string>& tasks);

  // Handles an arrival, and returns the answers that are now possible. A task that arrives again
  // while it waits counts once, and both requests are answered. An answer is InvalidArgument if the
  // job does not have the task or the parties, if the task is not among the parties, or if the
  // parties differ from those of the waiting tasks; ResourceExhausted at the limits.
  std::vector<Answer> Arrive(const Arrival& arrival, absl::Duration now);
  // Breaks the barriers at which a waiting task has timed out.
  std::vector<Answer> Expire(absl::Duration now);
  // Returns the time at which Expire() has something to do.
  absl::Duration NextTimeout() const;

  // The task has ended and will not arrive at any barrier. `how` is, for example, "exit code 3".
  std::vector<Answer> TaskEnded(const std::string& task, const std::string& how);
  // The task runs, or runs again. A barrier that its end has broken stays broken.
  void TaskStarted(const std::string& task);
  // The job starts anew: forgets all barriers and ended tasks. Waiting tasks are answered with
  // Cancelled.
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
    std::map<int, Past> past;  // By party: its answer in the last round that it took part in.
    absl::Status broken;       // Why the barrier is broken; OK if it is not.
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

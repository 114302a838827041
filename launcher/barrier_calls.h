#ifndef LAUNCHER_BARRIER_CALLS_H_
#define LAUNCHER_BARRIER_CALLS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/schema/launcher_generated.h"
#include "launcher/run/job_table.h"
#include "launcher/share/barriers.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"
#include "runtime/timer.h"

namespace launcher {

// The barriers of all jobs (barriers.h), which are kept informed of the starts and ends of their
// tasks. A restart of the launcher loses the waiting tasks: their callers and shims repeat the
// requests. Use on the loop's thread.
class BarrierCalls {
 public:
  // Gets the task's position in the order of arrival, from 0, or the error.
  using Done = std::function<void(absl::StatusOr<int>)>;
  // The table, the loop and the clock are not owned and outlive this object.
  BarrierCalls(JobTable* table, runtime::EventLoop* loop, runtime::Clock* clock)
      : table_(table), loop_(loop), clock_(clock) {}
  ~BarrierCalls();
  BarrierCalls(const BarrierCalls&) = delete;
  BarrierCalls& operator=(const BarrierCalls&) = delete;

  // A task arrives at a barrier and waits for at most `longest`, regardless of the request. A
  // repeated call has the same `id`. Calls `done` once, possibly before Arrive() returns.
  // InvalidArgument names the field.
  void Arrive(const std::string& id, const msg::BarrierRequestT& request, absl::Duration longest,
              Done done);
  // Does the same for a line of the report channel (barrier_line.h), which waits until its time-out
  // or the end of the job; `answer` gets the line for the program.
  void ArriveByLine(const std::string& id, const std::string& task, std::string_view line,
                    std::function<void(std::string)> answer);
  // Number of jobs whose tasks wait, or have waited, at a barrier.
  std::size_t jobs() const { return jobs_.size(); }

 private:
  struct Job {
    explicit Job(const std::vector<std::string>& tasks) : barriers(tasks), known(tasks.size()) {}
    struct Known {
      int attempt = 0;
      bool has_ended = false;
    };
    Barriers barriers;
    std::vector<Known> known;  // By rank; the state at the last Look().
    int restarts = 0;          // Number of restarts of the gang.
    std::map<Barriers::Ticket, Done> waiting;
    JobTable::ObserverId observer = 0;
    runtime::Timer timer;
  };

  Job& Find(const JobRow& row);
  void Look(const std::string& id);
  void Answer(const std::string& id, std::vector<Barriers::Answer> answers);
  void SetTimer(const std::string& id);
  void Forget(const std::string& id);

  JobTable* const table_;
  runtime::EventLoop* const loop_;
  runtime::Clock* const clock_;
  std::map<std::string, std::unique_ptr<Job>> jobs_;
  Barriers::Ticket last_ticket_ = 0;
};

}  // namespace launcher

#endif  // LAUNCHER_BARRIER_CALLS_H_

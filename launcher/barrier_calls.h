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

// The barriers of all jobs (barriers.h). Each is told when tasks of its job start and end. A
// restart of the launcher forgets the tasks that wait at a barrier: their callers and shims ask
// again. Use on the loop's thread.
class BarrierCalls {
 public:
  // Gets the place in which the task came, from 0, or the reason why it waits in vain.
  using Done = std::function<void(absl::StatusOr<int>)>;
  // The table, the loop and the clock must outlive the object.
  BarrierCalls(JobTable* table, runtime::EventLoop* loop, runtime::Clock* clock)
      : table_(table), loop_(loop), clock_(clock) {}
  ~BarrierCalls();
  BarrierCalls(const BarrierCalls&) = delete;
  BarrierCalls& operator=(const BarrierCalls&) = delete;

  // A task is at a barrier, for at most `longest` whatever the request says. `id` is the same when
  // the call is made again. `done` is called once, maybe at once. InvalidArgument names the field.
  void Arrive(const std::string& id, const msg::BarrierRequestT& request, absl::Duration longest,
              Done done);
  // The same for a line of the report channel (barrier_line.h), until its time is over or the job
  // ends; `answer` gets the line for the program.
  void ArriveByLine(const std::string& id, const std::string& task, std::string_view line,
                    std::function<void(std::string)> answer);
  std::size_t jobs() const { return jobs_.size(); }  // Jobs whose tasks wait, or waited, at one.

 private:
  struct Job {
    explicit Job(const std::vector<std::string>& tasks) : barriers(tasks), known(tasks.size()) {}
    struct Known {
      int attempt = 0;
      bool has_ended = false;
    };
    Barriers barriers;
    std::vector<Known> known;  // By rank; as of the last Look().
    int restarts = 0;          // How often the gang has restarted.
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

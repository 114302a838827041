#ifndef TRAINER_TABLE_SYSTEM_CURVES_H_
#define TRAINER_TABLE_SYSTEM_CURVES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/schema/launcher_generated.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"
#include "runtime/timer.h"
#include "trainer/attempt/attempt_usage.h"
#include "trainer/run/system_file.h"
#include "trainer/table/trial_table.h"
#include "trainer/trial/trial.h"

namespace trainer {

// Asks the launcher, every few seconds while a trial runs, what the tasks of all trials use, and
// appends that to the runs' system files. The step of a point is that of the trial's newest report
// (0 before there is one), its time that of the measurement. A metric that the program itself
// reports under such a name is the program's.
//
// Nothing of it keeps a report waiting for the launcher, and nothing of it fails a trial: what
// cannot be measured or written is left out, and logged once a trial. On the loop's thread; blocks
// for the disk of the runs.
class SystemCurves {
 public:
  // A young run has a point so often, an older one each thousandth of its age, at least one a
  // minute: 20 MB a month at most.
  static constexpr absl::Duration kEvery = absl::Seconds(5);
  static constexpr absl::Duration kSeldom = absl::Minutes(1);

  using Usage = std::function<void(absl::StatusOr<msg::UsageReplyT>)>;
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned, as the next two; all outlive it.
    runtime::Clock* clock = nullptr;
    TrialTable* table = nullptr;
    // Asks; `done` is called on the loop's thread, once. Unset: nothing is measured.
    std::function<void(Usage done)> ask = {};
  };
  explicit SystemCurves(Options options) : options_(std::move(options)) {}
  ~SystemCurves() { *alive_ = false; }
  SystemCurves(const SystemCurves&) = delete;
  SystemCurves& operator=(const SystemCurves&) = delete;

  // A trial runs from now on.
  void Watch();
  // Repairs what an earlier trainer has left of the trial's file.
  void Repair(const Trial& trial);

 private:
  struct Curves {
    Curves(const TrialRecord& record, std::string of_job)
        : job(std::move(of_job)), file(record.spec.run_directory, record.run) {}
    const std::string job;
    AttemptUsage usage;
    SystemFile file;
    absl::Duration due;  // Monotonic.
    bool has_failed = false;
  };

  void LookAfter(absl::Duration delay);
  void Look();
  void Take(const msg::UsageReplyT& usage);
  void TakeOf(const Trial& trial, const msg::UsageReplyT& usage,
              const std::vector<const msg::TaskUsageT*>& tasks, Curves& curves);

  const Options options_;
  std::map<std::int64_t, std::unique_ptr<Curves>> curves_;  // By the trial's number.
  runtime::Timer timer_;
  bool asks_ = false;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace trainer

#endif  // TRAINER_TABLE_SYSTEM_CURVES_H_

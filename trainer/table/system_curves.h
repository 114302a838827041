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

// While trials run, asks the launcher every few seconds what the tasks of all trials use, and
// appends the measurements to the runs' system files. The step of a point is the step of the
// trial's newest report (0 before the first), its time is that of the measurement. If the program
// itself reports a metric of the same name, the measured one is left out.
//
// A report never waits for these measurements, and they never fail a trial: values that cannot be
// measured or written are dropped, and logged once for each trial. Use it on the loop's thread;
// blocks for the disk of the runs.
class SystemCurves {
 public:
  // Intervals between two points: kEvery for a young run, later a thousandth of its age, at most
  // kSeldom. That is at most 20 MB a month.
  static constexpr absl::Duration kEvery = absl::Seconds(5);
  static constexpr absl::Duration kSeldom = absl::Minutes(1);

  using Usage = std::function<void(absl::StatusOr<msg::UsageReplyT>)>;
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned, nor are the next two; all outlive this.
    runtime::Clock* clock = nullptr;
    TrialTable* table = nullptr;
    // Measures; calls `done` once, on the loop's thread. If unset, nothing is measured.
    std::function<void(Usage done)> ask = {};
  };
  explicit SystemCurves(Options options) : options_(std::move(options)) {}
  ~SystemCurves() { *alive_ = false; }
  SystemCurves(const SystemCurves&) = delete;
  SystemCurves& operator=(const SystemCurves&) = delete;

  // Call it when a trial starts to run.
  void Watch();
  // Repairs the trial's file after an earlier trainer.
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

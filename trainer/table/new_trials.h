#ifndef TRAINER_TABLE_NEW_TRIALS_H_
#define TRAINER_TABLE_NEW_TRIALS_H_

#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/schema/trainer_generated.h"
#include "runtime/clock.h"
#include "trainer/report/line_receiver.h"
#include "trainer/store/trial_record.h"
#include "trainer/table/trial_table.h"

namespace trainer {

// Makes the records of new trials: checks the request, chooses the name, and resolves references to
// other trials. Stores nothing and creates no directory. Use it on the loop's thread; blocks for
// the disk.
class NewTrials {
 public:
  struct Options {
    const TrialTable* table = nullptr;  // Not owned, nor is the clock; both outlive this.
    const runtime::Clock* clock = nullptr;
    std::string logdir;  // As in Trials::Options, like the next.
    std::string hostname;
    // See Trials::Get().
    std::function<absl::StatusOr<msg::TrialT>(const std::string& id)> get;
  };
  explicit NewTrials(Options options) : options_(std::move(options)) {}

  // See Trials::Run() for the errors.
  absl::StatusOr<TrialRecord> FromRequest(const std::string& request_id,
                                          const msg::RunTrialRequestT& request) const;
  // For a process that attached itself; see LineReceiver::Attach() for the errors.
  absl::StatusOr<TrialRecord> FromAttached(const AttachRequest& attach) const;

 private:
  absl::StatusOr<TrialSpec> NewSpec(const msg::RunTrialRequestT& request,
                                    const std::string& id) const;
  absl::Status CheckNameIsFree(const TrialSpec& spec) const;
  absl::Status FindOthers(TrialSpec& spec) const;
  absl::Status CheckStart(TrialSpec& spec) const;
  // Returns the reason if a trial of its group with fail_fast has failed; otherwise empty.
  std::string WhyItsGroupIsPaused(const TrialRecord& record) const;
  TrialRecord NewRecord(const std::string& id, const std::string& request_id, TrialSpec spec) const;

  const Options options_;
};

}  // namespace trainer

#endif  // TRAINER_TABLE_NEW_TRIALS_H_

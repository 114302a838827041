#ifndef TRAINER_TABLE_TRIAL_FILES_H_
#define TRAINER_TABLE_TRIAL_FILES_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"
#include "trainer/store/trial_record.h"
#include "trainer/store/trial_store.h"
#include "trainer/table/trial_news.h"
#include "trainer/table/trial_table.h"
#include "trainer/trial/life.h"
#include "trainer/trial/trial.h"

namespace trainer {

// Writes the parts of a trial's request that belong in its directory: configuration, provenance and
// annotations. Leaves files that match the record unchanged.
absl::Status WriteConfiguration(const TrialRecord& record);
// Writes only the annotations, and logs an error. An earlier trainer may have been killed between
// the write to the store and the write to the file.
void RepairAnnotations(const TrialRecord& record);

// Completes the files of a trial before it is left alone: at the end of its attempts; later, if it
// ended while the disk was full, before a power failure, or just before the last trainer was
// killed. An error other than a full disk is logged and not retried. (Ray Tune's loggers just close
// their files.) Use it on the loop's thread; blocks for the disk.
class TrialFiles {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned, nor are the four below; all outlive this.
    const runtime::Clock* clock = nullptr;
    TrialStore* store = nullptr;
    TrialTable* table = nullptr;
    TrialNews* news = nullptr;
    // Returns true while the trial's record is not stored.
    std::function<bool(std::int64_t trial)> is_unsaved;
    std::function<void()> finish_later;  // FinishLate() must be called after a while.
    std::function<void()> on_store_error;
    std::function<void(std::string_view point)> fault = {};  // See Trials::Options.
  };
  explicit TrialFiles(Options options) : options_(std::move(options)) {}
  ~TrialFiles() { *alive_ = false; }
  TrialFiles(const TrialFiles&) = delete;
  TrialFiles& operator=(const TrialFiles&) = delete;

  // Updates rows and configuration.
  void BringUpToDate(Trial& trial);
  // Updates only the configuration. ResourceExhausted: there is no room, and the trial's lines
  // wait. Any other error is logged, and the next attempt's start writes the file again.
  absl::Status WriteChangedConfiguration(Trial& trial);
  // Stores why an attempt has failed, and writes error.txt. Call it before its end is stored; a
  // trainer that finds the end not stored calls it again, which changes nothing.
  void RecordFailure(const TrialRecord& record, const action::RecordFailure& failed);
  void WriteErrorFile(const TrialRecord& record);
  // Call it once the state is stored, so that the file is never ahead of the store.
  void WriteOutcome(const TrialRecord& record);

  // Writes the failures and files that lacked room before.
  void FinishLate();
  bool IsLate(std::int64_t trial) const { return late_.contains(trial); }
  // Call it when the trial is forgotten.
  void Drop(std::int64_t trial) { late_.erase(trial); }

  // Adds an ended trial of an earlier trainer, whose files CheckEnded() checks.
  void AddUnchecked(std::int64_t trial) { unchecked_.push_back(trial); }
  // Repairs the files of the added trials unless they live again: some now, the others in later
  // turns of the loop.
  void CheckEnded();

 private:
  void WriteLate(std::int64_t trial);
  void FinishFilesOf(std::set<std::int64_t> late);
  void Check(std::int64_t trial);
  bool HasShortFiles(const TrialRecord& record) const;
  void Fault(std::string_view point);

  const Options options_;
  std::deque<std::int64_t> unchecked_;
  // Pending writes that lacked room: failures, and files of ended trials.
  std::vector<std::pair<std::int64_t, AttemptFailure>> unsaved_failures_;
  std::set<std::int64_t> late_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace trainer

#endif  // TRAINER_TABLE_TRIAL_FILES_H_

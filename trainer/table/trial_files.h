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

// Writes what a trial was asked for into its directory: its configuration, provenance and
// annotations. A file that agrees with the record stays as it is.
absl::Status WriteConfiguration(const TrialRecord& record);
// The annotations alone, with a log line for an error: a trainer may have been killed between the
// store and the file.
void RepairAnnotations(const TrialRecord& record);

// Puts the files of a trial right before nobody looks at them again: at the end of its attempts,
// and, for one that ended while the disk was full, before a loss of power, or just before the last
// trainer was killed, later. An error that is not a full disk is logged and stands. (Ray Tune's
// loggers close their files and leave it at that.) On the loop's thread; blocks for the disk.
class TrialFiles {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned, as the four below; all outlive it.
    const runtime::Clock* clock = nullptr;
    TrialStore* store = nullptr;
    TrialTable* table = nullptr;
    TrialNews* news = nullptr;
    // True while the store does not have the trial's record.
    std::function<bool(std::int64_t trial)> is_unsaved;
    std::function<void()> finish_later;  // FinishLate() is to be called after a while.
    std::function<void()> on_store_error;
    std::function<void(std::string_view point)> fault = {};  // See Trials::Options.
  };
  explicit TrialFiles(Options options) : options_(std::move(options)) {}
  ~TrialFiles() { *alive_ = false; }
  TrialFiles(const TrialFiles&) = delete;
  TrialFiles& operator=(const TrialFiles&) = delete;

  // Rows and configuration.
  void BringUpToDate(Trial& trial);
  // The configuration alone. ResourceExhausted: its lines wait while there is no room. Any other
  // error passes by the next attempt's start.
  absl::Status WriteChangedConfiguration(Trial& trial);
  // Stores why an attempt has failed, and writes error.txt. Before its end is stored: done again by
  // a trainer that finds it not stored.
  void RecordFailure(const TrialRecord& record, const action::RecordFailure& failed);
  void WriteErrorFile(const TrialRecord& record);
  // After the state is stored, so that the file never says what the store does not.
  void WriteOutcome(const TrialRecord& record);

  // Writes the failures and files for which there was no room before.
  void FinishLate();
  bool IsLate(std::int64_t trial) const { return late_.contains(trial); }
  // The trial is forgotten.
  void Drop(std::int64_t trial) { late_.erase(trial); }

  // For an ended trial of an earlier trainer: CheckEnded() looks at its files.
  void AddUnchecked(std::int64_t trial) { unchecked_.push_back(trial); }
  // Puts right the files of those that were added and have not gone on: some now, the others in
  // later turns of the loop.
  void CheckEnded();

 private:
  void WriteLate(std::int64_t trial);
  void FinishFilesOf(std::set<std::int64_t> late);
  void Check(std::int64_t trial);
  bool HasShortFiles(const TrialRecord& record) const;
  void Fault(std::string_view point);

  const Options options_;
  std::deque<std::int64_t> unchecked_;
  // Writes for which there was no room: failures, and files of trials that nobody looks at again.
  std::vector<std::pair<std::int64_t, AttemptFailure>> unsaved_failures_;
  std::set<std::int64_t> late_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace trainer

#endif  // TRAINER_TABLE_TRIAL_FILES_H_

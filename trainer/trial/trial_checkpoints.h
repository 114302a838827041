#ifndef TRAINER_TRIAL_TRIAL_CHECKPOINTS_H_
#define TRAINER_TRIAL_TRIAL_CHECKPOINTS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/checkpoint/checkpoint_directory.h"
#include "trainer/checkpoint/checkpoint_preparation.h"
#include "trainer/checkpoint/checkpoint_row.h"
#include "trainer/report/result_row.h"
#include "trainer/run/result_files.h"
#include "trainer/store/trial_record.h"
#include "trainer/store/trial_store.h"

namespace trainer {

// The checkpoints of one trial: those its program saves, which of them stay, and the one an attempt
// starts from. On the loop's thread, which waits for the disk: to commit what was not prepared
// takes seconds for a gigabyte, and holds up the answers to other trials.
//
// ResourceExhausted is a lack of room that may end: it can be tried again.
//
// A checkpoint is whole on disk before its row is stored, and its row is stored before the program
// is answered. A line that comes again because the trainer was killed in between finds what it
// committed by the attempt and line in the checkpoint's metadata, so it counts once.
class TrialCheckpoints {
 public:
  struct Options {
    TrialStore* store = nullptr;  // Not owned; outlives it.
    std::function<void(std::string_view point)> fault = {};
    // Another trial is still to start from what lies in that directory. Unset: none is.
    std::function<bool(const std::string& directory)> is_referenced = {};
  };
  TrialCheckpoints(const TrialRecord& trial, Options options);

  // The line that commits a checkpoint, and what was done until there.
  struct Moment {
    int attempt = 0;
    std::int64_t line = 0;
    std::int64_t number = 0;  // Number of the next checkpoint.
    std::int64_t iteration = 0;
    std::int64_t time_total_us = 0;
    std::optional<std::int64_t> timesteps_total, episodes_total;
    std::int64_t wall_time_us = 0;
    std::optional<double> score;
    std::string start;  // The directory that the attempt started from.
  };
  // The value of the trial's checkpoint_metric (any field of result.json) for a checkpoint at that
  // iteration, where `report` is the last report before it; unset if the report has no such number.
  std::optional<double> ScoreOf(const ResultRow& report, std::int64_t iteration) const;

  // A directory for the program to write into. Its name will be that of `step`, else that of the
  // iteration at its commit. FailedPrecondition if the program began many and committed none.
  absl::StatusOr<std::string> Begin(std::optional<std::int64_t> step) const;
  // Commits the directory that Begin() gave; the row is still to be stored. InvalidArgument and
  // NotFound: it is none of those.
  absl::StatusOr<CheckpointRow> End(const std::string& path, const Moment& moment,
                                    const PreparedCheckpoint& prepared = {}) const;
  // Removes the directory that Begin() gave, of a checkpoint that will not be committed. Another
  // path, and the directory that the attempt started from, stay.
  void Abandon(const std::string& path, const std::string& start) const;
  // Returns the checkpoint for a directory inside the run that a report names. A directory
  // committed before, stored or in `batch`, is that checkpoint, with its own number; one that
  // Begin() gave is committed; any other is copied and the copy committed, for `step`, or the
  // iteration if that is negative.
  absl::StatusOr<CheckpointRow> Named(const std::string& path, std::int64_t step,
                                      const Moment& moment, const StoreBatch& batch,
                                      const PreparedCheckpoint& prepared = {}) const;
  // The long part of End(), or with a step of Named(): for any thread, once. None if there is
  // nothing to read: it was committed before, or cannot be.
  CheckpointPreparation::Work LongPart(const std::string& path, std::optional<std::int64_t> step,
                                       const Moment& moment, const StoreBatch& batch) const;
  std::string DirectoryOf(const CheckpointRow& row) const;

  // The checkpoint belongs to that report, which came after its commit: its counters, and its
  // score. Belong() is of the row, WriteCountersOf() of the directory, once the row is stored.
  void Belong(const ResultRow& report, CheckpointRow& checkpoint) const;
  absl::Status WriteCountersOf(const CheckpointRow& checkpoint, const ResultRow& report) const;
  // The checkpoints of an attempt about which no report has decided.
  absl::StatusOr<std::vector<CheckpointRow>> Pending(int attempt) const;

  // Removes what the trial's keep_checkpoints and checkpoint_bytes let go, but never what `start`
  // lies in, nor what is referenced. A checkpoint that cannot be removed stays known, and its
  // removal is tried again with the next checkpoint.
  absl::Status RemoveSurplus(const std::string& start) const;
  // Removes all of them, of a trial that has ended.
  absl::Status RemoveAll() const;

  // Where an attempt starts.
  struct Start {
    std::string directory;  // Empty: from nothing.
    std::int64_t iteration = 0;
    std::int64_t time_total_us = 0;
    std::string copy = {};  // The temporary checkpoint that it lies in, if it is one.
  };
  // The checkpoints that an attempt may start from; the first whole one counts. A checkpoint that
  // is damaged or cannot be read is passed over, and its files stay.
  struct Candidates {
    std::vector<CheckpointRow> own;  // Newest first.
    // Where an earlier attempt began: in what was copied for it, whose source may be gone, or
    // another one, by now.
    std::string before;
    std::string restore;  // A path in any checkpoint; empty: none.
    std::string from;     // Another trial; empty: none.
    bool from_is_gone = false;
    std::vector<CheckpointRow> theirs;  // Checkpoints of that trial, newest first.
    std::string their_directory;

    // There is nothing to read.
    bool empty() const;
  };
  struct Choice {
    Start start;
    std::string copy = {};  // The temporary checkpoint that was made for it; empty: none.
    std::optional<CheckpointRow> own;
    std::vector<CheckpointRow> damaged = {};  // To be forgotten.
  };
  // The candidates for the next start; the caller fills in the fields about the other trial.
  absl::StatusOr<Candidates> CandidatesOf(const TrialRecord& trial) const;
  absl::StatusOr<std::vector<CheckpointRow>> All() const;
  // Reads, verifies and copies, as long as that takes; what earlier attempts left half-done is
  // removed before. For any thread, while no program of the trial runs. ResourceExhausted and
  // Unavailable: it can be tried again.
  Preparation<Choice>::Work LongPartOfStart(const Candidates& candidates) const;
  // The rest of it.
  absl::StatusOr<Start> Conclude(const Choice& choice) const;
  // The totals counted until the checkpoint that `start` lies in; unset if its metadata lacks them.
  struct Counted {
    std::optional<std::int64_t> timesteps_total, episodes_total;
  };
  static Counted CountedUntil(const std::string& start);
  // Removes the temporary checkpoints that crashes and earlier attempts left half-done, except
  // `but`. Call it while no program of the trial runs.
  absl::Status RemoveTemporaries(const std::string& but = "") const;

 private:
  absl::StatusOr<Choice> Choose(const Candidates& candidates) const;
  // The first that is whole; what is before it is damaged. Touches nothing but files.
  absl::StatusOr<std::optional<CheckpointRow>> FirstWhole(
      const std::vector<CheckpointRow>& rows, const std::string& run_directory,
      std::vector<CheckpointRow>& damaged) const;
  // A copy of the checkpoint that `path` lies in, as a temporary one of this run. A null checkpoint
  // is a start from nothing.
  absl::StatusOr<Start> CopyIn(const std::string& path) const;
  absl::StatusOr<std::optional<Start>> CopyOfBefore(const std::string& start) const;
  absl::StatusOr<CheckpointRow> Commit(const std::string& temporary,
                                       std::optional<std::int64_t> step, const Moment& moment,
                                       const PreparedCheckpoint& prepared) const;
  // The checkpoint that the line committed before, if it did.
  absl::StatusOr<std::optional<CheckpointRow>> Committed(const Moment& moment) const;
  // The metadata in the directory, with the counters that a killed trainer did not get to write
  // into it.
  absl::StatusOr<CheckpointMetadata> MetadataOf(const CheckpointRow& row) const;
  std::optional<CheckpointRow> CommittedAs(const std::string& name, const Moment& moment) const;
  absl::StatusOr<std::optional<CheckpointRow>> Known(const std::string& name,
                                                     const StoreBatch& batch) const;

  absl::Status RemoveThose(std::vector<CheckpointRow> rows) const;

  const Options options_;
  const std::int64_t trial_;
  const std::string id_;
  const RunIdentity run_;
  const std::string run_directory_;
  const int keep_;
  const std::uint64_t max_bytes_;
  const std::string metric_;
};

}  // namespace trainer

#endif  // TRAINER_TRIAL_TRIAL_CHECKPOINTS_H_

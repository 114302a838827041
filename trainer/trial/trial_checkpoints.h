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

// The checkpoints of one trial: saves them, decides which ones stay, and chooses the one that an
// attempt starts from. Use it on the loop's thread, which waits for the disk: a commit that was not
// prepared takes seconds for a gigabyte and delays the answers to other trials.
//
// ResourceExhausted is a lack of room that may end: a retry may succeed.
//
// A checkpoint is complete on disk before its row is stored, and its row is stored before the
// program is answered. If the trainer is killed in between, the line is sent again, and finds its
// checkpoint by the attempt and line in the checkpoint's metadata, so it counts once.
class TrialCheckpoints {
 public:
  struct Options {
    TrialStore* store = nullptr;  // Not owned; outlives it.
    std::function<void(std::string_view point)> fault = {};
    // Returns true if another trial is still to start from something in that directory. Unset:
    // never.
    std::function<bool(const std::string& directory)> is_referenced = {};
  };
  TrialCheckpoints(const TrialRecord& trial, Options options);

  // The line that commits a checkpoint, and the counters up to it.
  struct Moment {
    int attempt = 0;
    std::int64_t line = 0;
    std::int64_t number = 0;  // For the new checkpoint.
    std::int64_t iteration = 0;
    std::int64_t time_total_us = 0;
    std::optional<std::int64_t> timesteps_total, episodes_total;
    std::int64_t wall_time_us = 0;
    std::optional<double> score;
    std::string start;  // Directory that the attempt started from.
  };
  // Returns the value of the trial's checkpoint_metric (any field of result.json) for a checkpoint
  // at that iteration; `report` is the last report before it. Unset if the report has no such
  // number.
  std::optional<double> ScoreOf(const ResultRow& report, std::int64_t iteration) const;

  // Makes a directory for the program to write into. At the commit it is named after `step`, or
  // else after the iteration. FailedPrecondition if too many such directories are uncommitted.
  absl::StatusOr<std::string> Begin(std::optional<std::int64_t> step) const;
  // Commits a directory that Begin() made; the caller stores the row. InvalidArgument or NotFound
  // if Begin() did not make `path`.
  absl::StatusOr<CheckpointRow> End(const std::string& path, const Moment& moment,
                                    const PreparedCheckpoint& prepared = {}) const;
  // Removes a directory that Begin() made for a checkpoint that will not be committed. Ignores any
  // other path, and the directory that the attempt started from.
  void Abandon(const std::string& path, const std::string& start) const;
  // Returns the checkpoint for a directory inside the run that a report names. A directory
  // committed before, stored or in `batch`, is returned with its own number. A directory that
  // Begin() made is committed. Any other directory is copied, and the copy is committed for `step`,
  // or for the iteration if `step` is negative.
  absl::StatusOr<CheckpointRow> Named(const std::string& path, std::int64_t step,
                                      const Moment& moment, const StoreBatch& batch,
                                      const PreparedCheckpoint& prepared = {}) const;
  // Returns the slow part of End() or, with a step, of Named(); run it once, on any thread. Null if
  // there is nothing to read: the checkpoint was committed before, or cannot be.
  CheckpointPreparation::Work LongPart(const std::string& path, std::optional<std::int64_t> step,
                                       const Moment& moment, const StoreBatch& batch) const;
  std::string DirectoryOf(const CheckpointRow& row) const;

  // Assigns the checkpoint to a report that came after its commit, with that report's counters and
  // score. Belong() changes the row; call WriteCountersOf() for the directory once the row is
  // stored.
  void Belong(const ResultRow& report, CheckpointRow& checkpoint) const;
  absl::Status WriteCountersOf(const CheckpointRow& checkpoint, const ResultRow& report) const;
  // Returns the attempt's checkpoints that no report was assigned to yet.
  absl::StatusOr<std::vector<CheckpointRow>> Pending(int attempt) const;

  // Removes the checkpoints that exceed the trial's keep_checkpoints and checkpoint_bytes, but
  // never the one that contains `start`, nor a referenced one. A checkpoint that cannot be removed
  // stays known, and its removal is retried after the next checkpoint.
  absl::Status RemoveSurplus(const std::string& start) const;
  // Removes all checkpoints of an ended trial.
  absl::Status RemoveAll() const;

  // Where an attempt starts.
  struct Start {
    std::string directory;  // Empty: a fresh start.
    std::int64_t iteration = 0;
    std::int64_t time_total_us = 0;
    std::string copy = {};  // The temporary checkpoint that contains it, if any.
  };
  // The checkpoints that an attempt may start from; the first complete one is used. A checkpoint
  // that is damaged or unreadable is skipped, and its files stay.
  struct Candidates {
    std::vector<CheckpointRow> own;  // Newest first.
    // Where an earlier attempt started: a copy made for it, whose source may be gone or replaced by
    // now.
    std::string before;
    std::string restore;  // A path in any checkpoint; empty: none.
    std::string from;     // Id of another trial; empty: none.
    bool from_is_gone = false;
    std::vector<CheckpointRow> theirs;  // Checkpoints of that trial, newest first.
    std::string their_directory;

    // Returns true if there is nothing to read.
    bool empty() const;
  };
  struct Choice {
    Start start;
    std::string copy = {};  // Temporary checkpoint made for it; empty: none.
    std::optional<CheckpointRow> own;
    std::vector<CheckpointRow> damaged = {};  // Their rows are to be deleted.
  };
  // Returns the candidates for the next start; the caller fills in the fields of the other trial.
  absl::StatusOr<Candidates> CandidatesOf(const TrialRecord& trial) const;
  absl::StatusOr<std::vector<CheckpointRow>> All() const;
  // Returns the work that reads, verifies and copies the candidates, after it removed incomplete
  // leftovers of earlier attempts. Run it on any thread while no program of the trial runs. After
  // ResourceExhausted or Unavailable a retry may succeed.
  Preparation<Choice>::Work LongPartOfStart(const Candidates& candidates) const;
  // Finishes the choice with what must run on the loop's thread.
  absl::StatusOr<Start> Conclude(const Choice& choice) const;
  // The totals up to the checkpoint that contains `start`; unset if its metadata lacks them.
  struct Counted {
    std::optional<std::int64_t> timesteps_total, episodes_total;
  };
  static Counted CountedUntil(const std::string& start);
  // Removes the temporary checkpoints that crashes and earlier attempts left behind, except `but`.
  // Call it while no program of the trial runs.
  absl::Status RemoveTemporaries(const std::string& but = "") const;

 private:
  absl::StatusOr<Choice> Choose(const Candidates& candidates) const;
  // Returns the first complete checkpoint; adds those before it to `damaged`. Accesses only files.
  absl::StatusOr<std::optional<CheckpointRow>> FirstWhole(
      const std::vector<CheckpointRow>& rows, const std::string& run_directory,
      std::vector<CheckpointRow>& damaged) const;
  // Copies the checkpoint that contains `path` to a temporary one of this run. A null checkpoint
  // gives a fresh start.
  absl::StatusOr<Start> CopyIn(const std::string& path) const;
  absl::StatusOr<std::optional<Start>> CopyOfBefore(const std::string& start) const;
  absl::StatusOr<CheckpointRow> Commit(const std::string& temporary,
                                       std::optional<std::int64_t> step, const Moment& moment,
                                       const PreparedCheckpoint& prepared) const;
  // Returns the checkpoint that this line committed before, if any.
  absl::StatusOr<std::optional<CheckpointRow>> Committed(const Moment& moment) const;
  // Returns the metadata in the directory, updated with the counters that a killed trainer did not
  // write there.
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

#ifndef TRAINER_STORE_TRIAL_STORE_H_
#define TRAINER_STORE_TRIAL_STORE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/schema/trainer_generated.h"
#include "trainer/checkpoint/checkpoint_row.h"
#include "trainer/report/result_row.h"
#include "trainer/run/failure_text.h"
#include "trainer/store/alert_source.h"
#include "trainer/store/sweep_rows.h"
#include "trainer/store/trial_record.h"

namespace trainer {

// A line of an attempt and the answer it got.
struct AnsweredLine {
  std::int64_t trial = 0;  // TrialRecord::number.
  int attempt = 0;
  std::int64_t number = 0;
  std::string answer;  // Empty: acknowledged without one.
};

// Everything that one transaction writes.
struct StoreBatch {
  struct Row {
    std::int64_t trial = 0;
    ResultRow row;
  };
  struct Log {
    std::int64_t trial = 0;
    std::int64_t wall_time_us = 0;
    std::string text;
  };
  // Events `first` to `last` went with the answer to that line.
  struct Delivery {
    std::int64_t trial = 0;
    std::int64_t first = 0, last = 0;
    int attempt = 0;
    std::int64_t line = 0;
  };
  std::vector<TrialRecord> trials;  // Known ones, changed; not what they were asked for with.
  struct Configuration {
    std::int64_t trial = 0;
    std::string config;  // TrialSpec::config from now on.
  };
  std::vector<Configuration> configurations;
  struct Widening {
    std::int64_t trial = 0;
    CsvWidening widening;
  };
  std::vector<Row> rows;
  std::vector<Widening> widenings;
  std::vector<AnsweredLine> lines;
  std::vector<Log> logs;
  // Each replaces the checkpoint of the same number or name.
  std::vector<CheckpointRow> checkpoints;
  std::vector<CheckpointRow> forgotten_checkpoints;  // By trial and number.
  std::vector<Delivery> deliveries;
  std::vector<SweepRecord> sweeps;  // Known ones, changed (UpdateSweep()).
  std::vector<SweepEventRow> sweep_events;
  bool durable = false;  // Survives a loss of power once it is written.
};

// Something for a running program to read. Counts from 1 for each trial.
struct StoredEvent {
  std::int64_t trial = 0;
  std::int64_t number = 0;
  std::string text;        // A JSON value.
  std::string request_id;  // Unique; of the call that told it.
};

// A trial that was removed, and where its directory is to go from.
struct Removal {
  std::int64_t number = 0;
  std::string id, name;
  std::string request_id;  // Request id of the call that removed it.
  std::string run_directory;
};

// The truth about trials and acknowledged reports: one SQLite file, mode 0600, in WAL mode with
// synchronous=NORMAL, so that it survives the kill of any process. All that was written survives a
// loss of power after the next Sync(); a batch with a checkpoint, or one that says `durable`, at
// once, and with it all that was written before. Every method is one transaction and blocks for it.
// One thread.
class TrialStore {
 public:
  struct Options {
    // Limits of the entries that are not in their places yet (recent_reports.h): the store is
    // untidy with `most_recent` lines, and Tidy() moves at least `fewest_moved` of them. Smaller
    // values make a test of that short.
    std::size_t most_recent = 3072;
    std::size_t fewest_moved = 64;
    // Returns the trace of use of a file that is there already (DatabaseSchema).
    std::function<std::string()> trace_of_use = {};
  };
  // Makes the file if it is missing, brings that of an older version up to date. FailedPrecondition
  // if a newer version of this program wrote it, naming both versions, or if it is empty and was in
  // use.
  static absl::StatusOr<std::unique_ptr<TrialStore>> Open(const std::string& path);
  static absl::StatusOr<std::unique_ptr<TrialStore>> Open(const std::string& path,
                                                          const Options& options);
  virtual ~TrialStore() = default;
  virtual const std::string& path() const = 0;
  // Asks it from now on which alerts follow from what is written, and stores them with that. Not
  // owned; it outlives the store, or is set to null before it goes.
  virtual void SetAlertSource(AlertSource* source) = 0;

  // Makes all that was written until now to the store of that path survive a loss of power. Any
  // thread; blocks for the disk, but no other method.
  static absl::Status Sync(const std::string& path);

  // Calls `take` with all trials, oldest first, until an error. `take` may read the store
  // meanwhile. Trials lost to damaged pages are logged and left out.
  virtual absl::Status ForEachTrial(const std::function<absl::Status(TrialRecord)>& take) = 0;
  // NotFound.
  virtual absl::StatusOr<TrialRecord> LoadTrial(std::int64_t number) = 0;
  // Returns its number. AlreadyExists if the id or the request id is taken.
  virtual absl::StatusOr<std::int64_t> Insert(const TrialRecord& trial) = 0;
  // All or nothing. AlreadyExists for a row or line that is there (those of a trial come in the
  // order of their numbers); ResourceExhausted: disk full. (That goes for every method that writes.
  // Its log is then emptied as far as there is room for that.)
  virtual absl::Status Write(const StoreBatch& batch) = 0;
  // A sweep with its first events; returns its number. AlreadyExists if the id or the request id is
  // taken.
  virtual absl::StatusOr<std::int64_t> InsertSweep(const SweepRecord& sweep,
                                                   std::vector<SweepEventRow> first) = 0;
  // Oldest first, until an error; they may read the store meanwhile.
  virtual absl::Status ForEachSweep(const std::function<absl::Status(SweepRecord)>& take) = 0;
  virtual absl::Status ForEachSweepEvent(
      std::int64_t sweep, const std::function<absl::Status(SweepEventRow)>& take) = 0;
  virtual absl::Status DeleteSweep(std::int64_t sweep) = 0;
  // It is time to Tidy(), when nobody waits for an answer: to put what was written in its places
  // (recent_reports.h).
  virtual bool IsUntidy() const = 0;
  virtual absl::Status Tidy() = 0;

  // Its options have these annotations and this priority (CopyAnnotations()) from now on; all else
  // in them stays. NotFound.
  virtual absl::Status Annotate(std::int64_t trial, const msg::TrialOptionsT& annotations) = 0;

  // Row 0 if the trial has none.
  virtual absl::StatusOr<ResultRow> LastRow(std::int64_t trial) = 0;
  virtual absl::StatusOr<ResultRow> LastRowThatFits(std::int64_t trial, ResultFile file,
                                                    std::int64_t size) = 0;
  // Rows after `row`, oldest first; at most `limit`, and no more after 256 KiB of metrics.
  virtual absl::StatusOr<std::vector<ResultRow>> RowsAfter(std::int64_t trial, std::int64_t row,
                                                           int limit) = 0;
  // Columns of progress.csv that came after those of the first row, in their order.
  virtual absl::StatusOr<std::vector<CsvWidening>> Widenings(std::int64_t trial) = 0;
  // Gives it the next number of the trial's failures; nothing changes if the attempt has one.
  virtual absl::Status AddFailure(std::int64_t trial, const AttemptFailure& failure) = 0;
  // The last `limit` ones, oldest first.
  virtual absl::StatusOr<std::vector<AttemptFailure>> Failures(std::int64_t trial, int limit) = 0;
  // The last `limit` ones, oldest first; no more than 1,000, and no more after 1 MiB of text.
  virtual absl::StatusOr<std::vector<StoreBatch::Log>> LastLogs(std::int64_t trial,
                                                                std::int64_t limit) = 0;
  // 0 without a line.
  virtual absl::StatusOr<std::int64_t> LastLine(std::int64_t trial, int attempt) = 0;
  // So that a line that is sent again gets the same one. Nothing if it is not known (any more): the
  // last 256 of each attempt are. (The shim has at most 64 lines under way.)
  virtual absl::StatusOr<std::optional<std::string>> AnswerTo(std::int64_t trial, int attempt,
                                                              std::int64_t number) = 0;
  // Newest first.
  virtual absl::StatusOr<std::vector<CheckpointRow>> Checkpoints(std::int64_t trial) = 0;
  // Number 0 if the trial has none.
  virtual absl::StatusOr<CheckpointRow> NewestCheckpoint(std::int64_t trial) = 0;
  // Forgets the lines of trials that ended before that moment (microseconds since 1970), and of
  // attempts that are over.
  virtual absl::Status ForgetOldLines(std::int64_t ended_before_us) = 0;

  // The environment a trial was asked for with. NotFound.
  virtual absl::StatusOr<std::vector<std::string>> EnvironmentOf(std::int64_t trial) = 0;

  // AlreadyExists if its number or its request id is taken.
  virtual absl::Status InsertEvent(const StoredEvent& event) = 0;
  // Nothing if no event (that is still kept) was told with this request id.
  virtual absl::StatusOr<std::optional<StoredEvent>> EventWith(const std::string& request_id) = 0;
  // Those after event `number`, oldest first: one, and more up to `max_bytes` of text.
  virtual absl::StatusOr<std::vector<StoredEvent>> EventsAfter(std::int64_t trial,
                                                               std::int64_t number,
                                                               std::size_t max_bytes) = 0;
  struct EventMarks {
    std::int64_t last = 0, last_delivered = 0;  // 0: none.
  };
  virtual absl::StatusOr<EventMarks> EventMarksOf(std::int64_t trial) = 0;

  // Forgets a trial and all its rows, and notes that its directory is to be moved.
  virtual absl::Status Remove(const Removal& removal) = 0;
  // Nothing if no trial was removed with this request id (or too many were since then).
  virtual absl::StatusOr<std::optional<Removal>> RemovalWith(const std::string& request_id) = 0;
  // The removals whose directory was not seen moved.
  virtual absl::StatusOr<std::vector<Removal>> UnfinishedRemovals() = 0;
  virtual absl::Status FinishRemoval(std::int64_t trial) = 0;
  // Forgets trials and all their rows.
  virtual absl::Status Forget(const std::vector<std::int64_t>& trials) = 0;
};

}  // namespace trainer

#endif  // TRAINER_STORE_TRIAL_STORE_H_

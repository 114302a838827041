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

// A line of an attempt and its answer.
struct AnsweredLine {
  std::int64_t trial = 0;  // TrialRecord::number.
  int attempt = 0;
  std::int64_t number = 0;
  std::string answer;  // Empty for a plain acknowledgement.
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
  // Events `first` to `last` were sent with the answer to that line.
  struct Delivery {
    std::int64_t trial = 0;
    std::int64_t first = 0, last = 0;
    int attempt = 0;
    std::int64_t line = 0;
  };
  std::vector<TrialRecord> trials;  // Changed records of known trials; their specs are not written.
  struct Configuration {
    std::int64_t trial = 0;
    std::string config;  // The new TrialSpec::config.
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
  // Each one replaces the checkpoint of the same number or name.
  std::vector<CheckpointRow> checkpoints;
  std::vector<CheckpointRow> forgotten_checkpoints;  // By trial and number.
  std::vector<Delivery> deliveries;
  std::vector<SweepRecord> sweeps;  // Changed records of known sweeps (UpdateSweep()).
  std::vector<SweepEventRow> sweep_events;
  bool durable = false;  // Written durably: survives a power failure.
};

// An event for a running program to read. Numbered from 1 in each trial.
struct StoredEvent {
  std::int64_t trial = 0;
  std::int64_t number = 0;
  std::string text;        // A JSON value.
  std::string request_id;  // Unique; request id of the call that sent it.
};

// A removed trial, and where its directory must be moved from.
struct Removal {
  std::int64_t number = 0;
  std::string id, name;
  std::string request_id;  // Request id of the call that removed it.
  std::string run_directory;
};

// The authoritative record of trials and acknowledged reports: one SQLite file with mode 0600, in
// WAL mode with synchronous=NORMAL, so that it survives the kill of any process. Writes survive a
// power failure after the next Sync(); a batch with a checkpoint, or a `durable` one, is synced at
// once together with all earlier writes. Every method is one transaction and blocks for it. Not
// thread-safe.
class TrialStore {
 public:
  struct Options {
    // Limits of the entries that wait in `recent` (recent_reports.h): the store is untidy with
    // `most_recent` lines, and Tidy() moves at least `fewest_moved` of them. Tests use smaller
    // values.
    std::size_t most_recent = 3072;
    std::size_t fewest_moved = 64;
    // Returns evidence that an existing file was in use (DatabaseSchema).
    std::function<std::string()> trace_of_use = {};
  };
  // Creates the file if it is missing, and upgrades the file of an older version.
  // FailedPrecondition if a newer version of this program wrote it (names both versions), or if it
  // is empty although it was in use.
  static absl::StatusOr<std::unique_ptr<TrialStore>> Open(const std::string& path);
  static absl::StatusOr<std::unique_ptr<TrialStore>> Open(const std::string& path,
                                                          const Options& options);
  virtual ~TrialStore() = default;
  virtual const std::string& path() const = 0;
  // Sets the source of the alerts that are stored with each batch. Not owned; it outlives the store
  // or is reset to null before.
  virtual void SetAlertSource(AlertSource* source) = 0;

  // Makes all earlier writes to the store at `path` survive a power failure. Any thread; blocks for
  // the disk, but blocks no other method.
  static absl::Status Sync(const std::string& path);

  // Calls `take` with all trials, oldest first, until an error. `take` may read the store. Logs and
  // skips trials that are lost to damaged pages.
  virtual absl::Status ForEachTrial(const std::function<absl::Status(TrialRecord)>& take) = 0;
  // NotFound if no trial has that number.
  virtual absl::StatusOr<TrialRecord> LoadTrial(std::int64_t number) = 0;
  // Returns the trial's number. AlreadyExists if its id or request id is taken.
  virtual absl::StatusOr<std::int64_t> Insert(const TrialRecord& trial) = 0;
  // Writes the batch atomically. AlreadyExists for an existing row or line (those of a trial must
  // come in order of their numbers). ResourceExhausted if the disk is full; that goes for every
  // writing method, and the WAL is then emptied as far as room allows.
  virtual absl::Status Write(const StoreBatch& batch) = 0;
  // Inserts a sweep with its first events and returns its number. AlreadyExists if its id or
  // request id is taken.
  virtual absl::StatusOr<std::int64_t> InsertSweep(const SweepRecord& sweep,
                                                   std::vector<SweepEventRow> first) = 0;
  // Call `take` oldest first, until an error; `take` may read the store.
  virtual absl::Status ForEachSweep(const std::function<absl::Status(SweepRecord)>& take) = 0;
  virtual absl::Status ForEachSweepEvent(
      std::int64_t sweep, const std::function<absl::Status(SweepEventRow)>& take) = 0;
  virtual absl::Status DeleteSweep(std::int64_t sweep) = 0;
  // Returns true when it is time for Tidy(), which moves written entries to their tables
  // (recent_reports.h). Call Tidy() when nobody waits.
  virtual bool IsUntidy() const = 0;
  virtual absl::Status Tidy() = 0;

  // Replaces the annotations and the priority in the trial's options (CopyAnnotations()) and keeps
  // its other options. NotFound if no trial has that number.
  virtual absl::Status Annotate(std::int64_t trial, const msg::TrialOptionsT& annotations) = 0;

  // Returns row 0 if the trial has no rows.
  virtual absl::StatusOr<ResultRow> LastRow(std::int64_t trial) = 0;
  virtual absl::StatusOr<ResultRow> LastRowThatFits(std::int64_t trial, ResultFile file,
                                                    std::int64_t size) = 0;
  // Returns the rows after `row`, oldest first: at most `limit`, and no more after 256 KiB of
  // metrics.
  virtual absl::StatusOr<std::vector<ResultRow>> RowsAfter(std::int64_t trial, std::int64_t row,
                                                           int limit) = 0;
  // Returns the columns that progress.csv got after the first row, in order.
  virtual absl::StatusOr<std::vector<CsvWidening>> Widenings(std::int64_t trial) = 0;
  // Stores a failure under the trial's next failure number; does nothing if the attempt has one.
  virtual absl::Status AddFailure(std::int64_t trial, const AttemptFailure& failure) = 0;
  // Returns the last `limit` failures, oldest first.
  virtual absl::StatusOr<std::vector<AttemptFailure>> Failures(std::int64_t trial, int limit) = 0;
  // Returns the last `limit` logs, oldest first: at most 1,000, and no more after 1 MiB of text.
  virtual absl::StatusOr<std::vector<StoreBatch::Log>> LastLogs(std::int64_t trial,
                                                                std::int64_t limit) = 0;
  // Returns 0 if the attempt has no line.
  virtual absl::StatusOr<std::int64_t> LastLine(std::int64_t trial, int attempt) = 0;
  // Returns the stored answer, so that a line that is sent again gets the same one. Nullopt if it
  // is unknown: only the last 256 answers of each attempt are kept. (A shim has at most 64 lines in
  // flight.)
  virtual absl::StatusOr<std::optional<std::string>> AnswerTo(std::int64_t trial, int attempt,
                                                              std::int64_t number) = 0;
  // Returns the checkpoints, newest first.
  virtual absl::StatusOr<std::vector<CheckpointRow>> Checkpoints(std::int64_t trial) = 0;
  // Returns number 0 if the trial has no checkpoint.
  virtual absl::StatusOr<CheckpointRow> NewestCheckpoint(std::int64_t trial) = 0;
  // Deletes the lines of attempts that are over, and of trials that ended before `ended_before_us`
  // (microseconds since 1970).
  virtual absl::Status ForgetOldLines(std::int64_t ended_before_us) = 0;

  // Returns the environment that the trial was requested with. NotFound if the trial is unknown.
  virtual absl::StatusOr<std::vector<std::string>> EnvironmentOf(std::int64_t trial) = 0;

  // AlreadyExists if its number or its request id is taken.
  virtual absl::Status InsertEvent(const StoredEvent& event) = 0;
  // Returns the event with this request id; nullopt if none that is still kept has it.
  virtual absl::StatusOr<std::optional<StoredEvent>> EventWith(const std::string& request_id) = 0;
  // Returns events after `number`, oldest first: at least one if any, up to `max_bytes` of text.
  virtual absl::StatusOr<std::vector<StoredEvent>> EventsAfter(std::int64_t trial,
                                                               std::int64_t number,
                                                               std::size_t max_bytes) = 0;
  struct EventMarks {
    std::int64_t last = 0, last_delivered = 0;  // 0: none.
  };
  virtual absl::StatusOr<EventMarks> EventMarksOf(std::int64_t trial) = 0;

  // Deletes a trial and all its rows, and records that its directory must be moved.
  virtual absl::Status Remove(const Removal& removal) = 0;
  // Returns the removal with this request id; nullopt if it is unknown or too old.
  virtual absl::StatusOr<std::optional<Removal>> RemovalWith(const std::string& request_id) = 0;
  // Returns the removals whose directory may not have been moved yet.
  virtual absl::StatusOr<std::vector<Removal>> UnfinishedRemovals() = 0;
  virtual absl::Status FinishRemoval(std::int64_t trial) = 0;
  // Deletes trials and all their rows.
  virtual absl::Status Forget(const std::vector<std::int64_t>& trials) = 0;
};

}  // namespace trainer

#endif  // TRAINER_STORE_TRIAL_STORE_H_

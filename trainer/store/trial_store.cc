#include "trainer/store/trial_store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "runtime/file/unique_fd.h"
#include "runtime/sqlite/database_file.h"
#include "runtime/sqlite/database_schema.h"
#include "runtime/sqlite/prepared_transaction.h"
#include "runtime/sqlite/restored_state.h"
#include "runtime/sqlite/statement_columns.h"
#include "runtime/sqlite/wal_copier.h"
#include "trainer/run/run_annotations.h"
#include "trainer/store/recent_reports.h"
#include "trainer/store/schema.h"
#include "trainer/store/sweep_rows.h"
#include "trainer/store/trial_rows.h"

// Always true:
// - Everything that one turn of the trainer decides is one transaction (Write()): after a kill
//   either all of it is stored or nothing.
// - Rows refer to their trial by its number, and are deleted in the transaction that removes the
//   trial. After that the number may be reused.
// - A batch that is `durable` or has a checkpoint is on disk, with all earlier ones, when Write()
//   returns. Other batches survive a kill at once, and a power failure after the next Sync().
// - Every disk error for lack of room is ResourceExhausted, and leaves the database unchanged.

namespace trainer {
namespace {

constexpr std::size_t kMetricsPerRead = 256 << 10;
constexpr std::size_t kLogTextPerRead = 1 << 20;

// Tables with rows of trials, whose number is in their column `trial`.
constexpr const char* kTablesOfTrials[] = {"reports",     "lines",       "logs",    "events",
                                           "checkpoints", "csv_columns", "failures"};

// How many delivered events of a trial, and removals, are kept to recognise repeated calls.
constexpr std::int64_t kEventsKept = 1000;
constexpr std::int64_t kRemovalsKept = 1000;

// How many of its last log lines a trial keeps, at least.
constexpr std::int64_t kLogsKept = 1000;
// Old log lines are deleted once every so many lines of all trials. A prime, so that trials that
// take turns are all cleaned up.
constexpr int kLogsBetween = 997;

constexpr const char* kEndColumns[kResultFiles] = {"result_json_end", "progress_csv_end",
                                                   "event_file_end"};

runtime::DatabaseSchema SchemaOf(const TrialStore::Options& options) {
  runtime::DatabaseSchema schema = NewestSchema();
  schema.trace_of_use = options.trace_of_use;
  return schema;
}

// While an instance lives, transactions are synced, together with all earlier ones.
class FullSync {
 public:
  FullSync(SQLite::Database& database, bool wanted) : database_(database), wanted_(wanted) {
    if (wanted_) (void)database_.tryExec("PRAGMA synchronous=FULL");
  }
  ~FullSync() {
    if (wanted_) (void)database_.tryExec("PRAGMA synchronous=NORMAL");
  }
  FullSync(const FullSync&) = delete;
  FullSync& operator=(const FullSync&) = delete;

 private:
  SQLite::Database& database_;
  const bool wanted_;
};

class SqliteStore : public TrialStore {
 public:
  SqliteStore(const std::string& path, const Options& options)
      // Only one thread uses it, so SQLite needs no locks.
      : path_(path),
        options_(options),
        log_copier_(path),
        database_(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE | SQLite::OPEN_NOMUTEX, 5000) {
  }

  const std::string& path() const override { return path_; }

  absl::Status Prepare() {
    return Try("open", [&] {
      if (auto status = runtime::PrepareDatabase(database_, SchemaOf(options_)); !status.ok())
        return status;
      if (auto status = TakeOver(); !status.ok()) return status;
      database_.exec("PRAGMA temp_store=MEMORY");
      // An environment may contain secrets.
      database_.exec("PRAGMA secure_delete=ON");
      // A small cache suffices: only the pages of running trials are read and soon rewritten.
      database_.exec("PRAGMA cache_size=-512");
      log_copier_.Serve(database_);
      PrepareStatements();
      SettleToRead();
      return absl::OkStatus();
    });
  }

  absl::Status ForEachTrial(const std::function<absl::Status(TrialRecord)>& take) override {
    std::int64_t last = 0;
    try {
      SQLite::Statement rows(
          database_, absl::StrCat("SELECT ", kTrialColumns, " FROM trials ORDER BY number"));
      while (rows.executeStep()) {
        TrialRecord trial = ReadTrial(rows);
        last = trial.number;
        if (alerts_ != nullptr && !HasEnded(trial)) alerts_->Know(trial);
        if (auto status = take(std::move(trial)); !status.ok()) return status;
      }
      return absl::OkStatus();
    } catch (const SQLite::Exception& error) {
      if (error.getErrorCode() != SQLITE_CORRUPT) {
        return Try("read the trials", [&]() -> absl::Status { throw error; });
      }
      LOG(ERROR) << path_ << " is damaged: " << error.what()
                 << "; the trials that can be read are kept. Restore a back-up for the others";
    }
    return ForEachTrialBehind(last, take);
  }

  absl::StatusOr<TrialRecord> LoadTrial(std::int64_t number) override {
    std::optional<TrialRecord> trial;
    auto status = Try("read a trial", [&] {
      const Query query(this,
                        absl::StrCat("SELECT ", kTrialColumns, " FROM trials WHERE number = ?"));
      runtime::Binder(*query) << number;
      if (query->executeStep()) trial = ReadTrial(*query);
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    if (!trial) return absl::NotFoundError(absl::StrCat("no trial has the number ", number));
    return *std::move(trial);
  }

  absl::StatusOr<std::int64_t> Insert(const TrialRecord& trial) override {
    std::int64_t number = 0;
    auto status = Try(absl::StrCat("add trial ", trial.id()), [&] {
      const Query insert(
          this,
          // A relay may still hold the number of a removed trial, so numbers are not reused.
          absl::StrCat(
              "INSERT INTO trials (", kTrialColumns,
              ") VALUES ((SELECT max(number) + 1 FROM (SELECT 0 AS number UNION ALL SELECT "
              "max(number) FROM trials UNION ALL SELECT max(number) FROM removals)), "
              "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
              "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
      const TrialSpec& spec = trial.spec;
      runtime::Binder bind(*insert);
      bind << trial.id() << trial.request_id << trial.run.experiment_id << trial.run.hostname
           << trial.run.created_us << trial.run.event_file << spec.name << spec.argv
           << spec.environment << spec.working_directory << spec.run_directory << spec.config
           << std::int64_t{spec.max_restarts} << static_cast<std::int64_t>(spec.seed)
           << spec.stop_grace_ms;
      BindProgress(bind, trial);
      bind << trial.trace;
      bind.Bytes(PackOptions(spec.options)) << trial.pause_requested;
      BindStart(bind, trial);
      bind << trial.expelled << trial.criterion << trial.earlier_attempts_us
           << std::int64_t{trial.failures} << trial.earlier_metrics;
      insert->exec();
      number = database_.getLastInsertRowid();
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    if (alerts_ != nullptr) {
      TrialRecord known = trial;
      known.number = number;
      alerts_->Know(known);
    }
    return number;
  }

  void SetAlertSource(AlertSource* source) override { alerts_ = source; }

  absl::Status Write(const StoreBatch& batch) override {
    const FullSync durable(database_, batch.durable || !batch.checkpoints.empty());
    std::vector<bus::NewAlert> due;
    if (alerts_ != nullptr) due = alerts_->AlertsOf(batch);
    std::vector<msg::AlertT> raised;
    const absl::Status written = Try("write", [&] {
      runtime::PreparedTransaction::Run transaction(&*transaction_);
      for (const TrialRecord& trial : batch.trials) WriteTrial(trial);
      for (const auto& [trial, config] : batch.configurations) WriteConfiguration(trial, config);
      if (auto status = WriteReports(batch); !status.ok()) return status;
      for (const auto& [trial, widening] : batch.widenings) WriteWidening(trial, widening);
      for (const StoreBatch::Log& log : batch.logs) WriteLog(log);
      for (const CheckpointRow& row : batch.checkpoints) WriteCheckpoint(row);
      for (const CheckpointRow& row : batch.forgotten_checkpoints) ForgetCheckpoint(row);
      for (const StoreBatch::Delivery& delivery : batch.deliveries) WriteDelivery(delivery);
      for (const SweepRecord& sweep : batch.sweeps) UpdateSweep(database_, sweep);
      for (const SweepEventRow& event : batch.sweep_events) WriteSweepEvent(event);
      for (const bus::NewAlert& alert : due) {
        if (auto stored = bus::InsertAlert(database_, alert)) raised.push_back(*std::move(stored));
      }
      transaction.Commit();
      recent_->Committed();
      return absl::OkStatus();
    });
    if (written.ok() && alerts_ != nullptr) alerts_->Stored(batch, raised);
    return written;
  }

  absl::StatusOr<std::int64_t> InsertSweep(const SweepRecord& sweep,
                                           std::vector<SweepEventRow> first) override {
    std::int64_t number = 0;
    auto status = Try(absl::StrCat("add sweep ", sweep.id), [&] {
      SQLite::Transaction transaction(database_, SQLite::TransactionBehavior::IMMEDIATE);
      number = trainer::InsertSweep(database_, sweep);
      for (SweepEventRow& event : first) {
        event.sweep = number;
        WriteSweepEvent(event);
      }
      transaction.commit();
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    return number;
  }

  absl::Status ForEachSweep(const std::function<absl::Status(SweepRecord)>& take) override {
    return Try("read the sweeps", [&] { return trainer::ForEachSweep(database_, take); });
  }

  absl::Status ForEachSweepEvent(std::int64_t sweep,
                                 const std::function<absl::Status(SweepEventRow)>& take) override {
    return Try("read the events of a sweep",
               [&] { return trainer::ForEachSweepEvent(database_, sweep, take); });
  }

  absl::Status DeleteSweep(std::int64_t sweep) override {
    return Try("remove a sweep", [&] {
      SQLite::Transaction transaction(database_, SQLite::TransactionBehavior::IMMEDIATE);
      trainer::DeleteSweep(database_, sweep);
      transaction.commit();
      log_copier_.Empty();
      return absl::OkStatus();
    });
  }

  bool IsUntidy() const override { return recent_->is_full(); }
  absl::Status Tidy() override {
    return Try("put reports in their places", [&] {
      recent_->SettleOldest();
      return absl::OkStatus();
    });
  }

  absl::StatusOr<ResultRow> LastRow(std::int64_t trial) override {
    return OneRow(absl::StrCat(kSelectRow, "WHERE trial = ? ORDER BY row DESC LIMIT 1"), trial, {});
  }

  absl::StatusOr<ResultRow> LastRowThatFits(std::int64_t trial, ResultFile file,
                                            std::int64_t size) override {
    return OneRow(absl::StrCat(kSelectRow, "WHERE trial = ? AND ", kEndColumns[file],
                               " <= ? ORDER BY row DESC LIMIT 1"),
                  trial, size);
  }

  absl::StatusOr<std::vector<ResultRow>> RowsAfter(std::int64_t trial, std::int64_t row,
                                                   int limit) override {
    std::vector<ResultRow> rows;
    auto status = Try("read reports", [&] {
      SettleBeforeReading(trial);
      const Query select(
          this, absl::StrCat(kSelectRow, "WHERE trial = ? AND row > ? ORDER BY row LIMIT ?"));
      runtime::Binder(*select) << trial << row << limit;
      std::size_t bytes = 0;
      while (bytes < kMetricsPerRead && select->executeStep()) {
        rows.push_back(ReadRow(*select));
        bytes += rows.back().metrics.size();
      }
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    return rows;
  }

  absl::StatusOr<std::vector<CsvWidening>> Widenings(std::int64_t trial) override {
    std::vector<CsvWidening> widenings;
    auto status = Try("read columns", [&] {
      const Query select(this,
                         "SELECT row, name FROM csv_columns WHERE trial = ? ORDER BY row, place");
      runtime::Binder(*select) << trial;
      while (select->executeStep()) {
        runtime::Reader read(*select);
        const std::int64_t row = read.Number();
        if (widenings.empty() || widenings.back().row != row) widenings.push_back({row, {}});
        widenings.back().columns.push_back(read.Text());
      }
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    return widenings;
  }

  absl::Status AddFailure(std::int64_t trial, const AttemptFailure& failure) override {
    return Try("add a failure", [&] {
      SQLite::Statement insert(
          database_,
          "INSERT INTO failures SELECT ?1, 1 + COALESCE(MAX(number), 0), ?2, ?3, ?4, ?5, ?6 FROM "
          "failures WHERE trial = ?1 ON CONFLICT DO NOTHING");
      runtime::Binder(insert) << trial << failure.attempt << failure.time_us << failure.utc_offset_s
                              << failure.reason << failure.error_lines;
      insert.exec();
      return absl::OkStatus();
    });
  }

  absl::StatusOr<std::vector<AttemptFailure>> Failures(std::int64_t trial, int limit) override {
    std::vector<AttemptFailure> failures;
    auto status = Try("read failures", [&] {
      SQLite::Statement select(
          database_,
          "SELECT attempt, number, time_us, utc_offset_s, reason, error_lines FROM failures WHERE "
          "trial = ? ORDER BY number DESC LIMIT ?");
      runtime::Binder(select) << trial << limit;
      while (select.executeStep()) {
        runtime::Reader read(select);
        AttemptFailure failure;
        failure.attempt = static_cast<int>(read.Number());
        failure.number = read.Number();
        failure.time_us = read.Number();
        failure.utc_offset_s = read.Number();
        failure.reason = read.Text();
        failure.error_lines = read.Words();
        failures.push_back(std::move(failure));
      }
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    std::reverse(failures.begin(), failures.end());
    return failures;
  }

  absl::StatusOr<std::vector<StoreBatch::Log>> LastLogs(std::int64_t trial,
                                                        std::int64_t limit) override {
    std::vector<StoreBatch::Log> logs;
    auto status = Try("read a log", [&] {
      SQLite::Statement select(
          database_,
          "SELECT wall_time_us, text FROM logs WHERE trial = ? ORDER BY rowid DESC LIMIT ?");
      runtime::Binder(select) << trial << std::clamp<std::int64_t>(limit, 0, kLogsKept);
      std::size_t bytes = 0;
      while (bytes < kLogTextPerRead && select.executeStep()) {
        runtime::Reader read(select);
        const std::int64_t time = read.Number();
        logs.push_back({trial, time, read.Text()});
        bytes += logs.back().text.size();
      }
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    std::reverse(logs.begin(), logs.end());
    return logs;
  }

  absl::StatusOr<std::int64_t> LastLine(std::int64_t trial, int attempt) override {
    std::int64_t number = 0;
    auto status = Try("read lines", [&] {
      SettleBeforeReading(trial);
      const Query query(this,
                        "SELECT number FROM lines WHERE trial = ? AND attempt = ? "
                        "ORDER BY number DESC LIMIT 1");
      runtime::Binder(*query) << trial << attempt;
      if (query->executeStep()) number = query->getColumn(0).getInt64();
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    return number;
  }

  absl::StatusOr<std::optional<std::string>> AnswerTo(std::int64_t trial, int attempt,
                                                      std::int64_t number) override {
    std::optional<std::string> answer;
    auto status = Try("read a line", [&] {
      SettleBeforeReading(trial);
      SQLite::Statement select(
          database_, "SELECT answer FROM lines WHERE trial = ? AND attempt = ? AND number = ?");
      runtime::Binder(select) << trial << attempt << number;
      if (select.executeStep()) answer = select.getColumn(0).getString();
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    return answer;
  }

  absl::StatusOr<std::vector<CheckpointRow>> Checkpoints(std::int64_t trial) override {
    return ReadCheckpoints(trial, -1);
  }

  absl::StatusOr<CheckpointRow> NewestCheckpoint(std::int64_t trial) override {
    auto rows = ReadCheckpoints(trial, 1);
    if (!rows.ok()) return rows.status();
    return rows->empty() ? CheckpointRow() : rows->front();
  }

  absl::Status ForgetOldLines(std::int64_t ended_before_us) override {
    return Try("forget old lines", [&] {
      recent_->Settle();
      SQLite::Statement remove(database_,
                               "DELETE FROM main.lines WHERE (SELECT attempt > lines.attempt OR "
                               "(ended_us > 0 AND ended_us < ?) FROM trials WHERE number = trial)");
      runtime::Binder(remove) << ended_before_us;
      remove.exec();
      return absl::OkStatus();
    });
  }

  absl::Status Annotate(std::int64_t trial, const msg::TrialOptionsT& annotations) override {
    return Try("annotate a trial", [&] {
      // The trial in memory no longer has all of its options.
      std::optional<msg::TrialOptionsT> options;
      {
        SQLite::Statement select(database_, "SELECT options FROM trials WHERE number = ?");
        runtime::Binder(select) << trial;
        if (select.executeStep()) options = UnpackOptions(runtime::Reader(select).Bytes());
      }
      if (!options) return absl::NotFoundError(absl::StrCat("no trial has the number ", trial));
      CopyAnnotations(annotations, &*options);
      SQLite::Statement update(database_, "UPDATE trials SET options = ? WHERE number = ?");
      runtime::Binder(update).Bytes(PackOptions(*options)) << trial;
      update.exec();
      return absl::OkStatus();
    });
  }

  absl::StatusOr<std::vector<std::string>> EnvironmentOf(std::int64_t trial) override {
    std::optional<std::vector<std::string>> environment;
    auto status = Try("read an environment", [&] {
      SQLite::Statement select(database_, "SELECT environment FROM trials WHERE number = ?");
      runtime::Binder(select) << trial;
      if (select.executeStep()) environment = runtime::Reader(select).Words();
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    if (!environment) return absl::NotFoundError(absl::StrCat("no trial has the number ", trial));
    return *std::move(environment);
  }

  absl::Status InsertEvent(const StoredEvent& event) override {
    return Try("add an event", [&] {
      SQLite::Statement insert(
          database_,
          "INSERT INTO events (trial, number, text, request_id, attempt, line) "
          "VALUES (?, ?, ?, ?, 0, 0)");
      runtime::Binder(insert) << event.trial << event.number << event.text << event.request_id;
      insert.exec();
      return absl::OkStatus();
    });
  }

  absl::StatusOr<std::optional<StoredEvent>> EventWith(const std::string& request_id) override {
    std::optional<StoredEvent> event;
    auto status = Try("read an event", [&] {
      SQLite::Statement select(database_, absl::StrCat(kSelectEvent, "WHERE request_id = ?"));
      runtime::Binder(select) << request_id;
      if (select.executeStep()) event = ReadEvent(select);
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    return event;
  }

  absl::StatusOr<std::vector<StoredEvent>> EventsAfter(std::int64_t trial, std::int64_t number,
                                                       std::size_t max_bytes) override {
    std::vector<StoredEvent> events;
    auto status = Try("read events", [&] {
      SQLite::Statement select(
          database_, absl::StrCat(kSelectEvent, "WHERE trial = ? AND number > ? ORDER BY number"));
      runtime::Binder(select) << trial << number;
      std::size_t bytes = 0;
      while (select.executeStep()) {
        StoredEvent event = ReadEvent(select);
        bytes += event.text.size();
        if (!events.empty() && bytes > max_bytes) break;
        events.push_back(std::move(event));
      }
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    return events;
  }

  absl::StatusOr<EventMarks> EventMarksOf(std::int64_t trial) override {
    EventMarks marks;
    auto status = Try("read events", [&] {
      const Query query(
          this,
          "SELECT coalesce(max(number), 0), coalesce(max(CASE WHEN attempt > 0 THEN number END), "
          "0) FROM events WHERE trial = ?");
      runtime::Binder(*query) << trial;
      query->executeStep();
      runtime::Reader read(*query);
      marks.last = read.Number();
      marks.last_delivered = read.Number();
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    return marks;
  }

  absl::Status Remove(const Removal& removal) override {
    return Try(absl::StrCat("remove trial ", removal.id), [&] {
      SettleBefore(removal.number);
      SQLite::Transaction transaction(database_, SQLite::TransactionBehavior::IMMEDIATE);
      SQLite::Statement insert(database_, "INSERT INTO removals VALUES (?, ?, ?, ?, ?, 0)");
      runtime::Binder(insert) << removal.number << removal.id << removal.name << removal.request_id
                              << removal.run_directory;
      insert.exec();
      DeleteTrial(removal.number);
      SQLite::Statement forget(
          database_,
          "DELETE FROM removals WHERE moved = 1 AND number NOT IN (SELECT number FROM removals "
          "ORDER BY number DESC LIMIT ?)");
      runtime::Binder(forget) << kRemovalsKept;
      forget.exec();
      transaction.commit();
      log_copier_.Empty();
      return absl::OkStatus();
    });
  }

  absl::StatusOr<std::optional<Removal>> RemovalWith(const std::string& request_id) override {
    auto removals = Removals("WHERE request_id = ?", request_id);
    if (!removals.ok()) return removals.status();
    return removals->empty() ? std::nullopt : std::optional<Removal>(removals->front());
  }

  absl::StatusOr<std::vector<Removal>> UnfinishedRemovals() override {
    return Removals("WHERE moved = 0 ORDER BY number", std::nullopt);
  }

  absl::Status FinishRemoval(std::int64_t trial) override {
    return Try("note a removal", [&] {
      SQLite::Statement update(database_, "UPDATE removals SET moved = 1 WHERE number = ?");
      runtime::Binder(update) << trial;
      update.exec();
      return absl::OkStatus();
    });
  }

  absl::Status Forget(const std::vector<std::int64_t>& trials) override {
    return Try("forget trials", [&] {
      for (const std::int64_t trial : trials) SettleBefore(trial);
      SQLite::Transaction transaction(database_, SQLite::TransactionBehavior::IMMEDIATE);
      for (const std::int64_t trial : trials) DeleteTrial(trial);
      transaction.commit();
      log_copier_.Empty();
      return absl::OkStatus();
    });
  }

 private:
  // If a back-up was restored here, updates the paths of runs to their current places.
  absl::Status TakeOver() {
    return runtime::ApplyRestored(database_, [&](const runtime::RestoredState& restored) {
      for (const auto& [table, column] :
           {std::pair("trials", "run_directory"), std::pair("trials", "start_checkpoint"),
            std::pair("removals", "run_directory")}) {
        Move(restored, table, column);
      }
      MoveSweeps(database_, restored);
    });
  }
  void Move(const runtime::RestoredState& restored, const char* table, const char* column) {
    std::vector<std::pair<std::int64_t, std::string>> moved;
    SQLite::Statement rows(database_, absl::StrCat("SELECT number, ", column, " FROM ", table));
    while (rows.executeStep()) {
      runtime::Reader read(rows);
      const std::int64_t number = read.Number();
      const std::string path = read.Text();
      std::string now = restored.Moved(path);
      if (now != path) moved.emplace_back(number, std::move(now));
    }
    SQLite::Statement change(
        database_, absl::StrCat("UPDATE ", table, " SET ", column, " = ? WHERE number = ?"));
    for (const auto& [number, path] : moved) {
      runtime::Binder(change) << path << number;
      change.exec();
      change.reset();
    }
  }

  static constexpr char kSelectEvent[] = "SELECT trial, number, text, request_id FROM events ";

  static StoredEvent ReadEvent(SQLite::Statement& statement) {
    runtime::Reader read(statement);
    StoredEvent event;
    event.trial = read.Number();
    event.number = read.Number();
    event.text = read.Text();
    event.request_id = read.Text();
    return event;
  }

  absl::StatusOr<std::vector<Removal>> Removals(const char* where,
                                                const std::optional<std::string>& value) {
    std::vector<Removal> removals;
    auto status = Try("read removals", [&] {
      SQLite::Statement select(
          database_,
          absl::StrCat("SELECT number, id, name, request_id, run_directory FROM removals ", where));
      runtime::Binder bind(select);
      if (value) bind << *value;
      while (select.executeStep()) {
        runtime::Reader read(select);
        Removal removal;
        removal.number = read.Number();
        removal.id = read.Text();
        removal.name = read.Text();
        removal.request_id = read.Text();
        removal.run_directory = read.Text();
        removals.push_back(std::move(removal));
      }
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    return removals;
  }

  // Reads trials one by one, so that a damaged page costs only the trials on it.
  absl::Status ForEachTrialBehind(std::int64_t last,
                                  const std::function<absl::Status(TrialRecord)>& take) {
    std::int64_t newest = 0;
    auto status = Try("read the trials", [&] {
      newest = database_.execAndGet("SELECT coalesce(max(number), 0) FROM trials").getInt64();
      return absl::OkStatus();
    });
    for (std::int64_t number = last + 1; status.ok() && number <= newest; ++number) {
      auto trial = LoadTrial(number);
      LOG_IF(ERROR, !trial.ok() && !absl::IsNotFound(trial.status())) << trial.status();
      if (!trial.ok()) continue;
      if (alerts_ != nullptr && !HasEnded(*trial)) alerts_->Know(*trial);
      status = take(*std::move(trial));
    }
    return status;
  }

  void DeleteTrial(std::int64_t trial) {
    for (const char* const table : kTablesOfTrials) {
      SQLite::Statement remove(database_,
                               absl::StrCat("DELETE FROM main.", table, " WHERE trial = ?"));
      runtime::Binder(remove) << trial;
      remove.exec();
    }
    SQLite::Statement remove(database_, "DELETE FROM trials WHERE number = ?");
    runtime::Binder(remove) << trial;
    remove.exec();
  }

  void WriteDelivery(const StoreBatch::Delivery& delivery) {
    SQLite::Statement update(database_,
                             "UPDATE events SET attempt = ?, line = ? WHERE trial = ? AND number "
                             "BETWEEN ? AND ?");
    runtime::Binder(update) << delivery.attempt << delivery.line << delivery.trial << delivery.first
                            << delivery.last;
    update.exec();
    SQLite::Statement forget(database_, "DELETE FROM events WHERE trial = ? AND number <= ?");
    runtime::Binder(forget) << delivery.trial << delivery.last - kEventsKept;
    forget.exec();
  }

  // Converts the exceptions of SQLiteCpp to statuses; none passes this class.
  template <typename Body>
  absl::Status Try(const std::string& what, Body body) {
    return runtime::TryDatabase(database_, what, std::move(body));
  }

  void PrepareStatements() {
    transaction_.emplace(database_);
    recent_.emplace(database_, &*transaction_,
                    RecentReports::Limits{options_.most_recent, options_.fewest_moved});
    update_trial_.emplace(
        database_,
        "UPDATE trials SET state = ?, attempt = ?, nonce = ?, job_request_id = ?, launching = ?, "
        "job = ?, started_us = ?, attempt_began_us = ?, ended_us = ?, stop_requested = ?, "
        "stop_grace_ms = ?, failure = ?, reason = ?, error_lines = ?, pause_requested = ?, "
        "start_checkpoint = ?, start_iteration = ?, start_time_total_us = ?, "
        "expelled = ?, criterion = ?, earlier_attempts_us = ?, "
        "failures = ?, earlier_metrics = ? WHERE number = ?");
  }

  void WriteConfiguration(std::int64_t trial, const std::string& config) {
    SQLite::Statement update(database_, "UPDATE trials SET config = ? WHERE number = ?");
    runtime::Binder(update) << config << trial;
    update.exec();
  }

  static void BindProgress(runtime::Binder& bind, const TrialRecord& trial) {
    bind << static_cast<std::int64_t>(trial.state) << trial.attempt << trial.nonce
         << trial.job_request_id << trial.launching << trial.job << trial.started_us
         << trial.attempt_began_us << trial.ended_us << trial.stop_requested << trial.stop_grace_ms
         << trial.failure << trial.reason << trial.error_lines;
  }

  static void BindStart(runtime::Binder& bind, const TrialRecord& trial) {
    bind << trial.start_checkpoint << trial.start_iteration << trial.start_time_total_us;
  }

  void WriteTrial(const TrialRecord& trial) {
    update_trial_->tryReset();
    runtime::Binder bind(*update_trial_);
    BindProgress(bind, trial);
    bind << trial.pause_requested;
    BindStart(bind, trial);
    bind << trial.expelled << trial.criterion << trial.earlier_attempts_us
         << std::int64_t{trial.failures} << trial.earlier_metrics << trial.number;
    update_trial_->exec();
  }

  void WriteSweepEvent(const SweepEventRow& event) {
    Query insert(this, kInsertSweepEvent);
    InsertSweepEvent(*insert, event);
  }

  // Writes each report together with its answer; both are in the order of the lines.
  absl::Status WriteReports(const StoreBatch& batch) {
    recent_->Begin();
    auto row = batch.rows.begin();
    for (const AnsweredLine& line : batch.lines) {
      const bool is_its =
          row != batch.rows.end() && row->trial == line.trial && row->row.attempt == line.attempt;
      const ResultRow* const report = is_its ? &row++->row : nullptr;
      const auto status =
          recent_->Add({line.trial, line.attempt, report, line.number, &line.answer});
      if (!status.ok()) return status;
    }
    for (; row != batch.rows.end(); ++row) {
      const auto status =
          recent_->Add({.trial = row->trial, .attempt = row->row.attempt, .row = &row->row});
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // Call it before deleting reports or lines of a trial.
  void SettleBefore(std::int64_t trial) {
    if (recent_->Has(trial)) recent_->Settle();
  }
  // Call it before reading them. Waiting entries are visible even if the disk is full.
  void SettleBeforeReading(std::int64_t trial) {
    if (recent_->Has(trial)) SettleToRead();
  }
  void SettleToRead() {
    if (recent_->shows_all()) return;
    try {
      recent_->Settle();
    } catch (const SQLite::Exception& error) {
      if (!runtime::IsNoRoom(database_, error)) throw;
      recent_->ShowAll();
    }
  }

  void WriteWidening(std::int64_t trial, const CsvWidening& widening) {
    std::int64_t place = 0;
    SQLite::Statement insert(database_, "INSERT INTO csv_columns VALUES (?, ?, ?, ?)");
    for (const std::string& column : widening.columns) {
      insert.tryReset();
      runtime::Binder(insert) << trial << widening.row << ++place << column;
      insert.exec();
    }
  }

  void WriteLog(const StoreBatch::Log& log) {
    SQLite::Statement insert(database_, "INSERT INTO logs VALUES (?, ?, ?)");
    runtime::Binder(insert) << log.trial << log.wall_time_us << log.text;
    insert.exec();
    if (++logs_written_ % kLogsBetween != 0) return;
    SQLite::Statement forget(database_,
                             "DELETE FROM logs WHERE trial = ? AND rowid NOT IN (SELECT rowid FROM "
                             "logs WHERE trial = ? ORDER BY rowid DESC LIMIT ?)");
    runtime::Binder(forget) << log.trial << log.trial << kLogsKept;
    forget.exec();
  }

  void WriteCheckpoint(const CheckpointRow& row) {
    SQLite::Statement insert(
        database_,
        "INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    runtime::Binder(insert) << row.trial << row.number << row.attempt << row.name << row.iteration
                            << row.time_total_us << row.wall_time_us << row.bytes << row.score
                            << row.step << row.report << row.pending << row.saves_first;
    insert.exec();
  }

  void ForgetCheckpoint(const CheckpointRow& row) {
    SQLite::Statement forget(database_, "DELETE FROM checkpoints WHERE trial = ? AND number = ?");
    runtime::Binder(forget) << row.trial << row.number;
    forget.exec();
  }

  // Newest first; a negative limit means no limit.
  absl::StatusOr<std::vector<CheckpointRow>> ReadCheckpoints(std::int64_t trial, int limit) {
    std::vector<CheckpointRow> rows;
    auto status = Try("read checkpoints", [&] {
      const Query query(
          this, absl::StrCat(kSelectCheckpoint, "WHERE trial = ? ORDER BY number DESC LIMIT ?"));
      runtime::Binder(*query) << trial << limit;
      while (query->executeStep()) rows.push_back(ReadCheckpoint(*query));
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    return rows;
  }

  absl::StatusOr<ResultRow> OneRow(const std::string& sql, std::int64_t trial,
                                   std::optional<std::int64_t> size) {
    ResultRow row;
    auto status = Try("read a report", [&] {
      SettleBeforeReading(trial);
      const Query query(this, sql);
      runtime::Binder bind(*query);
      bind << trial;
      if (size) bind << *size;
      if (query->executeStep()) row = ReadRow(*query);
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    return row;
  }

  // A prepared statement, compiled once and reused. The destructor resets it, because a statement
  // that is left unfinished prevents the WAL from being emptied.
  class Query {
   public:
    Query(SqliteStore* store, const std::string& sql)
        : statement_(store->queries_.try_emplace(sql, store->database_, sql).first->second) {}
    ~Query() { statement_.tryReset(); }
    Query(const Query&) = delete;
    Query& operator=(const Query&) = delete;
    SQLite::Statement& operator*() const { return statement_; }
    SQLite::Statement* operator->() const { return &statement_; }

   private:
    SQLite::Statement& statement_;
  };

  const std::string path_;
  const Options options_;
  runtime::WalCopier log_copier_;
  SQLite::Database database_;
  std::map<std::string, SQLite::Statement> queries_;
  // Created once the tables exist.
  std::optional<runtime::PreparedTransaction> transaction_;
  std::optional<RecentReports> recent_;
  std::optional<SQLite::Statement> update_trial_;
  std::int64_t logs_written_ = 0;
  AlertSource* alerts_ = nullptr;
};

}  // namespace

absl::Status TrialStore::Sync(const std::string& path) {
  // The WAL checkpoint syncs by itself, so data that is no longer in the WAL is safe. Nobody locks
  // the WAL file, so closing this descriptor releases no lock.
  const std::string log_path = path + "-wal";
  const runtime::UniqueFd log(open(log_path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!log.valid() && errno == ENOENT) return absl::OkStatus();
  if (log.valid() && fdatasync(log.get()) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("syncing ", log_path));
}

absl::StatusOr<std::unique_ptr<TrialStore>> TrialStore::Open(const std::string& path) {
  return Open(path, Options());
}

absl::StatusOr<std::unique_ptr<TrialStore>> TrialStore::Open(const std::string& path,
                                                             const Options& asked) {
  const auto is_new = runtime::MakeDatabaseFile(path);
  if (!is_new.ok()) return is_new.status();
  Options options = asked;
  if (*is_new) options.trace_of_use = {};
  try {
    auto store = std::make_unique<SqliteStore>(path, options);
    if (auto status = store->Prepare(); !status.ok()) return status;
    return store;
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("cannot open ", path, ": ", error.what()));
  }
}

}  // namespace trainer

#include "trainer/store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <string.h>

#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/unique_fd.h"

namespace trainer {
namespace {

// 2: trials.trace.
constexpr int kVersion = 2;
constexpr std::size_t kMetricsPerRead = 256 << 10;

// `reports` and `lines` are clustered by their key: the rows of a trial lie together, and a row
// that is there cannot be written twice.
constexpr char kSchema[] = R"sql(
  CREATE TABLE trials (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, request_id TEXT NOT NULL UNIQUE,
    experiment_id TEXT NOT NULL, hostname TEXT NOT NULL, created_us INTEGER NOT NULL,
    event_file TEXT NOT NULL,
    name TEXT NOT NULL, argv BLOB NOT NULL, environment BLOB NOT NULL,
    working_directory TEXT NOT NULL, run_directory TEXT NOT NULL, config TEXT NOT NULL,
    max_restarts INTEGER NOT NULL, seed INTEGER NOT NULL, spec_stop_grace_ms INTEGER NOT NULL,
    state INTEGER NOT NULL, attempt INTEGER NOT NULL, nonce TEXT NOT NULL,
    job_request_id TEXT NOT NULL, launching INTEGER NOT NULL, job TEXT NOT NULL,
    started_us INTEGER NOT NULL, attempt_started_us INTEGER NOT NULL, ended_us INTEGER NOT NULL,
    stop_requested INTEGER NOT NULL, stop_grace_ms INTEGER NOT NULL, failure TEXT NOT NULL,
    reason TEXT NOT NULL, error_lines BLOB NOT NULL, trace TEXT NOT NULL);
  CREATE TABLE reports (
    trial INTEGER NOT NULL, row INTEGER NOT NULL, attempt INTEGER NOT NULL,
    wall_time_us INTEGER NOT NULL, utc_offset_s INTEGER NOT NULL,
    training_iteration INTEGER NOT NULL, step INTEGER NOT NULL,
    time_this_iter_us INTEGER NOT NULL, time_total_us INTEGER NOT NULL, done INTEGER NOT NULL,
    metrics TEXT NOT NULL,
    result_json_end INTEGER NOT NULL, progress_csv_end INTEGER NOT NULL,
    event_file_end INTEGER NOT NULL,
    PRIMARY KEY (trial, row)) WITHOUT ROWID;
  CREATE TABLE lines (
    trial INTEGER NOT NULL, attempt INTEGER NOT NULL, number INTEGER NOT NULL,
    answer TEXT NOT NULL,
    PRIMARY KEY (trial, attempt, number)) WITHOUT ROWID;
  CREATE TABLE logs (
    trial INTEGER NOT NULL, wall_time_us INTEGER NOT NULL, text TEXT NOT NULL);
  CREATE INDEX logs_of_trial ON logs (trial);
)sql";

// What each earlier version lacks, by its number less one.
constexpr const char* kMigrations[kVersion - 1] = {
    "ALTER TABLE trials ADD COLUMN trace TEXT NOT NULL DEFAULT ''",
};

// How many of its last `log` lines a trial keeps, at least.
constexpr int kLogsKept = 1000;
// Old ones are forgotten at each so many lines of all trials: a prime, so that trials that take
// turns all have theirs.
constexpr int kLogsBetween = 997;

constexpr char kSelectRow[] =
    "SELECT row, attempt, wall_time_us, utc_offset_s, training_iteration, step, "
    "time_this_iter_us, time_total_us, done, metrics, result_json_end, progress_csv_end, "
    "event_file_end FROM reports ";

constexpr const char* kEndColumns[kResultFiles] = {"result_json_end", "progress_csv_end",
                                                   "event_file_end"};

// Words that hold no NUL byte, each followed by one.
std::string JoinWords(const std::vector<std::string>& words) {
  std::string bytes;
  for (const std::string& word : words) bytes.append(word.c_str(), word.size() + 1);
  return bytes;
}

std::vector<std::string> SplitWords(std::string_view bytes) {
  std::vector<std::string> words;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\0');
    words.emplace_back(bytes.substr(0, end));
    bytes.remove_prefix(end == bytes.npos ? bytes.size() : end + 1);
  }
  return words;
}

// Binds or reads the columns of a statement one after the other.
class Binder {
 public:
  explicit Binder(SQLite::Statement& statement) : statement_(statement) {}
  Binder& operator<<(std::int64_t value) {
    statement_.bind(++index_, value);
    return *this;
  }
  Binder& operator<<(const std::string& text) {
    statement_.bind(++index_, text);
    return *this;
  }
  Binder& operator<<(const std::vector<std::string>& words) {
    const std::string bytes = JoinWords(words);
    statement_.bind(++index_, bytes.data(), static_cast<int>(bytes.size()));
    return *this;
  }

 private:
  SQLite::Statement& statement_;
  int index_ = 0;
};

class Reader {
 public:
  explicit Reader(SQLite::Statement& statement) : statement_(statement) {}
  std::int64_t Number() { return statement_.getColumn(index_++).getInt64(); }
  std::string Text() { return statement_.getColumn(index_++).getString(); }
  std::vector<std::string> Words() {
    const auto column = statement_.getColumn(index_++);
    return SplitWords(
        {static_cast<const char*>(column.getBlob()), static_cast<std::size_t>(column.getBytes())});
  }

 private:
  SQLite::Statement& statement_;
  int index_ = 0;
};

ResultRow ReadRow(SQLite::Statement& statement) {
  Reader read(statement);
  ResultRow row;
  row.row = read.Number();
  row.attempt = static_cast<int>(read.Number());
  row.wall_time_us = read.Number();
  row.utc_offset_s = read.Number();
  row.training_iteration = read.Number();
  row.step = read.Number();
  row.time_this_iter_us = read.Number();
  row.time_total_us = read.Number();
  row.done = read.Number() != 0;
  row.metrics = read.Text();
  for (std::int64_t& end : row.ends) end = read.Number();
  return row;
}

TrialRecord ReadTrial(SQLite::Statement& statement) {
  Reader read(statement);
  TrialRecord trial;
  trial.number = read.Number();
  trial.run.trial_id = read.Text();
  trial.request_id = read.Text();
  trial.run.experiment_id = read.Text();
  trial.run.hostname = read.Text();
  trial.run.created_us = read.Number();
  trial.run.event_file = read.Text();
  trial.spec.name = read.Text();
  trial.spec.argv = read.Words();
  trial.spec.environment = read.Words();
  trial.spec.working_directory = read.Text();
  trial.spec.run_directory = read.Text();
  trial.spec.config = read.Text();
  trial.spec.max_restarts = static_cast<std::uint32_t>(read.Number());
  trial.spec.seed = static_cast<std::uint64_t>(read.Number());
  trial.spec.stop_grace_ms = read.Number();
  trial.state = static_cast<msg::TrialState>(read.Number());
  trial.attempt = static_cast<int>(read.Number());
  trial.nonce = read.Text();
  trial.job_request_id = read.Text();
  trial.launching = read.Number() != 0;
  trial.job = read.Text();
  trial.started_us = read.Number();
  trial.attempt_started_us = read.Number();
  trial.ended_us = read.Number();
  trial.stop_requested = read.Number() != 0;
  trial.stop_grace_ms = read.Number();
  trial.failure = read.Text();
  trial.reason = read.Text();
  trial.error_lines = read.Words();
  trial.trace = read.Text();
  return trial;
}

class SqliteStore : public Store {
 public:
  explicit SqliteStore(const std::string& path)
      : path_(path), database_(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, 5000) {}

  absl::Status Prepare() {
    return Try("open", [&] {
      database_.exec("PRAGMA journal_mode=WAL");
      database_.exec("PRAGMA synchronous=NORMAL");
      SQLite::Transaction transaction(database_, SQLite::TransactionBehavior::IMMEDIATE);
      const int version = database_.execAndGet("PRAGMA user_version").getInt();
      if (version > kVersion) {
        return absl::FailedPreconditionError(
            absl::StrCat(path_, " was written by a newer version (", version, ", this one knows ",
                         kVersion, ")"));
      }
      if (version == 0) database_.exec(kSchema);
      for (int old = version; old > 0 && old < kVersion; ++old) {
        database_.exec(kMigrations[old - 1]);
      }
      if (version < kVersion) database_.exec(absl::StrCat("PRAGMA user_version=", kVersion));
      transaction.commit();
      PrepareStatements();
      return absl::OkStatus();
    });
  }

  absl::StatusOr<std::vector<TrialRecord>> LoadTrials() override {
    std::vector<TrialRecord> trials;
    auto status = Try("read the trials", [&] {
      SQLite::Statement rows(database_, "SELECT * FROM trials ORDER BY number");
      while (rows.executeStep()) trials.push_back(ReadTrial(rows));
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    return trials;
  }

  absl::StatusOr<std::int64_t> Insert(const TrialRecord& trial) override {
    std::int64_t number = 0;
    auto status = Try(absl::StrCat("add trial ", trial.id()), [&] {
      SQLite::Statement insert(database_,
                               "INSERT INTO trials VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
                               "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
      const TrialSpec& spec = trial.spec;
      Binder bind(insert);
      bind << trial.id() << trial.request_id << trial.run.experiment_id << trial.run.hostname
           << trial.run.created_us << trial.run.event_file << spec.name << spec.argv
           << spec.environment << spec.working_directory << spec.run_directory << spec.config
           << std::int64_t{spec.max_restarts} << static_cast<std::int64_t>(spec.seed)
           << spec.stop_grace_ms;
      BindProgress(bind, trial);
      bind << trial.trace;
      insert.exec();
      number = database_.getLastInsertRowid();
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    return number;
  }

  absl::Status Write(const StoreBatch& batch) override {
    return Try("write", [&] {
      SQLite::Transaction transaction(database_, SQLite::TransactionBehavior::IMMEDIATE);
      for (const TrialRecord& trial : batch.trials) WriteTrial(trial);
      for (const StoreBatch::Row& row : batch.rows) WriteRow(row.trial, row.row);
      for (const AnsweredLine& line : batch.lines) WriteLine(line);
      for (const StoreBatch::Log& log : batch.logs) WriteLog(log);
      transaction.commit();
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
      SQLite::Statement select(
          database_, absl::StrCat(kSelectRow, "WHERE trial = ? AND row > ? ORDER BY row LIMIT ?"));
      Binder(select) << trial << row << limit;
      std::size_t bytes = 0;
      while (bytes < kMetricsPerRead && select.executeStep()) {
        rows.push_back(ReadRow(select));
        bytes += rows.back().metrics.size();
      }
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    return rows;
  }

  absl::StatusOr<std::int64_t> LastLine(std::int64_t trial, int attempt) override {
    std::int64_t number = 0;
    auto status = Try("read lines", [&] {
      SQLite::Statement select(database_,
                               "SELECT number FROM lines WHERE trial = ? AND attempt = ? "
                               "ORDER BY number DESC LIMIT 1");
      Binder(select) << trial << attempt;
      if (select.executeStep()) number = select.getColumn(0).getInt64();
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    return number;
  }

  absl::StatusOr<std::optional<std::string>> AnswerTo(std::int64_t trial, int attempt,
                                                      std::int64_t number) override {
    std::optional<std::string> answer;
    auto status = Try("read a line", [&] {
      SQLite::Statement select(
          database_, "SELECT answer FROM lines WHERE trial = ? AND attempt = ? AND number = ?");
      Binder(select) << trial << attempt << number;
      if (select.executeStep()) answer = select.getColumn(0).getString();
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    return answer;
  }

  absl::Status ForgetOldLines(std::int64_t ended_before_us) override {
    return Try("forget old lines", [&] {
      SQLite::Statement remove(database_,
                               "DELETE FROM lines WHERE (SELECT attempt > lines.attempt OR "
                               "(ended_us > 0 AND ended_us < ?) FROM trials WHERE number = trial)");
      Binder(remove) << ended_before_us;
      remove.exec();
      return absl::OkStatus();
    });
  }

 private:
  // SQLiteCpp throws; nothing above this class sees an exception.
  template <typename Body>
  absl::Status Try(const std::string& what, Body body) {
    try {
      return body();
    } catch (const SQLite::Exception& error) {
      const std::string text = absl::StrCat("cannot ", what, " in ", path_, ": ", error.what());
      if (error.getErrorCode() == SQLITE_CONSTRAINT) return absl::AlreadyExistsError(text);
      if (error.getErrorCode() == SQLITE_FULL) return absl::ResourceExhaustedError(text);
      return absl::InternalError(text);
    } catch (const std::exception& error) {
      return absl::InternalError(absl::StrCat("cannot ", what, ": ", error.what()));
    }
  }

  void PrepareStatements() {
    insert_row_.emplace(database_,
                        "INSERT INTO reports VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    insert_line_.emplace(database_, "INSERT INTO lines VALUES (?, ?, ?, ?)");
    forget_lines_.emplace(database_,
                          "DELETE FROM lines WHERE trial = ? AND attempt = ? AND number <= ?");
    update_trial_.emplace(
        database_,
        "UPDATE trials SET state = ?, attempt = ?, nonce = ?, job_request_id = ?, launching = ?, "
        "job = ?, started_us = ?, attempt_started_us = ?, ended_us = ?, stop_requested = ?, "
        "stop_grace_ms = ?, failure = ?, reason = ?, error_lines = ? WHERE number = ?");
  }

  static void BindProgress(Binder& bind, const TrialRecord& trial) {
    bind << static_cast<std::int64_t>(trial.state) << trial.attempt << trial.nonce
         << trial.job_request_id << trial.launching << trial.job << trial.started_us
         << trial.attempt_started_us << trial.ended_us << trial.stop_requested
         << trial.stop_grace_ms << trial.failure << trial.reason << trial.error_lines;
  }

  void WriteTrial(const TrialRecord& trial) {
    update_trial_->tryReset();
    Binder bind(*update_trial_);
    BindProgress(bind, trial);
    bind << trial.number;
    update_trial_->exec();
  }

  void WriteRow(std::int64_t trial, const ResultRow& row) {
    insert_row_->tryReset();
    Binder bind(*insert_row_);
    bind << trial << row.row << row.attempt << row.wall_time_us << row.utc_offset_s
         << row.training_iteration << row.step << row.time_this_iter_us << row.time_total_us
         << row.done << row.metrics;
    for (const std::int64_t end : row.ends) bind << end;
    insert_row_->exec();
  }

  void WriteLine(const AnsweredLine& line) {
    insert_line_->tryReset();
    Binder(*insert_line_) << line.trial << line.attempt << line.number << line.answer;
    insert_line_->exec();
    if (line.number % (kAnswersKept / 2) != 0) return;
    forget_lines_->tryReset();
    Binder(*forget_lines_) << line.trial << line.attempt << line.number - kAnswersKept;
    forget_lines_->exec();
  }

  void WriteLog(const StoreBatch::Log& log) {
    SQLite::Statement insert(database_, "INSERT INTO logs VALUES (?, ?, ?)");
    Binder(insert) << log.trial << log.wall_time_us << log.text;
    insert.exec();
    if (++logs_written_ % kLogsBetween != 0) return;
    SQLite::Statement forget(database_,
                             "DELETE FROM logs WHERE trial = ? AND rowid NOT IN (SELECT rowid FROM "
                             "logs WHERE trial = ? ORDER BY rowid DESC LIMIT ?)");
    Binder(forget) << log.trial << log.trial << std::int64_t{kLogsKept};
    forget.exec();
  }

  absl::StatusOr<ResultRow> OneRow(const std::string& sql, std::int64_t trial,
                                   std::optional<std::int64_t> size) {
    ResultRow row;
    auto status = Try("read a report", [&] {
      SQLite::Statement select(database_, sql);
      Binder bind(select);
      bind << trial;
      if (size) bind << *size;
      if (select.executeStep()) row = ReadRow(select);
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    return row;
  }

  const std::string path_;
  SQLite::Database database_;
  // Those of every report; made once.
  std::optional<SQLite::Statement> insert_row_, insert_line_, forget_lines_, update_trial_;
  std::int64_t logs_written_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> Store::Open(const std::string& path) {
  // SQLite gives its WAL files the mode of the database.
  runtime::UniqueFd file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file.valid()) {
    return absl::InternalError(absl::StrCat("cannot open ", path, ": ", strerror(errno)));
  }
  file.reset();  // Now: it would end SQLite's locks on the file.
  try {
    auto store = std::make_unique<SqliteStore>(path);
    if (auto status = store->Prepare(); !status.ok()) return status;
    return store;
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("cannot open ", path, ": ", error.what()));
  }
}

}  // namespace trainer

#include "launcher/store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <string.h>

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "launcher/job_spec_record.h"
#include "runtime/unique_fd.h"

namespace launcher {
namespace {

constexpr int kVersion = 3;

// Times of the monotonic clock mean nothing to the next process and are not kept.
constexpr char kSchema[] = R"sql(
  CREATE TABLE jobs (
    id TEXT PRIMARY KEY, request_id TEXT NOT NULL UNIQUE, created_us INTEGER NOT NULL,
    ended_us INTEGER NOT NULL, spec BLOB NOT NULL);
  CREATE TABLE tasks (
    job TEXT NOT NULL REFERENCES jobs(id) ON DELETE CASCADE, type TEXT NOT NULL,
    idx INTEGER NOT NULL, state INTEGER NOT NULL, attempt INTEGER NOT NULL,
    quick_failures INTEGER NOT NULL, restarts INTEGER NOT NULL, stop_requested INTEGER NOT NULL,
    stop_grace_ms INTEGER NOT NULL, stop_reason TEXT NOT NULL, reason TEXT NOT NULL,
    PRIMARY KEY (job, type, idx));
  CREATE TABLE attempts (
    job TEXT NOT NULL REFERENCES jobs(id) ON DELETE CASCADE, type TEXT NOT NULL,
    idx INTEGER NOT NULL, number INTEGER NOT NULL, pid INTEGER NOT NULL,
    start_ticks INTEGER NOT NULL, started_us INTEGER NOT NULL, ended_us INTEGER NOT NULL,
    exit_code INTEGER NOT NULL, signal INTEGER NOT NULL, reason TEXT NOT NULL,
    stdout_begin INTEGER NOT NULL, stdout_end INTEGER NOT NULL,
    stderr_begin INTEGER NOT NULL, stderr_end INTEGER NOT NULL,
    shim_lost INTEGER NOT NULL DEFAULT 0, error_number INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (job, type, idx, number));
)sql";

// From version 2 and before.
constexpr char kAddErrorNumber[] = R"sql(
  ALTER TABLE attempts ADD COLUMN error_number INTEGER NOT NULL DEFAULT 0;
)sql";

// From version 1, which had only the words.
constexpr char kAddShimLost[] = R"sql(
  ALTER TABLE attempts ADD COLUMN shim_lost INTEGER NOT NULL DEFAULT 0;
  UPDATE attempts SET shim_lost = 1
    WHERE reason LIKE 'the shim was killed%' OR reason LIKE 'the shim ended early%';
)sql";

std::int64_t Signed(std::uint64_t value) { return static_cast<std::int64_t>(value); }
std::uint64_t Unsigned(std::int64_t value) { return static_cast<std::uint64_t>(value); }

class SqliteStore : public Store {
 public:
  explicit SqliteStore(const std::string& path)
      : path_(path), database_(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, 5000) {}

  absl::Status Prepare() {
    return Try("open", [&] {
      database_.exec("PRAGMA journal_mode=WAL");
      database_.exec("PRAGMA synchronous=NORMAL");
      database_.exec("PRAGMA foreign_keys=ON");
      SQLite::Transaction transaction(database_, SQLite::TransactionBehavior::IMMEDIATE);
      const int version = database_.execAndGet("PRAGMA user_version").getInt();
      if (version > kVersion) {
        return absl::FailedPreconditionError(
            absl::StrCat(path_, " was written by a newer version (", version, ", this one knows ",
                         kVersion, ")"));
      }
      if (version == 0) database_.exec(kSchema);
      if (version == 1) database_.exec(kAddShimLost);
      if (version == 1 || version == 2) database_.exec(kAddErrorNumber);
      if (version != kVersion) database_.exec(absl::StrCat("PRAGMA user_version=", kVersion));
      transaction.commit();
      return absl::OkStatus();
    });
  }

  absl::StatusOr<std::vector<JobRow>> Load() override {
    std::vector<JobRow> jobs;
    auto status = Try("read", [&] {
      std::map<std::string, std::size_t> places;
      SQLite::Statement rows(database_,
                             "SELECT id, request_id, created_us, ended_us, spec FROM jobs "
                             "ORDER BY created_us, id");
      while (rows.executeStep()) {
        const auto spec = rows.getColumn(4);
        auto decoded = DecodeJobSpec(
            {static_cast<const char*>(spec.getBlob()), static_cast<std::size_t>(spec.getBytes())});
        if (!decoded) {
          return absl::DataLossError(absl::StrCat(path_, ": the spec of job ",
                                                  rows.getColumn(0).getText(), " cannot be read"));
        }
        JobRow job;
        job.id = rows.getColumn(0).getString();
        job.request_id = rows.getColumn(1).getString();
        job.created_us = rows.getColumn(2).getInt64();
        job.ended_us = rows.getColumn(3).getInt64();
        job.spec = std::move(*decoded);
        places[job.id] = jobs.size();
        jobs.push_back(std::move(job));
      }
      LoadTasks(places, jobs);
      LoadAttempts(places, jobs);
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    return jobs;
  }

  absl::Status Insert(const JobRow& job) override {
    return Try(absl::StrCat("add job ", job.id), [&] {
      SQLite::Transaction transaction(database_, SQLite::TransactionBehavior::IMMEDIATE);
      SQLite::Statement insert(database_, "INSERT INTO jobs VALUES (?, ?, ?, ?, ?)");
      const std::string spec = EncodeJobSpec(job.spec);
      insert.bind(1, job.id);
      insert.bind(2, job.request_id);
      insert.bind(3, job.created_us);
      insert.bind(4, job.ended_us);
      insert.bind(5, spec.data(), static_cast<int>(spec.size()));
      insert.exec();
      WriteTask(job);
      transaction.commit();
      return absl::OkStatus();
    });
  }

  absl::Status Save(const JobRow& job) override {
    return Try(absl::StrCat("save job ", job.id), [&] {
      SQLite::Transaction transaction(database_, SQLite::TransactionBehavior::IMMEDIATE);
      SQLite::Statement update(database_, "UPDATE jobs SET ended_us = ? WHERE id = ?");
      update.bind(1, job.ended_us);
      update.bind(2, job.id);
      update.exec();
      WriteTask(job);
      if (!job.task.attempts.empty()) WriteAttempt(job, job.task.attempts.back());
      transaction.commit();
      return absl::OkStatus();
    });
  }

  absl::Status Remove(const std::string& job) override {
    return Try(absl::StrCat("remove job ", job), [&] {
      SQLite::Statement remove(database_, "DELETE FROM jobs WHERE id = ?");
      remove.bind(1, job);
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

  void LoadTasks(const std::map<std::string, std::size_t>& places, std::vector<JobRow>& jobs) {
    SQLite::Statement rows(database_,
                           "SELECT job, type, idx, state, attempt, quick_failures, restarts, "
                           "stop_requested, stop_grace_ms, stop_reason, reason FROM tasks");
    while (rows.executeStep()) {
      TaskRow& task = jobs[places.at(rows.getColumn(0).getString())].task;
      task.type = rows.getColumn(1).getString();
      task.index = rows.getColumn(2).getInt();
      task.status.state = static_cast<msg::TaskState>(rows.getColumn(3).getInt());
      task.status.attempt = rows.getColumn(4).getInt();
      task.status.quick_failures = rows.getColumn(5).getInt();
      task.status.restarts = rows.getColumn(6).getInt();
      task.status.stop_requested = rows.getColumn(7).getInt() != 0;
      task.status.stop_grace = absl::Milliseconds(rows.getColumn(8).getInt64());
      task.status.stop_reason = rows.getColumn(9).getString();
      task.status.reason = rows.getColumn(10).getString();
    }
  }

  void LoadAttempts(const std::map<std::string, std::size_t>& places, std::vector<JobRow>& jobs) {
    SQLite::Statement rows(database_,
                           "SELECT job, number, pid, start_ticks, started_us, ended_us, exit_code, "
                           "signal, reason, stdout_begin, stdout_end, stderr_begin, stderr_end, "
                           "shim_lost, error_number FROM attempts ORDER BY number");
    while (rows.executeStep()) {
      AttemptRow attempt;
      attempt.number = rows.getColumn(1).getInt();
      attempt.pid = rows.getColumn(2).getInt();
      attempt.start_ticks = Unsigned(rows.getColumn(3).getInt64());
      attempt.started_us = rows.getColumn(4).getInt64();
      attempt.ended_us = rows.getColumn(5).getInt64();
      attempt.exit_code = rows.getColumn(6).getInt();
      attempt.signal = rows.getColumn(7).getInt();
      attempt.reason = rows.getColumn(8).getString();
      attempt.stdout_begin = Unsigned(rows.getColumn(9).getInt64());
      attempt.stdout_end = Unsigned(rows.getColumn(10).getInt64());
      attempt.stderr_begin = Unsigned(rows.getColumn(11).getInt64());
      attempt.stderr_end = Unsigned(rows.getColumn(12).getInt64());
      attempt.shim_lost = rows.getColumn(13).getInt() != 0;
      attempt.error_number = rows.getColumn(14).getInt();
      jobs[places.at(rows.getColumn(0).getString())].task.attempts.push_back(std::move(attempt));
    }
  }

  void WriteTask(const JobRow& job) {
    const TaskStatus& status = job.task.status;
    SQLite::Statement write(
        database_, "INSERT OR REPLACE INTO tasks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    write.bind(1, job.id);
    write.bind(2, job.task.type);
    write.bind(3, job.task.index);
    write.bind(4, static_cast<int>(status.state));
    write.bind(5, status.attempt);
    write.bind(6, status.quick_failures);
    write.bind(7, status.restarts);
    write.bind(8, status.stop_requested ? 1 : 0);
    write.bind(9, absl::ToInt64Milliseconds(status.stop_grace));
    write.bind(10, status.stop_reason);
    write.bind(11, status.reason);
    write.exec();
  }

  void WriteAttempt(const JobRow& job, const AttemptRow& attempt) {
    SQLite::Statement write(database_,
                            "INSERT OR REPLACE INTO attempts VALUES "
                            "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    write.bind(1, job.id);
    write.bind(2, job.task.type);
    write.bind(3, job.task.index);
    write.bind(4, attempt.number);
    write.bind(5, attempt.pid);
    write.bind(6, Signed(attempt.start_ticks));
    write.bind(7, attempt.started_us);
    write.bind(8, attempt.ended_us);
    write.bind(9, attempt.exit_code);
    write.bind(10, attempt.signal);
    write.bind(11, attempt.reason);
    write.bind(12, Signed(attempt.stdout_begin));
    write.bind(13, Signed(attempt.stdout_end));
    write.bind(14, Signed(attempt.stderr_begin));
    write.bind(15, Signed(attempt.stderr_end));
    write.bind(16, attempt.shim_lost ? 1 : 0);
    write.bind(17, attempt.error_number);
    write.exec();
  }

  const std::string path_;
  SQLite::Database database_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> Store::Open(const std::string& path) {
  // SQLite gives its WAL files the mode of the database.
  const runtime::UniqueFd file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file.valid()) {
    return absl::InternalError(absl::StrCat("cannot open ", path, ": ", strerror(errno)));
  }
  try {
    auto store = std::make_unique<SqliteStore>(path);
    if (auto status = store->Prepare(); !status.ok()) return status;
    return store;
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("cannot open ", path, ": ", error.what()));
  }
}

}  // namespace launcher

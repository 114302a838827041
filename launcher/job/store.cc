#include "launcher/job/store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bus/call/stored_table.h"
#include "glog/logging.h"
#include "launcher/job/job_spec_record.h"
#include "launcher/process/process_table.h"
#include "launcher/wire/record.h"
#include "runtime/file/unique_fd.h"
#include "runtime/sqlite/database_schema.h"
#include "runtime/sqlite/wal_copier.h"

namespace launcher {
namespace {

// Times of the monotonic clock mean nothing after a boot.
constexpr char kSchema[] = R"sql(
  CREATE TABLE jobs (
    id TEXT PRIMARY KEY, request_id TEXT NOT NULL UNIQUE, created_us INTEGER NOT NULL,
    ended_us INTEGER NOT NULL, spec BLOB NOT NULL, state BLOB NOT NULL DEFAULT x'');
  CREATE TABLE tasks (
    job TEXT NOT NULL REFERENCES jobs(id) ON DELETE CASCADE, type TEXT NOT NULL,
    idx INTEGER NOT NULL, state INTEGER NOT NULL, attempt INTEGER NOT NULL,
    quick_failures INTEGER NOT NULL, restarts INTEGER NOT NULL, stop INTEGER NOT NULL,
    stop_grace_ms INTEGER NOT NULL, stop_reason TEXT NOT NULL, reason TEXT NOT NULL,
    rank INTEGER NOT NULL DEFAULT 0, granted INTEGER NOT NULL DEFAULT 0,
    address TEXT NOT NULL DEFAULT '', resources BLOB NOT NULL DEFAULT x'',
    ready INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (job, type, idx));
  CREATE TABLE attempts (
    job TEXT NOT NULL REFERENCES jobs(id) ON DELETE CASCADE, type TEXT NOT NULL,
    idx INTEGER NOT NULL, number INTEGER NOT NULL, pid INTEGER NOT NULL,
    start_ticks INTEGER NOT NULL, started_us INTEGER NOT NULL, ended_us INTEGER NOT NULL,
    exit_code INTEGER NOT NULL, signal INTEGER NOT NULL, reason TEXT NOT NULL,
    stdout_begin INTEGER NOT NULL, stdout_end INTEGER NOT NULL,
    stderr_begin INTEGER NOT NULL, stderr_end INTEGER NOT NULL,
    shim_lost INTEGER NOT NULL DEFAULT 0, error_number INTEGER NOT NULL DEFAULT 0,
    core_dumped INTEGER NOT NULL DEFAULT 0, was_stopped INTEGER NOT NULL DEFAULT 0,
    out_of_memory INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (job, type, idx, number));
)sql";

constexpr char kAddShimLost[] = R"sql(
  ALTER TABLE attempts ADD COLUMN shim_lost INTEGER NOT NULL DEFAULT 0;
  UPDATE attempts SET shim_lost = 1
    WHERE reason LIKE 'the shim was killed%' OR reason LIKE 'the shim ended early%';
)sql";

constexpr char kAddErrorNumber[] = R"sql(
  ALTER TABLE attempts ADD COLUMN error_number INTEGER NOT NULL DEFAULT 0;
)sql";

constexpr char kAddTasks[] = R"sql(
  ALTER TABLE jobs ADD COLUMN state BLOB NOT NULL DEFAULT x'';
  ALTER TABLE tasks RENAME COLUMN stop_requested TO stop;
  ALTER TABLE tasks ADD COLUMN rank INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE tasks ADD COLUMN granted INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE tasks ADD COLUMN address TEXT NOT NULL DEFAULT '';
  ALTER TABLE tasks ADD COLUMN resources BLOB NOT NULL DEFAULT x'';
  ALTER TABLE tasks ADD COLUMN ready INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE attempts ADD COLUMN core_dumped INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE attempts ADD COLUMN was_stopped INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE attempts ADD COLUMN out_of_memory INTEGER NOT NULL DEFAULT 0;
)sql";

// What each earlier version lacks: 1 had only the words of a lost shim, 2 no error number; until 3
// a job had one task. (That a stop was requested is StopCause::kAsked.)
runtime::DatabaseSchema Schema() {
  return {.newest = kSchema, .migrations = {kAddShimLost, kAddErrorNumber, kAddTasks}};
}

constexpr char kInsertJob[] = "INSERT INTO jobs VALUES (?, ?, ?, ?, ?, ?)";
constexpr char kUpdateJob[] = "UPDATE jobs SET ended_us = ?, state = ? WHERE id = ?";
// A row that is there stays where it is: the index is not touched.
constexpr char kWriteTask[] =
    "INSERT INTO tasks (job, type, idx, state, attempt, quick_failures, restarts, stop, "
    "stop_grace_ms, stop_reason, reason, rank, granted, address, resources, ready) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (job, type, idx) DO UPDATE SET state = excluded.state, "
    "attempt = excluded.attempt, quick_failures = excluded.quick_failures, "
    "restarts = excluded.restarts, stop = excluded.stop, stop_grace_ms = excluded.stop_grace_ms, "
    "stop_reason = excluded.stop_reason, reason = excluded.reason, granted = excluded.granted, "
    "address = excluded.address, resources = excluded.resources, ready = excluded.ready";
constexpr char kWriteAttempt[] =
    "INSERT INTO attempts (job, type, idx, number, pid, start_ticks, started_us, ended_us, "
    "exit_code, signal, reason, stdout_begin, stdout_end, stderr_begin, stderr_end, shim_lost, "
    "error_number, core_dumped, was_stopped, out_of_memory) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (job, type, idx, number) DO UPDATE SET pid = excluded.pid, "
    "start_ticks = excluded.start_ticks, started_us = excluded.started_us, "
    "ended_us = excluded.ended_us, exit_code = excluded.exit_code, signal = excluded.signal, "
    "reason = excluded.reason, stdout_begin = excluded.stdout_begin, "
    "stdout_end = excluded.stdout_end, stderr_begin = excluded.stderr_begin, "
    "stderr_end = excluded.stderr_end, shim_lost = excluded.shim_lost, "
    "error_number = excluded.error_number, core_dumped = excluded.core_dumped, "
    "was_stopped = excluded.was_stopped, out_of_memory = excluded.out_of_memory";

const std::string& OwnBoot() {
  static const auto* const boot = new std::string(BootId());
  return *boot;
}

// What is of a job alone, but for its times.
std::string EncodeState(const JobRow& job) {
  Record record("job-state");
  record.AddNumber("phase", static_cast<int>(job.status.phase));
  record.Add("ending", job.status.ending);
  record.AddNumber("time_is_over", job.status.time_is_over ? 1 : 0);
  record.AddNumber("stop_requested", job.status.stop_requested ? 1 : 0);
  record.AddNumber("first_failure", job.status.first_failure);
  record.AddNumber("restarts", job.status.restarts);
  record.AddNumber("quick_failures", job.status.quick_failures);
  record.AddNumber("run_since_us", job.run_since_us);
  if (job.run_since_monotonic_us >= 0) {
    record.AddNumber("run_since_monotonic_us", job.run_since_monotonic_us);
    record.Add("boot", OwnBoot());
  }
  for (const int port : job.ports) record.AddNumber("port", port);
  if (job.failure != nullptr) {
    record.Add("failure", bus::EncodeStored<msg::Failure>(*job.failure));
  }
  return record.Encode();
}

void DecodeState(std::string_view bytes, JobRow* job) {
  const auto record = Record::Parse(bytes);
  if (!record || record->kind() != "job-state") return;  // Of a version without one.
  JobStatus& status = job->status;
  status.phase = static_cast<JobStatus::Phase>(record->GetNumber("phase"));
  status.ending = record->Get("ending");
  status.time_is_over = record->GetNumber("time_is_over") != 0;
  status.stop_requested = record->GetNumber("stop_requested") != 0;
  status.first_failure = static_cast<int>(record->GetNumber("first_failure"));
  status.restarts = static_cast<int>(record->GetNumber("restarts"));
  status.quick_failures = static_cast<int>(record->GetNumber("quick_failures"));
  job->run_since_us = record->GetNumber("run_since_us");
  if (record->Has("boot") && record->Get("boot") == OwnBoot()) {
    job->run_since_monotonic_us = record->GetNumber("run_since_monotonic_us");
  }
  for (const std::string& port : record->GetAll("port")) job->ports.push_back(atoi(port.c_str()));
  job->failure = bus::DecodeStored<msg::Failure>(record->Get("failure"));
}

std::string EncodeResources(const TaskRow& task) {
  Record record("resources");
  record.AddAll("of", task.resources);
  return record.Encode();
}

// In a job without a state of its own: what its only task says.
void CompleteState(JobRow* job) {
  if (job->status.first_failure != kWholeJob || job->tasks.size() != 1) return;
  const TaskStatus& task = job->status.tasks[0];
  if (task.state == msg::TaskState::Failed || task.state == msg::TaskState::Lost) {
    job->status.first_failure = 0;
  }
}

std::string_view Bytes(const SQLite::Column& column) {
  return {static_cast<const char*>(column.getBlob()), static_cast<std::size_t>(column.getBytes())};
}

std::int64_t Signed(std::uint64_t value) { return static_cast<std::int64_t>(value); }
std::uint64_t Unsigned(std::int64_t value) { return static_cast<std::uint64_t>(value); }

constexpr const char* kTables[] = {"jobs", "tasks", "attempts"};

std::size_t TasksAskedFor(const msg::JobSpecT& spec) {
  if (spec.groups.empty()) return 1;
  std::size_t tasks = 0;
  for (const auto& group : spec.groups) {
    tasks += group->count != 0 ? group->count : std::max<std::size_t>(1, group->addresses.size());
  }
  return tasks;
}

class SqliteStore : public Store {
 public:
  SqliteStore(const std::string& path, std::function<std::string()> trace_of_use)
      : path_(path),
        trace_of_use_(std::move(trace_of_use)),
        log_copier_(path),
        database_(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, 5000) {}

  absl::Status Prepare() {
    return Try("open", [&] {
      runtime::DatabaseSchema schema = Schema();
      schema.trace_of_use = trace_of_use_;
      if (auto status = runtime::PrepareDatabase(database_, schema); !status.ok()) return status;
      database_.exec("PRAGMA foreign_keys=ON");
      // An environment may have secrets.
      database_.exec("PRAGMA secure_delete=ON");
      // Of pages; all that is read after Load() is what was written last.
      database_.exec("PRAGMA cache_size=-1024");
      log_copier_.Serve(database_);
      return absl::OkStatus();
    });
  }

  absl::StatusOr<std::vector<JobRow>> Load() override {
    auto jobs = Read(/*is_damaged=*/false);
    if (jobs.ok() || !std::exchange(is_corrupt_, false)) return jobs;
    LOG(ERROR) << jobs.status()
               << "; the jobs that can be read are kept. Restore a back-up for the others";
    if (auto status = CopyWhatCanBeRead(); !status.ok()) return status;
    jobs = Read(/*is_damaged=*/true);
    auto dropped = Try("forget a copy", [&] {
      for (const char* const table : kTables) {
        database_.exec(absl::StrCat("DROP TABLE temp.", table));
      }
      return absl::OkStatus();
    });
    LOG_IF(ERROR, !dropped.ok()) << dropped;
    return jobs;
  }

  // To tables that go before those of the same names. A page that is damaged costs the rows in it.
  absl::Status CopyWhatCanBeRead() {
    return Try("copy what can be read", [&] {
      for (const char* const table : kTables) {
        database_.exec(absl::StrCat("CREATE TEMP TABLE ", table, " AS SELECT * FROM main.", table,
                                    " WHERE 0"));
        const std::int64_t last =
            database_.execAndGet(absl::StrCat("SELECT coalesce(max(rowid), 0) FROM main.", table))
                .getInt64();
        SQLite::Statement copy(
            database_, absl::StrCat("INSERT INTO temp.", table, " SELECT * FROM main.", table,
                                    " WHERE rowid = ?"));
        for (std::int64_t row = 1; row <= last; ++row) {
          copy.tryReset();
          copy.bind(1, row);
          (void)copy.tryExecuteStep();
        }
      }
      return absl::OkStatus();
    });
  }

  // Of a damaged one those jobs are left out that are not whole.
  absl::StatusOr<std::vector<JobRow>> Read(bool is_damaged) {
    std::vector<JobRow> jobs;
    auto status = Try("read", [&] {
      std::map<std::string, std::size_t> places;
      SQLite::Statement rows(database_,
                             "SELECT id, request_id, created_us, ended_us, spec, state FROM jobs "
                             "ORDER BY created_us, id");
      while (rows.executeStep()) {
        auto decoded = DecodeJobSpec(Bytes(rows.getColumn(4)));
        if (!decoded && is_damaged) continue;
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
        DecodeState(Bytes(rows.getColumn(5)), &job);
        places[job.id] = jobs.size();
        jobs.push_back(std::move(job));
      }
      LoadTasks(places, jobs);
      LoadAttempts(places, jobs);
      if (is_damaged) {
        std::erase_if(
            jobs, [](const JobRow& job) { return job.tasks.size() != TasksAskedFor(job.spec); });
      }
      for (JobRow& job : jobs) {
        if (job.tasks.empty()) {
          return absl::DataLossError(absl::StrCat(path_, ": job ", job.id, " has no task"));
        }
        CompleteState(&job);
      }
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    return jobs;
  }

  absl::StatusOr<FromCaller> LoadFromCaller(const std::string& job) override {
    FromCaller caller;
    const absl::Status status = Try(absl::StrCat("read the environment of job ", job), [&] {
      SQLite::Statement row(database_, "SELECT spec FROM jobs WHERE id = ?");
      row.bind(1, job);
      if (!row.executeStep()) return absl::NotFoundError(absl::StrCat(path_, " has no job ", job));
      auto spec = DecodeJobSpec(Bytes(row.getColumn(0)));
      if (!spec) {
        return absl::DataLossError(
            absl::StrCat(path_, ": the spec of job ", job, " cannot be read"));
      }
      caller = TakeFromCaller(&*spec);
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    return caller;
  }

  absl::Status Insert(const JobRow& job) override {
    return Try(absl::StrCat("add job ", job.id), [&] {
      SQLite::Transaction transaction(database_, SQLite::TransactionBehavior::IMMEDIATE);
      SQLite::Statement& insert = Statement(kInsertJob);
      const std::string spec = EncodeJobSpec(job.spec);
      const std::string state = EncodeState(job);
      insert.bindNoCopy(1, job.id);
      insert.bindNoCopy(2, job.request_id);
      insert.bind(3, job.created_us);
      insert.bind(4, job.ended_us);
      insert.bindNoCopy(5, spec.data(), static_cast<int>(spec.size()));
      insert.bindNoCopy(6, state.data(), static_cast<int>(state.size()));
      insert.exec();
      for (std::size_t i = 0; i < job.tasks.size(); ++i) {
        WriteTask(job, i);
        for (const AttemptRow& attempt : job.tasks[i].attempts) {
          WriteAttempt(job, job.tasks[i], attempt);
        }
      }
      transaction.commit();
      return absl::OkStatus();
    });
  }

  absl::Status Save(const std::vector<Change>& changes) override {
    if (changes.empty()) return absl::OkStatus();
    const std::string more =
        changes.size() == 1 ? "" : absl::StrCat(" and ", changes.size() - 1, " more");
    return Try(absl::StrCat("save job ", changes[0].job->id, more), [&] {
      SQLite::Transaction transaction(database_, SQLite::TransactionBehavior::IMMEDIATE);
      for (const Change& change : changes) Write(change);
      transaction.commit();
      return absl::OkStatus();
    });
  }

  absl::Status Remove(const std::string& job) override {
    return Try(absl::StrCat("remove job ", job), [&] {
      SQLite::Statement remove(database_, "DELETE FROM jobs WHERE id = ?");
      remove.bind(1, job);
      remove.exec();
      log_copier_.Empty();
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
      if (error.getErrorCode() == SQLITE_CORRUPT) is_corrupt_ = true;
      if (error.getErrorCode() == SQLITE_CONSTRAINT) return absl::AlreadyExistsError(text);
      if (error.getErrorCode() == SQLITE_FULL) return absl::ResourceExhaustedError(text);
      return absl::InternalError(text);
    } catch (const std::exception& error) {
      return absl::InternalError(absl::StrCat("cannot ", what, ": ", error.what()));
    }
  }

  void LoadTasks(const std::map<std::string, std::size_t>& places, std::vector<JobRow>& jobs) {
    SQLite::Statement rows(
        database_,
        "SELECT job, type, idx, state, attempt, quick_failures, restarts, "
        "stop, stop_grace_ms, stop_reason, reason, granted, address, resources, ready "
        "FROM tasks ORDER BY job, rank");
    while (rows.executeStep()) {
      const auto place = places.find(rows.getColumn(0).getString());
      if (place == places.end()) continue;  // Its job was damaged.
      JobRow& job = jobs[place->second];
      TaskRow& task = job.tasks.emplace_back();
      task.type = rows.getColumn(1).getString();
      task.index = rows.getColumn(2).getInt();
      TaskStatus& status = job.status.tasks.emplace_back();
      status.state = static_cast<msg::TaskState>(rows.getColumn(3).getInt());
      status.attempt = rows.getColumn(4).getInt();
      status.quick_failures = rows.getColumn(5).getInt();
      status.restarts = rows.getColumn(6).getInt();
      status.stop = static_cast<StopCause>(rows.getColumn(7).getInt());
      status.stop_grace = absl::Milliseconds(rows.getColumn(8).getInt64());
      status.stop_reason = rows.getColumn(9).getString();
      status.reason = rows.getColumn(10).getString();
      status.granted = rows.getColumn(11).getInt() != 0;
      task.address = rows.getColumn(12).getString();
      const auto resources = Record::Parse(Bytes(rows.getColumn(13)));
      if (resources) task.resources = resources->GetAll("of");
      status.ready = rows.getColumn(14).getInt() != 0;
    }
  }

  void LoadAttempts(const std::map<std::string, std::size_t>& places, std::vector<JobRow>& jobs) {
    SQLite::Statement rows(database_,
                           "SELECT job, number, pid, start_ticks, started_us, ended_us, exit_code, "
                           "signal, reason, stdout_begin, stdout_end, stderr_begin, stderr_end, "
                           "shim_lost, error_number, core_dumped, was_stopped, out_of_memory, "
                           "type, idx FROM attempts ORDER BY number");
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
      attempt.core_dumped = rows.getColumn(15).getInt() != 0;
      attempt.was_stopped = rows.getColumn(16).getInt() != 0;
      attempt.out_of_memory = rows.getColumn(17).getInt() != 0;
      const auto place = places.find(rows.getColumn(0).getString());
      if (place == places.end()) continue;
      auto& tasks = jobs[place->second].tasks;
      const auto task = std::find_if(tasks.begin(), tasks.end(), [&](const TaskRow& row) {
        return row.index == rows.getColumn(19).getInt() && row.type == rows.getColumn(18).getText();
      });
      if (task != tasks.end()) task->attempts.push_back(std::move(attempt));
    }
  }

  // Kept, reset and without values.
  SQLite::Statement& Statement(const char* text) {
    auto& kept = statements_[text];
    if (kept == nullptr) kept = std::make_unique<SQLite::Statement>(database_, text);
    kept->tryReset();
    kept->clearBindings();
    return *kept;
  }

  void Write(const Change& change) {
    const JobRow& job = *change.job;
    if (change.of_job) {
      SQLite::Statement& update = Statement(kUpdateJob);
      const std::string state = EncodeState(job);
      update.bind(1, job.ended_us);
      update.bindNoCopy(2, state.data(), static_cast<int>(state.size()));
      update.bindNoCopy(3, job.id);
      update.exec();
    }
    for (const int task : change.tasks) {
      const auto i = static_cast<std::size_t>(task);
      WriteTask(job, i);
      // The end of one attempt and the beginning of the next are often one change.
      const auto& attempts = job.tasks[i].attempts;
      for (std::size_t at = attempts.size() - std::min<std::size_t>(attempts.size(), 2);
           at < attempts.size(); ++at) {
        WriteAttempt(job, job.tasks[i], attempts[at]);
      }
    }
  }

  void WriteTask(const JobRow& job, std::size_t rank) {
    const TaskRow& task = job.tasks[rank];
    const TaskStatus& status = job.status.tasks[rank];
    const std::string resources = EncodeResources(task);
    SQLite::Statement& write = Statement(kWriteTask);
    write.bindNoCopy(1, job.id);
    write.bindNoCopy(2, task.type);
    write.bind(3, task.index);
    write.bind(4, static_cast<int>(status.state));
    write.bind(5, status.attempt);
    write.bind(6, status.quick_failures);
    write.bind(7, status.restarts);
    write.bind(8, static_cast<int>(status.stop));
    write.bind(9, absl::ToInt64Milliseconds(status.stop_grace));
    write.bindNoCopy(10, status.stop_reason);
    write.bindNoCopy(11, status.reason);
    write.bind(12, static_cast<int>(rank));
    write.bind(13, status.granted ? 1 : 0);
    write.bindNoCopy(14, task.address);
    write.bindNoCopy(15, resources.data(), static_cast<int>(resources.size()));
    write.bind(16, status.ready ? 1 : 0);
    write.exec();
  }

  void WriteAttempt(const JobRow& job, const TaskRow& task, const AttemptRow& attempt) {
    SQLite::Statement& write = Statement(kWriteAttempt);
    write.bindNoCopy(1, job.id);
    write.bindNoCopy(2, task.type);
    write.bind(3, task.index);
    write.bind(4, attempt.number);
    write.bind(5, attempt.pid);
    write.bind(6, Signed(attempt.start_ticks));
    write.bind(7, attempt.started_us);
    write.bind(8, attempt.ended_us);
    write.bind(9, attempt.exit_code);
    write.bind(10, attempt.signal);
    write.bindNoCopy(11, attempt.reason);
    write.bind(12, Signed(attempt.stdout_begin));
    write.bind(13, Signed(attempt.stdout_end));
    write.bind(14, Signed(attempt.stderr_begin));
    write.bind(15, Signed(attempt.stderr_end));
    write.bind(16, attempt.shim_lost ? 1 : 0);
    write.bind(17, attempt.error_number);
    write.bind(18, attempt.core_dumped ? 1 : 0);
    write.bind(19, attempt.was_stopped ? 1 : 0);
    write.bind(20, attempt.out_of_memory ? 1 : 0);
    write.exec();
  }

  const std::string path_;
  const std::function<std::string()> trace_of_use_;
  bool is_corrupt_ = false;  // So said an error of SQLite.
  runtime::WalCopier log_copier_;
  SQLite::Database database_;
  std::map<const char*, std::unique_ptr<SQLite::Statement>> statements_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> Store::Open(const std::string& path,
                                                   std::function<std::string()> trace_of_use) {
  if (access(path.c_str(), F_OK) != 0) trace_of_use = {};  // It is a new one.
  // SQLite gives its WAL files the mode of the database.
  runtime::UniqueFd file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file.valid()) {
    return absl::InternalError(absl::StrCat("cannot open ", path, ": ", strerror(errno)));
  }
  file.reset();  // Now: it would end SQLite's locks on the file.
  try {
    auto store = std::make_unique<SqliteStore>(path, std::move(trace_of_use));
    if (auto status = store->Prepare(); !status.ok()) return status;
    return store;
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("cannot open ", path, ": ", error.what()));
  }
}

}  // namespace launcher

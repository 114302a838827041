#include "launcher/job/job_store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>
#include <stdlib.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bus/alert/alert_rows.h"
#include "bus/call/stored_table.h"
#include "glog/logging.h"
#include "launcher/alert/notification_store.h"
#include "launcher/job/job_spec_record.h"
#include "launcher/job/node_store.h"
#include "launcher/process/process_table.h"
#include "launcher/wire/record.h"
#include "runtime/file/file.h"
#include "runtime/sqlite/database_check.h"
#include "runtime/sqlite/database_file.h"
#include "runtime/sqlite/database_schema.h"
#include "runtime/sqlite/restored_state.h"
#include "runtime/sqlite/statement_columns.h"
#include "runtime/sqlite/wal_copier.h"
#include "runtime/text/printable.h"

namespace launcher {
namespace {

// Monotonic times are stored with the id of the boot, since they have no meaning after another one.
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
    ready INTEGER NOT NULL DEFAULT 0, node TEXT NOT NULL DEFAULT '',
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
    out_of_memory INTEGER NOT NULL DEFAULT 0, node TEXT NOT NULL DEFAULT '',
    host TEXT NOT NULL DEFAULT '', PRIMARY KEY (job, type, idx, number));
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

constexpr char kAddNode[] = R"sql(
  ALTER TABLE tasks ADD COLUMN node TEXT NOT NULL DEFAULT '';
  ALTER TABLE attempts ADD COLUMN node TEXT NOT NULL DEFAULT '';
)sql";

constexpr char kAddHost[] = R"sql(
  ALTER TABLE attempts ADD COLUMN host TEXT NOT NULL DEFAULT '';
)sql";

// Each migration adds what its version lacks: version 1 described a lost shim only in words,
// version 2 had no error number, and up to version 3 a job had one task. (A requested stop of a
// task is stored as StopCause::kAsked.) Up to version 4 there were no alerts, up to version 5 no
// nodes, and up to version 6 no allocations.
runtime::DatabaseSchema Schema() {
  const std::string alerts = absl::StrCat(bus::kAlertTables, kNotificationTables);
  return {
      .newest = absl::StrCat(kSchema, alerts, kNodeTables, kAddAllocation),
      .migrations = {kAddShimLost, kAddErrorNumber, kAddTasks, alerts,
                     absl::StrCat(kAddNode, kNodeTables), absl::StrCat(kAddHost, kAddAllocation)}};
}

constexpr char kInsertJob[] =
    "INSERT INTO jobs (id, request_id, created_us, ended_us, spec, state) VALUES (?, ?, ?, ?, ?, "
    "?)";
constexpr char kUpdateJob[] = "UPDATE jobs SET ended_us = ?, state = ? WHERE id = ?";
// An existing row is updated in place, so that the index is not rewritten.
constexpr char kWriteTask[] =
    "INSERT INTO tasks (job, type, idx, state, attempt, quick_failures, restarts, stop, "
    "stop_grace_ms, stop_reason, reason, rank, granted, address, resources, ready, node) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (job, type, idx) DO UPDATE SET state = excluded.state, "
    "attempt = excluded.attempt, quick_failures = excluded.quick_failures, "
    "restarts = excluded.restarts, stop = excluded.stop, stop_grace_ms = excluded.stop_grace_ms, "
    "stop_reason = excluded.stop_reason, reason = excluded.reason, granted = excluded.granted, "
    "address = excluded.address, resources = excluded.resources, ready = excluded.ready, "
    "node = excluded.node";
constexpr char kWriteAttempt[] =
    "INSERT INTO attempts (job, type, idx, number, pid, start_ticks, started_us, ended_us, "
    "exit_code, signal, reason, stdout_begin, stdout_end, stderr_begin, stderr_end, shim_lost, "
    "error_number, core_dumped, was_stopped, out_of_memory, node, host) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (job, type, idx, number) DO UPDATE SET pid = excluded.pid, "
    "start_ticks = excluded.start_ticks, started_us = excluded.started_us, "
    "ended_us = excluded.ended_us, exit_code = excluded.exit_code, signal = excluded.signal, "
    "reason = excluded.reason, stdout_begin = excluded.stdout_begin, "
    "stdout_end = excluded.stdout_end, stderr_begin = excluded.stderr_begin, "
    "stderr_end = excluded.stderr_end, shim_lost = excluded.shim_lost, "
    "error_number = excluded.error_number, core_dumped = excluded.core_dumped, "
    "was_stopped = excluded.was_stopped, out_of_memory = excluded.out_of_memory, "
    "node = excluded.node, host = excluded.host";

const std::string& OwnBoot() {
  static const auto* const boot = new std::string(BootId());
  return *boot;
}

// Encodes the state of the job alone, without its tasks and without created_us and ended_us.
std::string EncodeState(const JobRow& job) {
  Record record("job-state");
  record.AddNumber("phase", static_cast<int>(job.status.phase));
  record.Add("ending", job.status.ending);
  record.AddNumber("time_is_over", job.status.time_is_over ? 1 : 0);
  record.AddNumber("stop_requested", job.status.stop_requested ? 1 : 0);
  record.AddNumber("jobs_came", job.status.jobs_came ? 1 : 0);
  record.AddNumber("comes_back", job.status.comes_back ? 1 : 0);
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
  if (!record || record->kind() != "job-state") return;  // Written by a version that had no state.
  JobStatus& status = job->status;
  status.phase = static_cast<JobStatus::Phase>(record->GetNumber("phase"));
  status.ending = record->Get("ending");
  status.time_is_over = record->GetNumber("time_is_over") != 0;
  status.stop_requested = record->GetNumber("stop_requested") != 0;
  status.jobs_came = record->GetNumber("jobs_came") != 0;
  status.comes_back = record->GetNumber("comes_back") != 0;
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

// For a job that was stored without a state of its own: derives it from its only task.
void CompleteState(JobRow* job) {
  if (job->status.first_failure != kWholeJob || job->tasks.size() != 1) return;
  const TaskStatus& task = job->status.tasks[0];
  if (task.state == msg::TaskState::Failed || task.state == msg::TaskState::Lost) {
    job->status.first_failure = 0;
  }
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

}  // namespace

class JobStore::Impl {
 public:
  Impl(const std::string& path, std::function<std::string()> trace_of_use)
      : path_(path),
        trace_of_use_(std::move(trace_of_use)),
        log_copier_(path),
        database_(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, 5000) {}

  absl::Status Prepare() {
    return Try("open", [&] {
      runtime::DatabaseSchema schema = Schema();
      schema.trace_of_use = trace_of_use_;
      if (auto status = runtime::PrepareDatabase(database_, schema); !status.ok()) return status;
      if (auto status = TakeOver(); !status.ok()) return status;
      database_.exec("PRAGMA foreign_keys=ON");
      // An environment may contain secrets.
      database_.exec("PRAGMA secure_delete=ON");
      // 1 MiB of pages. After Load() the store rarely reads, and then rows that it wrote recently.
      database_.exec("PRAGMA cache_size=-1024");
      log_copier_.Serve(database_);
      return absl::OkStatus();
    });
  }

  absl::StatusOr<std::vector<JobRow>> Load() {
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

  // Copies all readable rows to temporary tables, which shadow the tables of the same names. The
  // rows of a damaged page are lost.
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

  // If the database is damaged, jobs that cannot be read as a whole are left out.
  absl::StatusOr<std::vector<JobRow>> Read(bool is_damaged) {
    std::vector<JobRow> jobs;
    auto status = Try("read", [&] {
      std::map<std::string, std::size_t> places;
      SQLite::Statement rows(database_,
                             "SELECT id, request_id, created_us, ended_us, spec, state FROM jobs "
                             "ORDER BY created_us, id");
      while (rows.executeStep()) {
        runtime::Reader read(rows);
        JobRow job;
        job.id = read.Text();
        job.request_id = read.Text();
        job.created_us = read.Number();
        job.ended_us = read.Number();
        auto decoded = DecodeJobSpec(read.Bytes());
        if (!decoded && is_damaged) continue;
        if (!decoded) {
          return absl::DataLossError(
              absl::StrCat(path_, ": the spec of job ", job.id, " cannot be read"));
        }
        job.spec = std::move(*decoded);
        DecodeState(read.Bytes(), &job);
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

  absl::StatusOr<FromCaller> LoadFromCaller(const std::string& job) {
    FromCaller caller;
    const absl::Status status = Try(absl::StrCat("read the environment of job ", job), [&] {
      SQLite::Statement row(database_, "SELECT spec FROM jobs WHERE id = ?");
      row.bind(1, job);
      if (!row.executeStep()) return absl::NotFoundError(absl::StrCat(path_, " has no job ", job));
      auto spec = DecodeJobSpec(runtime::Reader(row).Bytes());
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

  absl::Status Insert(const JobRow& job) {
    return Try(absl::StrCat("add job ", job.id), [&] {
      SQLite::Transaction transaction(database_, SQLite::TransactionBehavior::IMMEDIATE);
      SQLite::Statement& insert = Statement(kInsertJob);
      const std::string spec = EncodeJobSpec(job.spec);
      const std::string state = EncodeState(job);
      runtime::Binder bind(insert);
      bind << job.id << job.request_id << job.created_us << job.ended_us;
      bind.Bytes(spec).Bytes(state);
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

  absl::Status Save(const std::vector<Change>& changes) {
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

  absl::Status Remove(const std::string& job) {
    return Try(absl::StrCat("remove job ", job), [&] {
      SQLite::Statement remove(database_, "DELETE FROM jobs WHERE id = ?");
      remove.bind(1, job);
      remove.exec();
      log_copier_.Empty();
      return absl::OkStatus();
    });
  }

 private:
  // Adapts a database that was restored from a back-up: log directories move to their new places,
  // and the processes of attempts that ran at the time are forgotten, even if they still run.
  absl::Status TakeOver() {
    return runtime::ApplyRestored(database_, [&](const runtime::RestoredState& restored) {
      std::vector<std::pair<std::string, std::string>> moved;
      SQLite::Statement rows(database_, "SELECT id, spec FROM jobs");
      while (rows.executeStep()) {
        runtime::Reader read(rows);
        const std::string id = read.Text();
        auto spec = DecodeJobSpec(read.Bytes());
        if (!spec) continue;  // Load() reports it.
        std::string directory = restored.Moved(spec->log_directory);
        if (directory == spec->log_directory) continue;
        spec->log_directory = std::move(directory);
        moved.emplace_back(id, EncodeJobSpec(*spec));
      }
      SQLite::Statement change(database_, "UPDATE jobs SET spec = ? WHERE id = ?");
      for (const auto& [id, spec] : moved) {
        runtime::Binder bind(change);
        bind.Bytes(spec) << id;
        change.exec();
        change.reset();
      }
      database_.exec("UPDATE attempts SET pid = 0, start_ticks = 0 WHERE ended_us = 0");
    });
  }

  // SQLiteCpp throws; nothing above this class sees an exception.
  template <typename Body>
  absl::Status Try(const std::string& what, Body body) {
    return runtime::TryDatabase(database_, what, [&]() -> absl::Status {
      try {
        return body();
      } catch (const SQLite::Exception& error) {
        if (error.getErrorCode() == SQLITE_CORRUPT) is_corrupt_ = true;
        throw;
      }
    });
  }

  void LoadTasks(const std::map<std::string, std::size_t>& places, std::vector<JobRow>& jobs) {
    SQLite::Statement rows(
        database_,
        "SELECT job, type, idx, state, attempt, quick_failures, restarts, "
        "stop, stop_grace_ms, stop_reason, reason, granted, address, resources, ready, node "
        "FROM tasks ORDER BY job, rank");
    while (rows.executeStep()) {
      runtime::Reader read(rows);
      const auto place = places.find(read.Text());
      if (place == places.end()) continue;  // Its job was damaged.
      JobRow& job = jobs[place->second];
      TaskRow& task = job.tasks.emplace_back();
      task.type = read.Text();
      task.index = read.Int();
      TaskStatus& status = job.status.tasks.emplace_back();
      status.state = static_cast<msg::TaskState>(read.Int());
      status.attempt = read.Int();
      status.quick_failures = read.Int();
      status.restarts = read.Int();
      status.stop = static_cast<StopCause>(read.Int());
      status.stop_grace = absl::Milliseconds(read.Number());
      status.stop_reason = read.Text();
      status.reason = read.Text();
      status.granted = read.Truth();
      task.address = read.Text();
      const auto resources = Record::Parse(read.Bytes());
      if (resources) task.resources = resources->GetAll("of");
      status.ready = read.Truth();
      task.node = read.Text();
    }
  }

  void LoadAttempts(const std::map<std::string, std::size_t>& places, std::vector<JobRow>& jobs) {
    SQLite::Statement rows(
        database_,
        "SELECT job, type, idx, number, pid, start_ticks, started_us, ended_us, exit_code, "
        "signal, reason, stdout_begin, stdout_end, stderr_begin, stderr_end, "
        "shim_lost, error_number, core_dumped, was_stopped, out_of_memory, node, host "
        "FROM attempts ORDER BY number");
    while (rows.executeStep()) {
      runtime::Reader read(rows);
      const auto place = places.find(read.Text());
      if (place == places.end()) continue;
      const std::string type = read.Text();
      const int index = read.Int();
      AttemptRow attempt;
      attempt.number = read.Int();
      attempt.pid = read.Int();
      attempt.start_ticks = Unsigned(read.Number());
      attempt.started_us = read.Number();
      attempt.ended_us = read.Number();
      attempt.exit_code = read.Int();
      attempt.signal = read.Int();
      attempt.reason = read.Text();
      attempt.stdout_begin = Unsigned(read.Number());
      attempt.stdout_end = Unsigned(read.Number());
      attempt.stderr_begin = Unsigned(read.Number());
      attempt.stderr_end = Unsigned(read.Number());
      attempt.shim_lost = read.Truth();
      attempt.error_number = read.Int();
      attempt.core_dumped = read.Truth();
      attempt.was_stopped = read.Truth();
      attempt.out_of_memory = read.Truth();
      attempt.node = read.Text();
      attempt.host = read.Text();
      auto& tasks = jobs[place->second].tasks;
      const auto task = std::find_if(tasks.begin(), tasks.end(), [&](const TaskRow& row) {
        return row.index == index && row.type == type;
      });
      if (task != tasks.end()) task->attempts.push_back(std::move(attempt));
    }
  }

  // Returns the cached prepared statement of `text`, reset and with no bound values.
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
      runtime::Binder bind(update);
      bind << job.ended_us;
      bind.Bytes(state) << job.id;
      update.exec();
    }
    for (const int task : change.tasks) {
      const auto i = static_cast<std::size_t>(task);
      WriteTask(job, i);
      // One change often contains the end of one attempt and the start of the next.
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
    runtime::Binder bind(write);
    bind << job.id << task.type << task.index << static_cast<int>(status.state) << status.attempt
         << status.quick_failures << status.restarts << static_cast<int>(status.stop)
         << absl::ToInt64Milliseconds(status.stop_grace) << status.stop_reason << status.reason
         << static_cast<int>(rank) << status.granted << task.address;
    bind.Bytes(resources) << status.ready << task.node;
    write.exec();
  }

  void WriteAttempt(const JobRow& job, const TaskRow& task, const AttemptRow& attempt) {
    SQLite::Statement& write = Statement(kWriteAttempt);
    runtime::Binder bind(write);
    bind << job.id << task.type << task.index << attempt.number << attempt.pid
         << Signed(attempt.start_ticks) << attempt.started_us << attempt.ended_us
         << attempt.exit_code << attempt.signal << attempt.reason << Signed(attempt.stdout_begin)
         << Signed(attempt.stdout_end) << Signed(attempt.stderr_begin) << Signed(attempt.stderr_end)
         << attempt.shim_lost << attempt.error_number << attempt.core_dumped << attempt.was_stopped
         << attempt.out_of_memory << attempt.node << attempt.host;
    write.exec();
  }

  const std::string path_;
  const std::function<std::string()> trace_of_use_;
  bool is_corrupt_ = false;  // SQLite has reported SQLITE_CORRUPT.
  runtime::WalCopier log_copier_;
  SQLite::Database database_;
  std::map<const char*, std::unique_ptr<SQLite::Statement>> statements_;
};

absl::StatusOr<std::unique_ptr<JobStore>> JobStore::Open(
    const std::string& path, std::function<std::string()> trace_of_use) {
  const auto is_new = runtime::MakeDatabaseFile(path);
  if (!is_new.ok()) return is_new.status();
  if (*is_new) trace_of_use = {};
  try {
    auto impl = std::make_unique<Impl>(path, std::move(trace_of_use));
    if (auto status = impl->Prepare(); !status.ok()) return status;
    return std::unique_ptr<JobStore>(new JobStore(std::move(impl)));
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("cannot open ", path, ": ", error.what()));
  }
}

absl::StatusOr<std::unique_ptr<JobStore>> JobStore::OpenIn(const runtime::Locations& locations) {
  const std::string jobs = locations.state_directory + "/jobs";
  for (const auto& path : {locations.state_directory, jobs}) {
    if (auto made = runtime::MakeDirectories(path, 0700); !made.ok()) return made;
  }
  const std::string database = locations.state_directory + "/launcher.db";
  const bool was_left_open = runtime::WasLeftOpen(database);
  auto store = Open(database, [jobs] { return runtime::FirstEntryIn(jobs); });
  if (!store.ok()) return store.status();
  // The database is small, so checking all of it is cheap.
  const std::string damage = was_left_open ? runtime::DamageOf(database) : "";
  LOG_IF(ERROR, !damage.empty())
      << database << " is damaged: " << runtime::Printable(damage)
      << ". The readable part of it is kept; restore a back-up for the rest";
  return store;
}

JobStore::JobStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
JobStore::~JobStore() = default;

absl::StatusOr<std::vector<JobRow>> JobStore::Load() { return impl_->Load(); }
absl::StatusOr<FromCaller> JobStore::LoadFromCaller(const std::string& job) {
  return impl_->LoadFromCaller(job);
}
absl::Status JobStore::Insert(const JobRow& job) { return impl_->Insert(job); }
absl::Status JobStore::Save(const std::vector<Change>& changes) { return impl_->Save(changes); }
absl::Status JobStore::Remove(const std::string& job) { return impl_->Remove(job); }

}  // namespace launcher

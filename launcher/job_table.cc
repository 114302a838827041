#include "launcher/job_table.h"

#include <signal.h>
#include <sys/un.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "glog/logging.h"
#include "launcher/attempt.h"
#include "launcher/job_spec_record.h"
#include "launcher/line_feed.h"
#include "launcher/line_reader.h"
#include "launcher/supervisor.h"
#include "runtime/file.h"
#include "runtime/random_id.h"
#include "runtime/string_view.h"

namespace launcher {
namespace {

constexpr absl::Duration kDefaultGrace = absl::Seconds(10);
constexpr std::size_t kMaxJobs = 20'000;
constexpr std::size_t kNamedInError = 5;

std::string JobFolder(const std::string& state_directory, const std::string& id) {
  return absl::StrCat(state_directory, "/jobs/", id);
}

// All that is known of one job at run time.
struct Job {
  JobRow row;
  std::unique_ptr<Attempt> attempt;
  std::optional<LineFeed> stdout_lines, stderr_lines;
  runtime::EventLoop::TimerId timer = 0;
};

class Table : public JobTable {
 public:
  explicit Table(Options options)
      : options_(std::move(options)),
        jobs_directory_(options_.locations.state_directory + "/jobs") {
    if (!options_.random) {
      options_.random = [] { return static_cast<double>(runtime::RandomId() >> 11) * 0x1.0p-53; };
    }
  }
  ~Table() override {
    for (const auto& [id, job] : jobs_) options_.loop->Cancel(job->timer);
    *alive_ = false;
  }

  absl::Status Prepare();

  absl::StatusOr<msg::JobT> Launch(const std::string& request_id, msg::JobSpecT spec) override;
  absl::StatusOr<std::string> Find(const std::string& name) const override;
  const JobRow* Row(const std::string& id) const override {
    const auto found = jobs_.find(id);
    return found == jobs_.end() ? nullptr : &found->second->row;
  }
  std::vector<const JobRow*> Rows() const override {
    std::vector<const JobRow*> rows;
    for (const auto& [id, job] : jobs_) rows.push_back(&job->row);
    return rows;
  }
  std::vector<msg::JobT> List(bool live_only) const override;
  absl::Status Stop(const std::string& id, absl::Duration grace, std::string reason) override;
  absl::Status Remove(const std::string& id) override;
  ObserverId Observe(const std::string& id, std::function<void()> changed) override;
  void Forget(ObserverId observer) override { observers_.erase(observer); }
  Stats GetStats() const override { return stats_; }

 private:
  void Fault(std::string_view point) const {
    if (options_.fault) options_.fault(point);
  }
  absl::Duration Now() const { return options_.clock->Monotonic(); }
  msg::JobT Message(const JobRow& row) const {
    return JobMessage(row, options_.locations.state_directory);
  }

  absl::Status CheckRoom(const JobRow& row) const;
  RestartRules Rules(const Job& job) const;
  void Feed(Job& job, const Event& event);
  void Carry(Job& job, const action::StartAttempt& start);
  void Carry(Job& job, const action::StopAttempt& stop);
  void Carry(Job& job, const action::SetTimer& timer);
  void Carry(Job& job, const action::CancelTimer& cancel);

  std::string TaskPath(const Job& job, int attempt) const;
  ShimSpec SpecOf(const Job& job, int attempt) const;
  std::string AttemptFolder(const Job& job, int attempt) const;
  std::unique_ptr<Attempt> NewAttempt(const Job& job, const AttemptRow& row,
                                      Attempt::Callbacks callbacks);
  void MakeAttempt(Job& job);
  LineFeed MakeFeed(Job& job, msg::LogStream stream);
  void OpenFeeds(Job& job);
  void OnRunning(Job& job, const ShimState& state);
  void OnOutput(Job& job, const ShimState& state);
  void EndOutput(Job& job, const AttemptEnd& end);
  void OnOver(Job& job, const AttemptEnd& end);
  void Retire(Job& job);
  void LetGo(const Job& job);
  void TakeUp(Job& job);
  void BeginBeforeLastLines(Job& job) const;
  void Save(const Job& job);
  void Announce(const Job& job);
  void Notify(const std::string& id);

  Options options_;
  const std::string jobs_directory_;
  std::unique_ptr<Store> store_;
  std::map<std::string, std::unique_ptr<Job>> jobs_;
  std::map<std::string, std::string> by_request_;
  std::set<std::unique_ptr<Attempt>> retired_;  // Acknowledged; their shims are still leaving.
  struct Observer {
    std::string job;
    std::function<void()> changed;
  };
  std::map<ObserverId, Observer> observers_;
  ObserverId last_observer_ = 0;
  Stats stats_;
  // What is posted to the loop looks here first.
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

absl::Status Table::Prepare() {
  const auto& locations = options_.locations;
  for (const auto& path :
       {locations.state_directory, jobs_directory_, locations.runtime_directory + "/tasks"}) {
    if (auto made = runtime::MakeDirectories(path, 0700); !made.ok()) return made;
  }
  auto store = Store::Open(locations.state_directory + "/launcher.db");
  if (!store.ok()) return store.status();
  store_ = std::move(*store);
  auto rows = store_->Load();
  if (!rows.ok()) return rows.status();
  for (auto& row : *rows) {
    auto job = std::make_unique<Job>();
    job->row = std::move(row);
    by_request_[job->row.request_id] = job->row.id;
    jobs_[job->row.id] = std::move(job);
  }
  stats_.jobs = jobs_.size();
  for (const auto& [id, job] : jobs_) {
    LetGo(*job);
    if (!HasEnded(job->row.task.status.state)) TakeUp(*job);
  }
  return absl::OkStatus();
}

// An earlier launcher has stored the end of these attempts, but may not have told their shims.
void Table::LetGo(const Job& job) {
  for (const AttemptRow& row : job.row.task.attempts) {
    if (row.ended_us == 0 || Attempt::IsAcknowledged(AttemptFolder(job, row.number))) continue;
    auto attempt = NewAttempt(job, row, {});
    attempt->Acknowledge();
    retired_.insert(std::move(attempt));
  }
}

// A task of an earlier launcher.
void Table::TakeUp(Job& job) {
  ++stats_.live;
  const TaskStatus& status = job.row.task.status;
  if (status.state == msg::TaskState::Pending) return Feed(job, event::Launched{});
  if (job.row.task.attempts.empty()) {
    job.row.task.attempts.push_back({.number = status.attempt});
  }
  ++stats_.adopted;
  job.row.task.status.running_since = Now();
  BeginBeforeLastLines(job);
  MakeAttempt(job);
  job.attempt->Adopt();
}

// What was announced by the earlier launcher is not known. Announcing its last line again tells
// those who follow the lines that there may be some they have not heard of.
void Table::BeginBeforeLastLines(Job& job) const {
  AttemptRow& row = job.row.task.attempts.back();
  if (row.pid == 0) return;  // Where its output begins is not known yet.
  const auto path = [&](msg::LogStream stream) {
    return LogPath(job.row, options_.locations.state_directory, row.number, stream);
  };
  row.stdout_end = BeginOfLastLine(path(msg::LogStream::Stdout), row.stdout_begin);
  row.stderr_end = BeginOfLastLine(path(msg::LogStream::Stderr), row.stderr_begin);
}

absl::StatusOr<msg::JobT> Table::Launch(const std::string& request_id, msg::JobSpecT spec) {
  if (const auto known = by_request_.find(request_id); known != by_request_.end()) {
    return Message(jobs_.at(known->second)->row);
  }
  if (auto status = CheckJobSpec(spec); !status.ok()) return status;
  auto job = std::make_unique<Job>();
  do {
    job->row.id = runtime::RandomName("j-");
  } while (jobs_.contains(job->row.id) ||
           std::filesystem::exists(JobFolder(options_.locations.state_directory, job->row.id)));
  job->row.request_id = request_id.empty() ? runtime::RandomHex128() : request_id;
  job->row.created_us = absl::ToUnixMicros(options_.clock->Now());
  job->row.task.type = spec.task_type.empty() ? "worker" : spec.task_type;
  job->row.task.index = static_cast<int>(spec.task_index);
  job->row.spec = std::move(spec);
  job->row.spec.environment = CleanEnvironment(job->row.spec.environment);
  if (auto status = CheckRoom(job->row); !status.ok()) return status;
  Fault("launch: before insert");
  if (auto stored = store_->Insert(job->row); !stored.ok()) return stored;
  Fault("launch: after insert");
  Job& added = *(jobs_[job->row.id] = std::move(job));
  by_request_[added.row.request_id] = added.row.id;
  ++stats_.jobs;
  ++stats_.live;
  Feed(added, event::Launched{});
  Fault("launch: before reply");
  return Message(added.row);
}

absl::Status Table::CheckRoom(const JobRow& row) const {
  if (jobs_.size() >= kMaxJobs) {
    return absl::ResourceExhaustedError(
        absl::StrCat("there are ", jobs_.size(), " jobs already: remove ended ones"));
  }
  // The longest of the attempt's socket paths must fit.
  const auto longest = absl::StrCat(options_.locations.runtime_directory, "/tasks/", row.id, ".",
                                    TaskName(row), ".999999.ctl");
  if (longest.size() >= sizeof(sockaddr_un::sun_path)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the runtime directory's path is too long for sockets: ", longest));
  }
  if (row.spec.name.empty()) return absl::OkStatus();
  for (const auto& [id, job] : jobs_) {
    if (job->row.spec.name == row.spec.name && !HasEnded(job->row.task.status.state)) {
      return absl::AlreadyExistsError(
          absl::StrCat("a live job has the name ", row.spec.name, ": ", id));
    }
  }
  return absl::OkStatus();
}

RestartRules Table::Rules(const Job& job) const {
  RestartRules rules;
  rules.policy = job.row.spec.restart;
  rules.max_restarts =
      static_cast<int>(std::min<std::uint32_t>(job.row.spec.max_restarts, 1 << 30));
  return rules;
}

// One event: decide, store, then act.
void Table::Feed(Job& job, const Event& event) {
  const TaskStatus before = job.row.task.status;
  Decision decision = Decide(before, Rules(job), event, Now(), options_.random());
  job.row.task.status = std::move(decision.status);
  const bool ends = HasEnded(job.row.task.status.state) && !HasEnded(before.state);
  if (ends) {
    job.row.ended_us = absl::ToUnixMicros(options_.clock->Now());
    --stats_.live;
  }
  for (const auto& action : decision.actions) {
    if (const auto* start = std::get_if<action::StartAttempt>(&action)) {
      job.row.task.attempts.push_back({.number = start->number});
    }
  }
  Fault("decided");
  if (!(before == job.row.task.status)) Save(job);
  Fault("stored");
  for (const auto& action : decision.actions) {
    std::visit([&](const auto& what) { Carry(job, what); }, action);
  }
  if (!(before == job.row.task.status)) Announce(job);
}

void Table::Carry(Job& job, const action::StartAttempt& start) {
  ++stats_.attempts;
  MakeAttempt(job);
  const std::filesystem::path log_path =
      LogPath(job.row, options_.locations.state_directory, start.number, msg::LogStream::Stdout);
  absl::Status started = runtime::MakeDirectories(log_path.parent_path());
  if (started.ok()) started = job.attempt->Start();
  Fault("spawned");
  if (started.ok()) return;
  AttemptEnd end;
  end.how = absl::StrCat("cannot start: ", started.message());
  end.state.failure = end.how;
  options_.loop->Post([this, alive = alive_, id = job.row.id, end] {
    if (*alive && jobs_.contains(id)) OnOver(*jobs_.at(id), end);
  });
}

void Table::Carry(Job& job, const action::StopAttempt& stop) {
  if (job.attempt == nullptr) return;
  const int signal = job.row.spec.stop_signal == 0 ? SIGTERM : job.row.spec.stop_signal;
  job.attempt->Stop(signal, stop.grace);
}

void Table::Carry(Job& job, const action::SetTimer& timer) {
  options_.loop->Cancel(job.timer);
  job.timer = options_.loop->RunAfter(timer.delay, [this, alive = alive_, id = job.row.id] {
    if (*alive && jobs_.contains(id)) Feed(*jobs_.at(id), event::TimerFired{});
  });
}

void Table::Carry(Job& job, const action::CancelTimer&) { options_.loop->Cancel(job.timer); }

std::string Table::TaskPath(const Job& job, int attempt) const {
  return absl::StrCat(options_.locations.runtime_directory, "/tasks/", job.row.id, ".",
                      TaskName(job.row), ".", attempt);
}

ShimSpec Table::SpecOf(const Job& job, int attempt) const {
  const msg::JobSpecT& job_spec = job.row.spec;
  ShimSpec spec;
  spec.argv = job_spec.argv;
  spec.environment = job_spec.environment;
  spec.working_directory = job_spec.working_directory;
  const auto& state = options_.locations.state_directory;
  spec.stdout_path = LogPath(job.row, state, attempt, msg::LogStream::Stdout);
  spec.stderr_path = LogPath(job.row, state, attempt, msg::LogStream::Stderr);
  spec.control_socket = TaskPath(job, attempt) + ".ctl";
  spec.task_socket = TaskPath(job, attempt);
  spec.log_limit = job_spec.log_limit_bytes;
  if (job_spec.report_channel != nullptr) {
    spec.trainer_socket = job_spec.report_channel->socket;
    spec.nonce = job_spec.report_channel->nonce;
  }
  return spec;
}

std::string Table::AttemptFolder(const Job& job, int attempt) const {
  return absl::StrCat(JobFolder(options_.locations.state_directory, job.row.id), "/",
                      TaskName(job.row), ".", attempt);
}

// It is no longer in retired_ a moment after it has left.
std::unique_ptr<Attempt> Table::NewAttempt(const Job& job, const AttemptRow& row,
                                           Attempt::Callbacks callbacks) {
  Attempt::Options options;
  options.loop = options_.loop;
  options.shim_path = options_.shim_path;
  options.folder = AttemptFolder(job, row.number);
  options.spec = SpecOf(job, row.number);
  options.pid = row.pid;
  options.start_ticks = row.start_ticks;
  const auto self = std::make_shared<Attempt*>();
  callbacks.on_left = [this, alive = alive_, self] {
    options_.loop->Post([this, alive, attempt = *self] {
      if (!*alive) return;
      std::erase_if(retired_, [&](const auto& retired) { return retired.get() == attempt; });
    });
  };
  auto attempt = std::make_unique<Attempt>(std::move(options), std::move(callbacks));
  *self = attempt.get();
  return attempt;
}

// For the last row.
void Table::MakeAttempt(Job& job) {
  Job* const entry = &job;  // Only used until the attempt is over, and no job is removed before.
  job.stdout_lines.reset();
  job.stderr_lines.reset();
  job.attempt =
      NewAttempt(job, job.row.task.attempts.back(),
                 {.on_running = [this, entry](const ShimState& state) { OnRunning(*entry, state); },
                  .on_output = [this, entry](const ShimState& state) { OnOutput(*entry, state); },
                  .on_over = [this, entry](const AttemptEnd& end) { OnOver(*entry, end); },
                  .on_left = {}});
}

// From what was announced before, else from the attempt's beginning.
LineFeed Table::MakeFeed(Job& job, msg::LogStream stream) {
  const AttemptRow& row = job.row.task.attempts.back();
  const bool is_stdout = stream == msg::LogStream::Stdout;
  const std::uint64_t begin = is_stdout ? row.stdout_begin : row.stderr_begin;
  const std::uint64_t known = is_stdout ? row.stdout_end : row.stderr_end;
  // (No attempt is added while this one has its feeds.)
  return LineFeed(
      LogPath(job.row, options_.locations.state_directory, row.number, stream),
      std::max(begin, known), [this, entry = &job, is_stdout, stream, begin](LineBatch batch) {
        AttemptRow& attempt = entry->row.task.attempts.back();
        (is_stdout ? attempt.stdout_end : attempt.stderr_end) = batch.end;
        if (!options_.on_lines) return;
        options_.on_lines(
            entry->row.id, batch.begin == begin ? 0 : batch.begin,
            LinesMessage(entry->row, attempt.number, stream, batch.end, std::move(batch.lines)));
      });
}

void Table::OpenFeeds(Job& job) {
  if (job.stdout_lines) return;
  job.stdout_lines.emplace(MakeFeed(job, msg::LogStream::Stdout));
  job.stderr_lines.emplace(MakeFeed(job, msg::LogStream::Stderr));
}

void Table::OnRunning(Job& job, const ShimState& state) {
  AttemptRow& row = job.row.task.attempts.back();
  const bool new_to_us = row.pid != state.pid;
  row.pid = state.pid;
  row.start_ticks = state.start_ticks;
  row.started_us = state.started_us;
  row.stdout_begin = state.stdout_begin;
  row.stderr_begin = state.stderr_begin;
  OpenFeeds(job);
  const TaskStatus before = job.row.task.status;
  Feed(job, event::Running{});
  if (new_to_us && before == job.row.task.status) Save(job);
}

void Table::OnOutput(Job& job, const ShimState& state) {
  if (job.stdout_lines) {
    job.stdout_lines->Advance(state.stdout_end, false);
    job.stderr_lines->Advance(state.stderr_end, false);
  }
  Notify(job.row.id);
}

// Announces the rest of the lines and notes where the output ends.
void Table::EndOutput(Job& job, const AttemptEnd& end) {
  AttemptRow& row = job.row.task.attempts.back();
  row.stdout_begin = std::max(row.stdout_begin, end.state.stdout_begin);
  row.stderr_begin = std::max(row.stderr_begin, end.state.stderr_begin);
  std::uint64_t stdout_end = std::max(end.state.stdout_end, row.stdout_begin);
  std::uint64_t stderr_end = std::max(end.state.stderr_end, row.stderr_begin);
  if (end.lost || end.shim_lost) {
    // Without a witness the files themselves tell how far it came.
    const auto size = [&](msg::LogStream stream) -> std::uint64_t {
      std::error_code error;
      const auto bytes = std::filesystem::file_size(
          LogPath(job.row, options_.locations.state_directory, row.number, stream), error);
      return error ? 0 : bytes;
    };
    stdout_end = std::max(stdout_end, size(msg::LogStream::Stdout));
    stderr_end = std::max(stderr_end, size(msg::LogStream::Stderr));
  }
  OpenFeeds(job);
  job.stdout_lines->Advance(stdout_end, true);
  job.stderr_lines->Advance(stderr_end, true);
  row.stdout_end = stdout_end;
  row.stderr_end = stderr_end;
  Notify(job.row.id);
}

void Table::OnOver(Job& job, const AttemptEnd& end) {
  AttemptRow& row = job.row.task.attempts.back();
  const ShimState& state = end.state;
  if (end.lost) ++stats_.lost;
  if (state.pid != 0) row.pid = state.pid;
  if (state.start_ticks != 0) row.start_ticks = state.start_ticks;
  if (state.started_us != 0) row.started_us = state.started_us;
  row.ended_us = state.ended_us != 0 ? state.ended_us : absl::ToUnixMicros(options_.clock->Now());
  row.exit_code = state.exit_code;
  row.signal = state.signal;
  row.reason = end.how;
  row.shim_lost = end.shim_lost;
  row.error_number = state.error_number;
  EndOutput(job, end);
  Fault("over");
  if (job.row.task.status.state == msg::TaskState::Starting && state.failure.empty() &&
      state.pid != 0) {
    Feed(job, event::Running{});  // It was quicker than its first message.
  }
  Retire(job);
  Feed(job, event::Ended{.success = end.success(), .lost = end.lost, .how = end.how});
}

// Lets the shim go once the end is stored, which the Feed() that follows does.
void Table::Retire(Job& job) {
  Attempt* const attempt = job.attempt.get();
  if (attempt == nullptr) return;
  retired_.insert(std::move(job.attempt));
  options_.loop->Post([this, alive = alive_, attempt] {
    if (!*alive) return;
    Fault("before acknowledge");
    attempt->Acknowledge();
  });
}

absl::StatusOr<std::string> Table::Find(const std::string& name) const {
  const std::string id = name.substr(0, name.find('/'));
  if (jobs_.contains(id)) return id;
  const JobRow* by_name = nullptr;
  std::vector<std::string> by_prefix;
  for (const auto& [job_id, job] : jobs_) {
    const JobRow& row = job->row;
    if (!name.empty() && job_id.starts_with(name)) by_prefix.push_back(job_id);
    if (row.spec.name != name || name.empty()) continue;
    const auto rank = [](const JobRow& r) {
      return std::pair(!HasEnded(r.task.status.state), r.created_us);
    };
    if (by_name == nullptr || rank(row) > rank(*by_name)) by_name = &row;
  }
  if (by_name != nullptr) return by_name->id;
  if (by_prefix.size() == 1) return by_prefix[0];
  if (by_prefix.empty()) return absl::NotFoundError(absl::StrCat("there is no job ", name));
  const std::size_t count = by_prefix.size();
  if (count > kNamedInError) by_prefix.resize(kNamedInError);
  return absl::FailedPreconditionError(absl::StrCat(
      name, " is ambiguous: ", absl::StrJoin(by_prefix, ", "),
      count > kNamedInError ? absl::StrCat(" and ", count - kNamedInError, " more") : ""));
}

std::vector<msg::JobT> Table::List(bool live_only) const {
  std::vector<const JobRow*> rows;
  for (const auto& [id, job] : jobs_) {
    if (!live_only || !HasEnded(job->row.task.status.state)) rows.push_back(&job->row);
  }
  std::sort(rows.begin(), rows.end(), [](const JobRow* a, const JobRow* b) {
    return std::pair(a->created_us, a->id) < std::pair(b->created_us, b->id);
  });
  std::vector<msg::JobT> jobs;
  for (const JobRow* row : rows) jobs.push_back(Message(*row));
  return jobs;
}

absl::Status Table::Stop(const std::string& id, absl::Duration grace, std::string reason) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return absl::NotFoundError(absl::StrCat("there is no job ", id));
  const auto own = found->second->row.spec.stop_grace_ms;
  if (grace == absl::ZeroDuration()) grace = own == 0 ? kDefaultGrace : absl::Milliseconds(own);
  Feed(*found->second, event::StopAsked{grace, std::move(reason)});
  return absl::OkStatus();
}

absl::Status Table::Remove(const std::string& id) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return absl::OkStatus();
  if (!HasEnded(found->second->row.task.status.state)) {
    return absl::FailedPreconditionError(absl::StrCat("job ", id, " has not ended: stop it first"));
  }
  if (auto removed = store_->Remove(id); !removed.ok()) return removed;
  std::error_code ignored;  // What is left of the folder is in nobody's way.
  std::filesystem::remove_all(JobFolder(options_.locations.state_directory, id), ignored);
  by_request_.erase(found->second->row.request_id);
  jobs_.erase(found);
  --stats_.jobs;
  Notify(id);
  return absl::OkStatus();
}

JobTable::ObserverId Table::Observe(const std::string& id, std::function<void()> changed) {
  observers_[++last_observer_] = {id, std::move(changed)};
  return last_observer_;
}

void Table::Save(const Job& job) {
  const auto saved = store_->Save(job.row);
  // The task goes on: what cannot be stored now is found out again from its shim.
  if (!saved.ok()) LOG(ERROR) << saved;
}

void Table::Announce(const Job& job) {
  if (options_.on_job) options_.on_job(Message(job.row));
  Notify(job.row.id);
}

void Table::Notify(const std::string& id) {
  std::vector<ObserverId> todo;
  for (const auto& [observer, entry] : observers_) {
    if (entry.job == id) todo.push_back(observer);
  }
  for (const ObserverId observer : todo) {
    const auto found = observers_.find(observer);
    if (found == observers_.end()) continue;
    const auto changed = found->second.changed;
    changed();
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<JobTable>> JobTable::Open(Options options) {
  auto table = std::make_unique<Table>(std::move(options));
  if (auto status = table->Prepare(); !status.ok()) return status;
  return table;
}

std::string TaskName(const JobRow& row) { return absl::StrCat(row.task.type, "-", row.task.index); }

std::string LogPath(const JobRow& row, const std::string& state_directory, int attempt,
                    msg::LogStream stream) {
  const std::string directory =
      row.spec.log_directory.empty() ? JobFolder(state_directory, row.id) : row.spec.log_directory;
  return absl::StrCat(directory, "/", TaskName(row), ".", attempt,
                      stream == msg::LogStream::Stdout ? ".stdout" : ".stderr");
}

msg::LogLinesT LinesMessage(const JobRow& row, int attempt, msg::LogStream stream,
                            std::uint64_t end, std::vector<std::string> lines) {
  msg::LogLinesT message;
  message.task = absl::StrCat(row.id, "/", TaskName(row));
  message.attempt = static_cast<std::uint32_t>(attempt);
  message.stream = stream;
  message.end_offset = end;
  message.lines = std::move(lines);
  return message;
}

msg::JobT JobMessage(const JobRow& row, const std::string& state_directory) {
  const TaskStatus& status = row.task.status;
  auto task = std::make_unique<msg::TaskT>();
  task->id = absl::StrCat(row.id, "/", TaskName(row));
  task->type = row.task.type;
  task->index = static_cast<std::uint32_t>(row.task.index);
  task->state = status.state;
  task->stdout_path =
      LogPath(row, state_directory, std::max(status.attempt, 1), msg::LogStream::Stdout);
  task->stderr_path =
      LogPath(row, state_directory, std::max(status.attempt, 1), msg::LogStream::Stderr);
  for (const AttemptRow& from : row.task.attempts) {
    auto attempt = std::make_unique<msg::AttemptT>();
    attempt->number = static_cast<std::uint32_t>(from.number);
    attempt->pid = from.pid;
    attempt->started_us = from.started_us;
    attempt->ended_us = from.ended_us;
    attempt->exit_code = from.exit_code;
    attempt->signal = from.signal;
    attempt->reason = from.reason;
    attempt->shim_lost = from.shim_lost;
    attempt->error_number = from.error_number;
    task->attempts.push_back(std::move(attempt));
  }
  msg::JobT job;
  job.id = row.id;
  job.name = row.spec.name;
  job.argv = row.spec.argv;
  job.working_directory = row.spec.working_directory;
  job.created_us = row.created_us;
  job.ended_us = row.ended_us;
  job.state = status.state;
  job.reason = status.reason;
  job.stop_requested = status.stop_requested;
  job.tasks.push_back(std::move(task));
  for (const auto& label : row.spec.labels) {
    job.labels.push_back(std::make_unique<msg::KeyValueT>(*label));
  }
  return job;
}

}  // namespace launcher

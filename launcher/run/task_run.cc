#include "launcher/run/task_run.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "launcher/job/probe_record.h"
#include "launcher/job/ready_pattern.h"
#include "launcher/log/line_reader.h"
#include "launcher/log/log_segments.h"
#include "launcher/run/local_attempt.h"
#include "launcher/run/unused_work.h"
#include "runtime/file/file.h"

namespace launcher {
namespace {

std::string FolderOf(const TaskRun::Host& host, const JobRow& row, int task, int attempt) {
  return AttemptFolder(row, row.tasks[static_cast<std::size_t>(task)],
                       host.locations.state_directory, attempt);
}

std::function<ShimSpec()> SpecOf(const TaskRun::Host* host, const JobRow& row, int task,
                                 int attempt) {
  return [host, row = &row, task, attempt] { return host->spec_of(*row, task, attempt); };
}

std::unique_ptr<Attempt> NewLocalAttempt(const TaskRun::Host* host, const JobRow& row, int task,
                                         const AttemptRow& attempt, Attempt::Callbacks callbacks) {
  LocalAttempt::Options options;
  options.loop = host->loop;
  options.spawner = host->spawner;
  options.folder = FolderOf(*host, row, task, attempt.number);
  options.task_socket = TaskSocketPath(row, row.tasks[static_cast<std::size_t>(task)],
                                       host->locations.runtime_directory, attempt.number);
  options.control_socket = options.task_socket + ".ctl";
  options.spec = SpecOf(host, row, task, attempt.number);
  if (host->locks_of)
    options.locks = [host, row = &row, task] { return host->locks_of(*row, task); };
  options.pid = attempt.pid;
  options.start_ticks = attempt.start_ticks;
  options.fault = host->fault;
  return std::make_unique<LocalAttempt>(std::move(options), std::move(callbacks));
}

std::unique_ptr<Attempt> NewRemoteAttempt(const TaskRun::Host* host, const JobRow& row, int task,
                                          const AttemptRow& attempt, Attempt::Callbacks callbacks) {
  const TaskRow& task_row = row.tasks[static_cast<std::size_t>(task)];
  const auto path = [&](msg::LogStream stream) {
    return LogPath(row, task_row, host->locations.state_directory, attempt.number, stream);
  };
  OtherHosts::Wanted wanted;
  wanted.key = NodeKey(row, task, attempt.number);
  wanted.folder = FolderOf(*host, row, task, attempt.number);
  wanted.stdout_path = path(msg::LogStream::Stdout);
  wanted.stderr_path = path(msg::LogStream::Stderr);
  wanted.spec = SpecOf(host, row, task, attempt.number);
  if (const msg::WorkT* const work = row.spec.work.get(); work != nullptr) {
    wanted.work = {.path = WorkPath(host->locations.state_directory, work->sha256),
                   .sha256 = work->sha256,
                   .bytes = work->bytes,
                   .subdirectory = work->subdirectory};
  }
  if (host->lets_go_of) wanted.lets_go = host->lets_go_of(row, task);
  if (const msg::ProbeT* const probe = row.liveness(task_row);
      probe != nullptr && IsProbeOfItsHost(*probe)) {
    wanted.probe = EncodeProbe(*probe);
  }
  wanted.fault = host->fault;
  return host->hosts->MakeAttempt(attempt.node, std::move(wanted), std::move(callbacks));
}

// Makes an attempt on its node or on this host. It calls on_left shortly after Acknowledge().
std::unique_ptr<Attempt> NewAttempt(const TaskRun::Host* host, const JobRow& row, int task,
                                    const AttemptRow& attempt, Attempt::Callbacks callbacks) {
  const auto self = std::make_shared<Attempt*>();
  callbacks.on_left = [host, self] { host->on_left(*self); };
  const auto make =
      attempt.node.empty() || host->hosts == nullptr ? NewLocalAttempt : NewRemoteAttempt;
  auto made = make(host, row, task, attempt, std::move(callbacks));
  *self = made.get();
  return made;
}

}  // namespace

std::unique_ptr<Attempt> TaskRun::OfEnded(const Host* host, const JobRow& row, int task,
                                          const AttemptRow& attempt) {
  return NewAttempt(host, row, task, attempt, {});
}

bool TaskRun::IsLetGo(const Host& host, const JobRow& row, int task, const AttemptRow& attempt) {
  return Attempt::IsAcknowledged(FolderOf(host, row, task, attempt.number));
}

std::string TaskRun::Path(msg::LogStream stream) const {
  return LogPath(*row_, row(), host_->locations.state_directory, last().number, stream);
}

// ---- The current attempt

// Makes the Attempt for the last attempt in the row.
void TaskRun::Make() {
  stopped_us_ = spoke_us_ = 0;
  stdout_lines_.reset();
  stderr_lines_.reset();
  ready_watch_.reset();
  attempt_ = NewAttempt(
      host_, *row_, task_, last(),
      {.on_running = [this](const ShimState& state) { OnRunning(state); },
       .on_ready = [this] { host_->on_ready(this); },
       .on_output = [this](const ShimState& state) { OnOutput(state); },
       .on_barrier = [this](const ShimBarrier& barrier) { host_->on_barrier(this, barrier); },
       .on_look = [this](const std::string& why) { host_->on_look(this, why); },
       .on_probe_failed =
           [this](const std::string& reason) { host_->on_probe_failed(this, reason); },
       .on_over = [this](const AttemptEnd& end) { OnOver(end); },
       .on_left = {}});
}

absl::Status TaskRun::Start() {
  Make();
  absl::Status made = MakeLogDirectory();
  return made.ok() ? attempt_->Start() : made;
}

// Creates the log directory with the permissions that the umask of the job's caller allows.
absl::Status TaskRun::MakeLogDirectory() const {
  const std::filesystem::path path = Path(msg::LogStream::Stdout);
  std::error_code error;
  if (std::filesystem::is_directory(path.parent_path(), error)) return absl::OkStatus();
  const CallersProcess caller = host_->spec_of(*row_, task_, last().number).caller;
  return runtime::MakeDirectories(path.parent_path(),
                                  caller.is_known
                                      ? runtime::FileMode::Exactly(0700 | (0777 & ~caller.umask))
                                      : runtime::FileMode(0755));
}

void TaskRun::Adopt() {
  if (row().attempts.empty()) {
    row().attempts.push_back({.number = row_->status.tasks[static_cast<std::size_t>(task_)].attempt,
                              .node = row().node});
  }
  BeginBeforeLastLines();
  Make();
  attempt_->Adopt();
}

// It is unknown which lines the earlier launcher has announced. Announcing the last line again
// tells followers that they may have missed lines.
void TaskRun::BeginBeforeLastLines() {
  if (last().pid == 0) return;  // The beginning of its output is not known yet.
  // Looking for rotated files lists the whole folder, which may hold the files of many tasks.
  const bool is_alone = row_->spec.log_rotate_bytes == 0 && row_->spec.log_directory.empty();
  const auto find = [&](msg::LogStream stream, std::uint64_t begin) -> std::uint64_t {
    std::error_code error;
    if (is_alone && std::filesystem::file_size(Path(stream), error) == 0) return 0;
    return BeginOfLastLine(Path(stream), begin);
  };
  last().stdout_end = find(msg::LogStream::Stdout, last().stdout_begin);
  last().stderr_end = find(msg::LogStream::Stderr, last().stderr_begin);
}

void TaskRun::Fail(const absl::Status& why) {
  AttemptEnd end;
  end.how = absl::StrCat("cannot start: ", why.message());
  end.state.failure = end.how;
  OnOver(end);
}

void TaskRun::Stop(int signal, absl::Duration grace) {
  if (attempt_ == nullptr) return;
  if (stopped_us_ == 0) stopped_us_ = absl::ToUnixMicros(host_->clock->Now());
  attempt_->Stop(signal, grace);
}

bool TaskRun::Signal(int signal) { return attempt_ != nullptr && attempt_->Signal(signal); }

void TaskRun::AnswerBarrier(int attempt, std::uint64_t number, std::string line) {
  if (attempt_ == nullptr || last().number != attempt) return;
  attempt_->AnswerBarrier(number, std::move(line));
}

void TaskRun::OnRunning(const ShimState& state) {
  AttemptRow& row = last();
  const bool is_new = row.pid != state.pid;
  row.pid = state.pid;
  row.start_ticks = state.start_ticks;
  row.started_us = state.started_us;
  row.stdout_begin = state.stdout_begin;
  row.stderr_begin = state.stderr_begin;
  OpenFeeds();
  host_->on_running(this, is_new);
}

void TaskRun::OnOver(const AttemptEnd& end) {
  Note(end);
  EndOutput(end);
  host_->on_over(this, end, std::move(attempt_));
}

void TaskRun::Note(const AttemptEnd& end) {
  AttemptRow& row = last();
  const ShimState& state = end.state;
  if (state.pid != 0) row.pid = state.pid;
  if (state.start_ticks != 0) row.start_ticks = state.start_ticks;
  if (state.started_us != 0) row.started_us = state.started_us;
  row.ended_us = state.ended_us != 0 ? state.ended_us : absl::ToUnixMicros(host_->clock->Now());
  row.exit_code = state.exit_code;
  row.signal = state.signal;
  row.core_dumped = state.core_dumped;
  row.out_of_memory = state.out_of_memory;
  const TaskStatus& status = row_->status.tasks[static_cast<std::size_t>(task_)];
  const bool was_failed = status.stop == StopCause::kFailed;
  row.reason = was_failed ? absl::StrCat(status.stop_reason, "; ", end.how) : end.how;
  row.shim_lost = end.shim_lost;
  spoke_us_ = state.spoke_us;
  row.error_number = state.error_number;
  row.was_stopped = !state.unasked && status.stop != StopCause::kNone && !was_failed;
}

// ---- Output

// Makes a feed that continues after the last announced line, or starts at the attempt's beginning.
LineFeed TaskRun::MakeFeed(msg::LogStream stream) {
  const bool is_stdout = stream == msg::LogStream::Stdout;
  const std::uint64_t begin = is_stdout ? last().stdout_begin : last().stderr_begin;
  const std::uint64_t known = is_stdout ? last().stdout_end : last().stderr_end;
  // (last() stays the same attempt, since none is added while this one has its feeds.)
  return LineFeed(
      Path(stream), std::max(begin, known), [this, is_stdout, stream, begin](LineBatch batch) {
        (is_stdout ? last().stdout_end : last().stderr_end) = batch.end;
        if (!host_->on_lines) return;
        host_->on_lines(
            row_->id, batch.begin == begin ? 0 : batch.begin,
            LinesMessage(*row_, row(), last().number, stream, batch.end, std::move(batch.lines)));
      });
}

// Makes a watch that reads from the attempt's beginning, regardless of the announced lines.
std::unique_ptr<ReadyWatch> TaskRun::MakeReadyWatch() {
  const msg::TaskGroupT* const group = row_->group(row());
  if (group == nullptr || group->ready_pattern.empty()) return nullptr;
  if (row_->status.tasks[static_cast<std::size_t>(task_)].ready) return nullptr;
  auto pattern = ReadyPattern::Compile(group->ready_pattern);
  if (!pattern.ok()) return nullptr;
  return std::make_unique<ReadyWatch>(host_->ready_pace, *std::move(pattern),
                                      LineReader(Path(msg::LogStream::Stdout), last().stdout_begin),
                                      LineReader(Path(msg::LogStream::Stderr), last().stderr_begin),
                                      [this] { host_->on_ready(this); });
}

void TaskRun::OpenFeeds() {
  if (stdout_lines_) return;
  stdout_lines_.emplace(MakeFeed(msg::LogStream::Stdout));
  stderr_lines_.emplace(MakeFeed(msg::LogStream::Stderr));
  ready_watch_ = MakeReadyWatch();
}

void TaskRun::OnOutput(const ShimState& state) {
  if (stdout_lines_) {
    stdout_lines_->Advance(state.stdout_end, false);
    stderr_lines_->Advance(state.stderr_end, false);
  }
  if (ready_watch_ != nullptr) ready_watch_->Advance(state.stdout_end, state.stderr_end);
  host_->on_output(this);
}

// Announces the remaining lines and records where the output ends.
void TaskRun::EndOutput(const AttemptEnd& end) {
  AttemptRow& row = last();
  row.stdout_begin = std::max(row.stdout_begin, end.state.stdout_begin);
  row.stderr_begin = std::max(row.stderr_begin, end.state.stderr_begin);
  std::uint64_t stdout_end = std::max(end.state.stdout_end, row.stdout_begin);
  std::uint64_t stderr_end = std::max(end.state.stderr_end, row.stderr_begin);
  if (end.lost || end.shim_lost) {
    // If no process observed the end, the size of the files gives the end of the output.
    const auto size = [&](msg::LogStream stream) -> std::uint64_t {
      const auto extent = LogSegments(Path(stream)).Look();
      return extent.ok() ? extent->end : 0;
    };
    stdout_end = std::max(stdout_end, size(msg::LogStream::Stdout));
    stderr_end = std::max(stderr_end, size(msg::LogStream::Stderr));
  }
  OpenFeeds();
  stdout_lines_->Advance(stdout_end, true);
  stderr_lines_->Advance(stderr_end, true);
  if (ready_watch_ != nullptr) ready_watch_->Finish(stdout_end, stderr_end);
  ready_watch_.reset();
  row.stdout_end = stdout_end;
  row.stderr_end = stderr_end;
  host_->on_output(this);
}

}  // namespace launcher

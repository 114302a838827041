#include "trainer/attempt/program_runner.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/file/unique_fd.h"
#include "runtime/text/json_value.h"
#include "runtime/text/string_view.h"
#include "runtime/text/utf8.h"
#include "runtime/timer.h"
#include "trainer/attempt/trial_cluster.h"
#include "trainer/attempt/trial_resources.h"

namespace trainer {
namespace {

constexpr std::size_t kErrorLines = 20;
constexpr off_t kErrorBytes = 16 << 10;

ProgramEnd EndOf(const msg::JobT& job, std::uint64_t memory_limit) {
  ProgramEnd end;
  const msg::TaskT* const task = DecisiveTask(job);
  const msg::AttemptT* const attempt =
      task == nullptr || task->attempts.empty() ? nullptr : task->attempts.back().get();
  // (A job whose tasks were stopped before they started has not succeeded.)
  const bool went_well =
      task == nullptr || (attempt != nullptr && attempt->exit_code == 0 && attempt->signal == 0);
  end.success = job.state == msg::TaskState::Exited && went_well;
  if (task != nullptr) end.stderr_path = task->stderr_path;
  if (end.success) return end;
  end.reason = job.reason;
  if (job.tasks.size() > 1 && job.failure != nullptr && !job.failure->task.empty()) {
    end.reason = absl::StrCat(job.failure->task, ": ", job.failure->reason);
  }
  if (end.reason.empty() && attempt != nullptr) end.reason = attempt->reason;
  if (end.reason.empty()) end.reason = "the launcher gives no reason";
  if (attempt != nullptr && attempt->out_of_memory && memory_limit > 0) {
    end.reason = OutOfMemoryWords(memory_limit, end.reason);
  }
  if (job.failure != nullptr) end.error_lines = job.failure->last_lines;
  return end;
}

// Returns true if the reporter's shim is gone, so that no more reports can arrive.
bool ShimIsGone(const msg::JobT& job) {
  if (job.state == msg::TaskState::Lost && job.tasks.size() <= 1) return true;
  if (!job.tasks.empty() && !StartOf(job)) return true;  // No shim was ever started.
  const msg::TaskT* const task = ReportingTask(job);
  if (task == nullptr) return false;
  return task->state == msg::TaskState::Lost ||
         (!task->attempts.empty() && task->attempts.back()->shim_lost);
}

class ProgramRunnerImpl : public ProgramRunner,
                          public std::enable_shared_from_this<ProgramRunnerImpl> {
 public:
  explicit ProgramRunnerImpl(Options options) : options_(std::move(options)) {}

  void Launch(const std::string& request_id, const msg::JobSpecT& spec) override {
    options_.jobs->Launch(request_id, options_.trace, spec,
                          [weak = weak_from_this()](absl::StatusOr<std::string> job) {
                            if (auto self = weak.lock()) self->OnLaunched(std::move(job));
                          });
  }

  void TakeUp(const std::string& job) override {
    job_ = job;
    options_.jobs->Follow(
        job,
        [weak = weak_from_this()](const msg::JobT& now) {
          if (auto self = weak.lock()) self->OnChanged(now);
        },
        [weak = weak_from_this()](absl::StatusOr<msg::JobT> ended) {
          if (auto self = weak.lock()) self->OnJobEnded(std::move(ended));
        });
  }

  void Stop(absl::Duration grace, const std::string& reason, const std::string& trace) override {
    if (job_.empty()) {
      stop_ = {grace, reason, trace};
    } else if (!end_) {
      options_.jobs->Stop(job_, grace, reason, trace);
    }
  }

  void ReportsComplete(std::string_view) override {
    reports_complete_ = true;
    if (end_) Finish();
  }
  bool nobody_reports() const override { return reports_complete_ || reporter_ended_; }

 private:
  struct StopOrder {
    absl::Duration grace;
    std::string reason;
    std::string trace;
  };

  void OnLaunched(absl::StatusOr<std::string> job) {
    const auto keep = shared_from_this();  // The callback may release this object.
    if (!job.ok()) return options_.on_launched(job.status());
    TakeUp(*job);
    if (stop_) options_.jobs->Stop(job_, stop_->grace, stop_->reason, stop_->trace);
    options_.on_launched(*job);
  }

  void OnChanged(const msg::JobT& job) {
    reporter_ended_ = ReporterHasEnded(job);
    if (options_.on_changed) options_.on_changed(job);
  }

  void OnJobEnded(absl::StatusOr<msg::JobT> job) {
    if (job.ok()) {
      OnChanged(*job);
      end_ = EndOf(*job, options_.memory_limit);
    } else {
      end_ = ProgramEnd{false, absl::StrCat("lost job ", job_, ": ", job.status().message()), {}};
    }
    if (reports_complete_ || !job.ok() || ShimIsGone(*job)) return Finish();
    timer_.Start(options_.loop, options_.last_reports, [this] { Finish(); });
  }

  void Finish() {
    const auto keep = shared_from_this();
    timer_.Cancel();
    if (!std::exchange(finished_, true)) options_.on_ended(*end_);
  }

  const Options options_;
  std::string job_;
  std::optional<StopOrder> stop_;
  std::optional<ProgramEnd> end_;
  bool reports_complete_ = false;
  bool reporter_ended_ = false;
  bool finished_ = false;
  runtime::Timer timer_;
};

bool SetByUs(std::string_view variable) {
  for (const std::string_view name :
       {"YARD_TRIAL_ID=", "YARD_TRIAL_NAME=", "YARD_LOGDIR=", "YARD_CONFIG=", "YARD_CHECKPOINT=",
        "YARD_ITERATION=", "YARD_SEED=", "YARD_ATTEMPT="}) {
    if (variable.substr(0, name.size()) == name) return true;
  }
  return false;
}

}  // namespace

std::shared_ptr<ProgramRunner> ProgramRunner::Create(Options options) {
  return std::make_shared<ProgramRunnerImpl>(std::move(options));
}

msg::JobSpecT JobSpecFor(const TrialRecord& trial, const std::string& relay) {
  const TrialSpec& spec = trial.spec;
  msg::JobSpecT job;
  SetTasks(spec.options, &job);
  SetResources(spec.options, &job);
  if (spec.options.caller != nullptr) {
    job.caller = std::make_unique<msg::CallersProcessT>(*spec.options.caller);
  }
  job.argv = spec.argv;
  for (const std::string& variable : spec.environment) {
    if (!SetByUs(variable)) job.environment.push_back(variable);
  }
  for (const std::string& variable :
       {absl::StrCat("YARD_TRIAL_ID=", trial.id()), absl::StrCat("YARD_TRIAL_NAME=", spec.name),
        absl::StrCat("YARD_LOGDIR=", spec.run_directory),
        absl::StrCat("YARD_CONFIG=", spec.run_directory, "/params.json"),
        absl::StrCat("YARD_CHECKPOINT=", trial.start_checkpoint),
        absl::StrCat("YARD_ITERATION=", trial.start_iteration),
        absl::StrCat("YARD_SEED=", spec.seed), absl::StrCat("YARD_ATTEMPT=", trial.attempt)}) {
    job.environment.push_back(variable);
  }
  job.pool = spec.options.pool;
  if (spec.options.work != nullptr) {
    job.work = std::make_unique<msg::WorkT>(*spec.options.work);
  }
  job.working_directory = spec.working_directory;
  job.restart = msg::RestartPolicy::Never;
  job.stop_grace_ms = static_cast<std::uint32_t>(spec.stop_grace_ms);
  job.max_run_time_ms = spec.options.max_run_time_ms;
  job.log_directory = spec.run_directory;
  // An attempt reports either by its output or by the report channel.
  if (spec.options.output_reports.empty()) {
    job.report_channel = std::make_unique<msg::ReportChannelT>();
    job.report_channel->socket = relay;
    job.report_channel->nonce = trial.nonce;
  }
  for (const auto& [key, value] :
       {std::pair<std::string, std::string>("trial", trial.id()), {"trial_name", spec.name}}) {
    auto label = std::make_unique<msg::KeyValueT>();
    label->key = key;
    label->value = value;
    job.labels.push_back(std::move(label));
  }
  return job;
}

std::string OutputPathOf(const TrialRecord& trial) {
  return trial.spec.run_directory + "/worker-0.1.stdout";
}

ErrorSizes ErrorSizesOf(const TrialRecord& trial) {
  constexpr std::size_t kMostTasks = 1000;
  ErrorSizes sizes;
  std::error_code error;
  std::filesystem::directory_iterator entry(trial.spec.run_directory, error);
  for (; !error && entry != std::filesystem::directory_iterator() && sizes.size() < kMostTasks;
       entry.increment(error)) {
    if (entry->path().extension() != ".stderr") continue;
    std::error_code unknown;
    const auto size = entry->file_size(unknown);
    if (!unknown) sizes[entry->path()] = static_cast<std::int64_t>(size);
  }
  return sizes;
}

std::vector<std::string> LastErrorLines(const ProgramEnd& end, const ErrorSizes& before) {
  const auto found = before.find(end.stderr_path);
  return LastLines(end.stderr_path, kErrorLines, found == before.end() ? 0 : found->second);
}

std::vector<std::string> LastLines(const std::string& path, std::size_t count, std::int64_t from) {
  const runtime::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat about {};
  if (!fd.valid() || fstat(fd.get(), &about) != 0 || !S_ISREG(about.st_mode)) return {};
  if (from >= about.st_size) return {};
  const off_t begin = std::max<off_t>(from, about.st_size - kErrorBytes);
  std::string text(static_cast<std::size_t>(about.st_size - begin), '\0');
  const ssize_t size = pread(fd.get(), text.data(), text.size(), begin);
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  if (begin > from) text.erase(0, text.find('\n') == text.npos ? 0 : text.find('\n') + 1);
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = runtime::ValidUtf8(std::string_view(text).substr(at, end - at));
    std::erase(line, '\0');
    lines.push_back(std::move(line));
    at = end + 1;
  }
  if (lines.size() > count) lines.erase(lines.begin(), lines.end() - static_cast<long>(count));
  return lines;
}

}  // namespace trainer

#include "trainer/trials.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "bus/call_retry.h"
#include "eventlog/event.h"
#include "glog/logging.h"
#include "runtime/file.h"
#include "runtime/random_id.h"
#include "runtime/string_view.h"
#include "trainer/program_runner.h"
#include "trainer/result_files.h"
#include "trainer/trial_record.h"
#include "trainer/trial_reports.h"
#include "trainer/trial_request.h"

// Always true between two callbacks:
// - `record` in memory is what the store has, but for trials in unsaved_, which are behind there
//   after an error of the disk and written again by a timer.
// - a trial has a runner exactly while it is Running or Stopping, or Pending and being launched.
//   (`launching` without a runner: the launcher refuses, but may have started the job before.)
// - nonces_ holds the nonce of the current attempt of every trial that may still report.

namespace trainer {
namespace {

using msg::TrialState;

constexpr int kRowsPerRead = 256;
constexpr std::size_t kMaxListedMetrics = 4096;
constexpr absl::Duration kStoreRetry = absl::Seconds(1);
// For so long after its end a trial's last reports may still arrive at a new trainer.
constexpr absl::Duration kLateReports = absl::Minutes(1);
// An attempt that ran for so long was no quick failure.
constexpr absl::Duration kLongAttempt = absl::Seconds(10);
constexpr absl::Duration kFirstRestartDelay = absl::Milliseconds(100);
constexpr absl::Duration kLongestRestartDelay = absl::Seconds(30);

// The first restart waits for nothing.
absl::Duration RestartDelay(int quick_failures) {
  if (quick_failures <= 1) return absl::ZeroDuration();
  return bus::GrowingPause(quick_failures - 1, kFirstRestartDelay, kLongestRestartDelay);
}

bool MayTryAgain(const absl::Status& status) {
  return status.code() == absl::StatusCode::kResourceExhausted ||
         status.code() == absl::StatusCode::kUnavailable;
}

// For the log, whose reader's terminal a program or caller must not drive.
std::string Printable(const std::string& text) { return absl::Utf8SafeCHexEscape(text); }

std::string TraceWords(const TrialRecord& trial) {
  return trial.trace.empty() ? "" : absl::StrCat(" (trace ", Printable(trial.trace), ")");
}

class TrialsImpl : public Trials {
 public:
  explicit TrialsImpl(Options options) : options_(std::move(options)) {}
  ~TrialsImpl() override {
    options_.loop->Cancel(store_timer_);
    options_.loop->Cancel(launch_timer_);
    for (auto& [number, trial] : trials_) {
      options_.loop->Cancel(trial.stop_timer);
      options_.loop->Cancel(trial.restart_timer);
    }
    *alive_ = false;
  }

  absl::Status Load() {
    auto records = options_.store->LoadTrials();
    if (!records.ok()) return records.status();
    for (TrialRecord& record : *records) {
      auto status = Adopt(std::move(record));
      if (!status.ok()) return status;
    }
    return options_.store->ForgetOldLines(absl::ToUnixMicros(options_.clock->Now() - kLateReports));
  }

  void Resume() override {
    for (auto& [number, trial] : trials_) {
      if (HasEnded(trial.record)) continue;
      if (!trial.record.job.empty()) {
        MakeRunner(trial);
        const absl::Time began = absl::FromUnixMicros(trial.record.attempt_started_us);
        trial.running_since = options_.clock->Monotonic() - (options_.clock->Now() - began);
        trial.runner->TakeUp(trial.record.job);
        if (trial.record.stop_requested) BeginStop(trial);
      } else if (trial.record.launching) {
        trial.launch_in_doubt = true;
        Launch(trial);
      }
    }
    StartNext();
  }

  absl::StatusOr<msg::TrialT> Run(const std::string& request_id,
                                  const msg::RunTrialRequestT& request,
                                  const std::string& trace) override {
    if (const auto known = requests_.find(request_id); known != requests_.end()) {
      return Message(trials_.at(known->second));
    }
    const std::string id = FreeId();
    auto spec = SpecFrom(request, id, options_.logdir);
    if (!spec.ok()) return spec.status();
    if (auto status = CheckNameIsFree(*spec); !status.ok()) return status;
    TrialRecord record = NewRecord(id, request_id, *std::move(spec));
    record.trace = trace;
    auto number = options_.store->Insert(record);
    if (!number.ok()) return number.status();
    record.number = *number;
    if (auto status = Adopt(std::move(record)); !status.ok()) return status;
    Trial& trial = trials_.at(*number);
    Announce(trial, nullptr);
    StartNext();
    return Message(trial);
  }

  absl::StatusOr<std::string> Find(std::string_view name) const override {
    if (ids_.count(std::string(name)) != 0) return std::string(name);
    const Trial* named = nullptr;
    std::vector<std::string> prefixed;
    for (const auto& [number, trial] : trials_) {
      const bool better = named == nullptr || HasEnded(named->record) || !HasEnded(trial.record);
      if (trial.record.spec.name == name && better) named = &trial;
      if (trial.record.id().substr(0, name.size()) == name) prefixed.push_back(trial.record.id());
    }
    if (named != nullptr) return named->record.id();
    if (prefixed.size() == 1 && !name.empty()) return prefixed.front();
    if (prefixed.empty() || name.empty()) {
      return absl::NotFoundError(absl::StrCat("no trial is called ", runtime::Absl(name)));
    }
    std::string list;
    for (const std::string& id : prefixed) {
      absl::StrAppend(&list, list.empty() ? "" : ", ", id, " (",
                      trials_.at(ids_.at(id)).record.spec.name, ")");
    }
    return absl::FailedPreconditionError(
        absl::StrCat(runtime::Absl(name), " is ambiguous: ", list));
  }

  absl::StatusOr<msg::TrialT> Get(const std::string& id) const override {
    const Trial* const trial = ById(id);
    if (trial == nullptr) return absl::NotFoundError(absl::StrCat("no trial ", id));
    return Message(*trial);
  }

  std::vector<msg::TrialT> List(bool live_only) const override {
    std::vector<msg::TrialT> list;
    for (const auto& [number, trial] : trials_) {
      if (live_only && HasEnded(trial.record)) continue;
      list.push_back(Message(trial));
      if (list.back().last_metrics.size() > kMaxListedMetrics) list.back().last_metrics.clear();
    }
    return list;
  }

  absl::StatusOr<msg::TrialT> Stop(const std::string& id, absl::Duration grace,
                                   const std::string& trace) override {
    Trial* const trial = ById(id);
    if (trial == nullptr) return absl::NotFoundError(absl::StrCat("no trial ", id));
    if (HasEnded(trial->record)) return Message(*trial);
    TrialRecord changed = trial->record;
    changed.stop_requested = true;
    changed.stop_grace_ms = grace > absl::ZeroDuration() ? absl::ToInt64Milliseconds(grace)
                                                         : trial->record.spec.stop_grace_ms;
    const bool waits = changed.state == TrialState::Pending && !changed.launching;
    if (waits) {
      changed.state = TrialState::Stopped;
      changed.reason =
          changed.started_us == 0 ? "stopped before it started" : "it was asked to stop";
      changed.ended_us = NowMicros();
    } else if (changed.state == TrialState::Running) {
      changed.state = TrialState::Stopping;
    }
    if (auto status = SaveNow(*trial, std::move(changed)); !status.ok()) return status;
    trial->stop_trace = trace;
    if (waits) Forget(*trial);
    if (!waits) BeginStop(*trial);
    Announce(*trial, nullptr);
    return Message(*trial);
  }

  absl::StatusOr<std::vector<ResultRow>> RowsAfter(const std::string& id,
                                                   std::int64_t row) override {
    const Trial* const trial = ById(id);
    if (trial == nullptr) return absl::NotFoundError(absl::StrCat("no trial ", id));
    return options_.store->RowsAfter(trial->record.number, row, kRowsPerRead);
  }

  std::map<std::string, Extent> Extents() const override {
    std::map<std::string, Extent> extents;
    for (const auto& [number, trial] : trials_) {
      extents[trial.record.id()] = {trial.reports->progress().last_row.row, trial.changed_us};
    }
    return extents;
  }

  ObserverId Observe(const std::string& id, std::function<void()> changed) override {
    observers_[++last_observer_] = {id, std::move(changed)};
    return last_observer_;
  }
  void Forget(ObserverId observer) override { observers_.erase(observer); }

  Stats GetStats() const override {
    return {trial_count_.load(), live_.load(), running_.load(), reports_.load(),
            store_errors_.load()};
  }

  absl::StatusOr<AttemptKey> Greet(std::string_view nonce) override {
    const auto found = nonces_.find(std::string(nonce));
    if (found == nonces_.end()) {
      return absl::PermissionDeniedError("no attempt of a trial has this nonce");
    }
    return AttemptKey{found->second, trials_.at(found->second).record.attempt};
  }

  std::vector<absl::StatusOr<std::string>> Receive(const std::vector<RelayedLine>& lines) override {
    std::vector<absl::StatusOr<std::string>> answers;
    std::set<std::int64_t> touched;
    StoreBatch batch;
    const absl::Time now = options_.clock->Now();
    for (const RelayedLine& line : lines) answers.push_back(Take(line, now, batch, touched));
    Fault("before commit");
    const absl::Status stored = StoreLines(batch);
    Fault("after commit");
    std::map<std::int64_t, absl::Status> failed;
    for (const std::int64_t number : touched) {
      const absl::Status status = Conclude(trials_.at(number), stored);
      if (!status.ok()) failed[number] = status;
    }
    Fault("after files");
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const auto error = failed.find(lines[i].attempt.trial);
      if (error != failed.end()) answers[i] = error->second;
      if (answers[i].ok() && lines[i].is_end) ReportsComplete(lines[i].attempt);
    }
    return answers;
  }

 private:
  struct Trial {
    TrialRecord record;
    std::unique_ptr<TrialReports> reports;
    std::shared_ptr<ProgramRunner> runner;
    runtime::EventLoop::TimerId stop_timer = 0;
    std::string stop_trace;  // Empty: that of the trial.
    // While the next attempt is held back.
    runtime::EventLoop::TimerId restart_timer = 0;
    // The launcher may have started the job of the attempt without our hearing of it.
    bool launch_in_doubt = false;
    int quick_failures = 0;                       // In a row, known to this trainer.
    std::optional<absl::Duration> running_since;  // Monotonic; of the attempt, once it is launched.
    std::int64_t changed_us = 0;
  };
  struct Observer {
    std::string id;
    std::function<void()> changed;
  };

  // ---- What is known of trials.

  absl::Status Adopt(TrialRecord record) {
    auto reports = TrialReports::Load(record, {.store = options_.store, .fault = options_.fault});
    if (!reports.ok()) return reports.status();
    const std::int64_t number = record.number;
    requests_[record.request_id] = number;
    ids_[record.id()] = number;
    Trial& trial = trials_[number];
    trial.record = std::move(record);
    trial.reports = *std::move(reports);
    ++trial_count_;
    const bool live = !HasEnded(trial.record);
    trial.changed_us = live ? NowMicros() : trial.record.ended_us;
    if (live || MayReportLate(trial.record)) nonces_[trial.record.nonce] = number;
    if (live) ++live_;
    if (!live) trial.record.spec.environment.clear();
    if (live && trial.record.launching) {
      // Else its directory is made when it starts.
      const absl::Status repaired = trial.reports->RepairFiles();
      LOG_IF(ERROR, !repaired.ok()) << "trial " << trial.record.id() << ": " << repaired;
    }
    return absl::OkStatus();
  }

  bool MayReportLate(const TrialRecord& record) const {
    return options_.clock->Now() - absl::FromUnixMicros(record.ended_us) < kLateReports;
  }

  Trial* ById(const std::string& id) {
    const auto found = ids_.find(id);
    return found == ids_.end() ? nullptr : &trials_.at(found->second);
  }
  const Trial* ById(const std::string& id) const { return const_cast<TrialsImpl*>(this)->ById(id); }

  std::string FreeId() const {
    for (;;) {
      std::string id = runtime::RandomName("t-");
      if (ids_.count(id) == 0) return id;
    }
  }

  absl::Status CheckNameIsFree(const TrialSpec& spec) const {
    for (const auto& [number, trial] : trials_) {
      if (trial.record.spec.run_directory != spec.run_directory) continue;
      return absl::AlreadyExistsError(absl::StrCat(
          "the name ", spec.name, " is taken by trial ", trial.record.id(), " (",
          msg::EnumNameTrialState(trial.record.state), "): choose another --name, or none"));
    }
    return CheckDirectoryIsFree(spec.run_directory);
  }

  TrialRecord NewRecord(const std::string& id, const std::string& request_id, TrialSpec spec) {
    TrialRecord record;
    record.run.trial_id = id;
    record.run.experiment_id = runtime::RandomHex128();
    record.run.hostname = options_.hostname;
    record.run.created_us = NowMicros();
    record.run.event_file =
        eventlog::EventFileName(record.run.created_us / 1'000'000, options_.hostname, getpid(), 0);
    record.request_id = request_id;
    record.spec = std::move(spec);
    record.nonce = runtime::RandomHex128();
    record.job_request_id = runtime::RandomHex128();
    return record;
  }

  msg::TrialT Message(const Trial& trial) const {
    const TrialRecord& record = trial.record;
    msg::TrialT message = Brief(trial);
    message.argv = record.spec.argv;
    message.working_directory = record.spec.working_directory;
    message.error_lines = record.error_lines;
    message.last_metrics = trial.reports->progress().last_row.metrics;
    return message;
  }

  msg::TrialT Brief(const Trial& trial) const {
    const TrialRecord& record = trial.record;
    const TrialReports::Progress& progress = trial.reports->progress();
    msg::TrialT message;
    message.id = record.id();
    message.name = record.spec.name;
    message.state = record.state;
    message.log_directory = record.spec.run_directory;
    message.job = record.job;
    message.attempt = static_cast<std::uint32_t>(record.attempt);
    message.created_us = record.run.created_us;
    message.started_us = record.started_us;
    message.ended_us = record.ended_us;
    message.reports = static_cast<std::uint64_t>(progress.last_row.row);
    message.training_iteration = progress.last_row.training_iteration;
    message.reason = record.reason;
    message.stop_requested = record.stop_requested;
    return message;
  }

  void Announce(Trial& trial, const ResultRow* row) {
    if (row == nullptr) trial.changed_us = NowMicros();
    if (options_.on_event) {
      msg::TrialEventT event;
      event.trial = std::make_unique<msg::TrialT>(row == nullptr ? Message(trial) : Brief(trial));
      if (row != nullptr) event.row = std::make_unique<msg::ResultRowT>(RowMessage(*row));
      options_.on_event(std::move(event));
    }
    std::vector<std::function<void()>> callbacks;
    for (const auto& [observer, entry] : observers_) {
      if (entry.id == trial.record.id()) callbacks.push_back(entry.changed);
    }
    for (const auto& callback : callbacks) callback();
  }

  // ---- Keeping it.

  // The change stands once it is stored.
  absl::Status SaveNow(Trial& trial, TrialRecord changed) {
    StoreBatch batch;
    batch.trials.push_back(changed);
    auto status = options_.store->Write(batch);
    if (!status.ok()) {
      ++store_errors_;
      return status;
    }
    trial.record = std::move(changed);
    return status;
  }

  // For what has happened already: stored later if it cannot be stored now.
  void SaveSometime(Trial& trial, TrialRecord changed) {
    trial.record = std::move(changed);
    unsaved_.insert(trial.record.number);
    SaveUnsaved();
  }

  void SaveUnsaved() {
    StoreBatch batch;
    for (const std::int64_t number : unsaved_) batch.trials.push_back(trials_.at(number).record);
    const absl::Status status = options_.store->Write(batch);
    if (status.ok()) return unsaved_.clear();
    ++store_errors_;
    LOG(ERROR) << status;
    TryStoreLater();
  }

  void TryStoreLater() {
    if (store_timer_ != 0) return;
    store_timer_ = options_.loop->RunAfter(kStoreRetry, [this] {
      store_timer_ = 0;
      if (!unsaved_.empty()) SaveUnsaved();
      StartNext();
    });
  }

  std::int64_t NowMicros() const { return absl::ToUnixMicros(options_.clock->Now()); }

  // ---- Reports.

  absl::StatusOr<std::string> Take(const RelayedLine& line, absl::Time now, StoreBatch& batch,
                                   std::set<std::int64_t>& touched) {
    const auto found = trials_.find(line.attempt.trial);
    if (found == trials_.end() || found->second.record.attempt != line.attempt.attempt) {
      return absl::PermissionDeniedError("this attempt is over");
    }
    touched.insert(found->first);
    return found->second.reports->Take(line, found->second.record, now, batch);
  }

  absl::Status StoreLines(const StoreBatch& batch) {
    if (batch.lines.empty()) return absl::OkStatus();
    auto status = options_.store->Write(batch);
    if (status.ok()) return status;
    ++store_errors_;
    LOG_EVERY_N(ERROR, 20) << status;
    return status;
  }

  absl::Status Conclude(Trial& trial, const absl::Status& stored) {
    if (!stored.ok()) {
      trial.reports->Abandon();
      return stored;
    }
    const absl::Status written = trial.reports->Committed();
    LOG_IF(ERROR, !written.ok()) << "trial " << trial.record.id() << ": " << written;
    trial.record.failure = trial.reports->progress().failure;
    reports_ += trial.reports->committed_rows().size();
    for (const ResultRow& row : trial.reports->committed_rows()) Announce(trial, &row);
    return written;
  }

  void ReportsComplete(const AttemptKey& key) {
    Trial& trial = trials_.at(key.trial);
    if (HasEnded(trial.record)) {
      nonces_.erase(trial.record.nonce);
      trial.reports->CloseFiles();
    }
    if (trial.runner != nullptr) trial.runner->ReportsComplete();
  }

  // ---- Life.

  // Starts the next trial that waits, if there is a slot, nothing else is being launched and the
  // launcher did not just refuse.
  void StartNext() {
    std::uint64_t running = 0;
    Trial* next = nullptr;
    for (auto& [number, trial] : trials_) {
      if (trial.runner != nullptr) ++running;
      if (trial.runner != nullptr && trial.record.launching && trial.record.job.empty()) return;
      const bool waits = trial.record.state == TrialState::Pending && trial.runner == nullptr &&
                         trial.restart_timer == 0;
      if (next == nullptr && waits) next = &trial;
    }
    running_ = running;
    if (launch_timer_ != 0) return;
    if (next != nullptr && running < static_cast<std::uint64_t>(options_.slots)) Start(*next);
  }

  void Start(Trial& trial) {
    // A launch that is in doubt has its directory, and perhaps a job that a failure here would
    // lose.
    const absl::Status prepared =
        trial.record.launching ? absl::OkStatus() : PrepareDirectory(trial);
    if (MayTryAgain(prepared)) return TryStoreLater();
    if (!prepared.ok())
      return End(trial, TrialState::Failed, {false, std::string(prepared.message()), {}});
    trial.launch_in_doubt = trial.record.launching;
    TrialRecord changed = trial.record;
    changed.launching = true;
    changed.attempt_started_us = NowMicros();
    Fault("before launch");
    if (const auto status = SaveNow(trial, std::move(changed)); !status.ok()) {
      LOG(ERROR) << "cannot start trial " << trial.record.id() << ": " << status;
      return TryStoreLater();
    }
    Launch(trial);
  }

  absl::Status PrepareDirectory(Trial& trial) {
    const TrialSpec& spec = trial.record.spec;
    if (auto status = runtime::MakeDirectories(spec.run_directory); !status.ok()) return status;
    auto params = RenderParams(spec.config);
    if (!params.ok()) return params.status();
    auto status = runtime::WriteFileAtomically(spec.run_directory + "/params.json", *params, 0644);
    if (!status.ok()) return status;
    return trial.reports->RepairFiles();
  }

  void MakeRunner(Trial& trial) {
    const std::int64_t number = trial.record.number;
    trial.runner = ProgramRunner::Create(
        {.loop = options_.loop,
         .jobs = options_.jobs,
         .trace = trial.record.trace,
         .on_launched =
             [this, number](absl::StatusOr<std::string> job) {
               OnLaunched(trials_.at(number), std::move(job));
             },
         .on_ended = [this,
                      number](AttemptEnd end) { OnEnded(trials_.at(number), std::move(end)); }});
  }

  void Launch(Trial& trial) {
    MakeRunner(trial);
    running_ = running_ + 1;
    trial.runner->Launch(trial.record.job_request_id, JobSpecFor(trial.record, options_.relay));
    if (trial.record.stop_requested) BeginStop(trial);
  }

  void OnLaunched(Trial& trial, absl::StatusOr<std::string> job) {
    Fault("after launch");
    if (!job.ok() && MayTryAgain(job.status())) return OnNoRoom(trial, job.status());
    refused_launches_ = 0;
    if (!job.ok()) {
      return OnEnded(trial, {false, absl::StrCat("cannot start: ", job.status().message()), {}});
    }
    TrialRecord changed = trial.record;
    changed.job = *std::move(job);
    changed.state = changed.stop_requested ? TrialState::Stopping : TrialState::Running;
    changed.reason.clear();
    if (changed.started_us == 0) changed.started_us = NowMicros();
    trial.running_since = options_.clock->Monotonic();
    SaveSometime(trial, std::move(changed));
    LOG(INFO) << "trial " << trial.record.id() << ": attempt " << trial.record.attempt << " is job "
              << trial.record.job << TraceWords(trial.record);
    Announce(trial, nullptr);
    StartNext();
  }

  // The launcher refused, for now. The trial waits again, as what it is: the first in the row.
  void OnNoRoom(Trial& trial, const absl::Status& status) {
    if (absl::IsUnavailable(status)) trial.launch_in_doubt = true;
    options_.loop->Cancel(std::exchange(launch_timer_, 0));
    const absl::Duration pause = bus::GrowingPause(++refused_launches_, bus::CallRetry::kFirstPause,
                                                   bus::CallRetry::kLongestPause);
    launch_timer_ = options_.loop->RunAfter(pause, [this] {
      launch_timer_ = 0;
      StartNext();
    });
    if (trial.record.stop_requested && !trial.launch_in_doubt) {
      return OnEnded(trial, {false, std::string(status.message()), {}});
    }
    options_.loop->Cancel(std::exchange(trial.stop_timer, 0));
    trial.runner.reset();
    running_ = running_ - 1;
    TrialRecord changed = trial.record;
    // While in doubt it may have a job, which a stop has to reach.
    changed.launching = trial.launch_in_doubt;
    changed.reason = absl::StrCat("the launcher cannot start it yet: ", status.message());
    const bool is_news = changed.reason != trial.record.reason;
    SaveSometime(trial, std::move(changed));
    if (!is_news) return;
    LOG(WARNING) << "trial " << trial.record.id() << ": " << Printable(trial.record.reason)
                 << TraceWords(trial.record);
    Announce(trial, nullptr);
  }

  void BeginStop(Trial& trial) {
    options_.loop->Cancel(std::exchange(trial.stop_timer, 0));
    const absl::Duration grace = absl::Milliseconds(trial.record.stop_grace_ms);
    // A program that has not spoken may not know the channel; it is told by a signal.
    if (trial.reports->progress().last_line == 0) return StopFromOutside(trial);
    const std::int64_t number = trial.record.number;
    trial.stop_timer = options_.loop->RunAfter(grace, [this, number] {
      Trial& late = trials_.at(number);
      late.stop_timer = 0;
      StopFromOutside(late);
    });
  }

  void StopFromOutside(Trial& trial) {
    const absl::Duration grace = absl::Milliseconds(trial.record.stop_grace_ms);
    if (trial.runner == nullptr) return;
    trial.runner->Stop(grace, "the trial was asked to stop",
                       trial.stop_trace.empty() ? trial.record.trace : trial.stop_trace);
  }

  void OnEnded(Trial& trial, AttemptEnd end) {
    const TrialRecord& record = trial.record;
    if (!record.failure.empty()) {
      end.reason =
          end.success ? record.failure : absl::StrCat(record.failure, " (", end.reason, ")");
      end.success = false;
    }
    if (record.stop_requested) {
      end.reason = "it was asked to stop";
      End(trial, TrialState::Stopped, std::move(end));
    } else if (end.success) {
      End(trial, TrialState::Done, std::move(end));
    } else if (static_cast<std::uint32_t>(record.attempt) <= record.spec.max_restarts) {
      BeginNextAttempt(trial, end);
    } else {
      End(trial, TrialState::Failed, std::move(end));
    }
  }

  void End(Trial& trial, TrialState state, AttemptEnd end) {
    if (trial.reports->files_behind() && trial.record.launching) {
      const absl::Status repaired = trial.reports->RepairFiles();
      LOG_IF(ERROR, !repaired.ok()) << "trial " << trial.record.id() << ": " << repaired;
    }
    TrialRecord changed = trial.record;
    changed.state = state;
    changed.reason = std::move(end.reason);
    if (state == TrialState::Failed) changed.error_lines = std::move(end.error_lines);
    changed.ended_us = NowMicros();
    LOG(INFO) << "trial " << changed.id() << " is " << msg::EnumNameTrialState(state)
              << (changed.reason.empty() ? "" : ": ") << Printable(changed.reason)
              << TraceWords(changed);
    SaveSometime(trial, std::move(changed));
    Forget(trial);
    Announce(trial, nullptr);
    StartNextLater();
  }

  // What only a live trial needs. Its nonce stays, for a report that is late.
  void Forget(Trial& trial) {
    options_.loop->Cancel(std::exchange(trial.stop_timer, 0));
    options_.loop->Cancel(std::exchange(trial.restart_timer, 0));
    trial.runner.reset();
    trial.reports->CloseFiles();
    trial.record.spec.environment = {};
    --live_;
  }

  void BeginNextAttempt(Trial& trial, const AttemptEnd& end) {
    const absl::Duration delay = HoldBack(trial);
    options_.loop->Cancel(std::exchange(trial.stop_timer, 0));
    nonces_.erase(trial.record.nonce);
    TrialRecord changed = trial.record;
    changed.reason = absl::StrCat("attempt ", changed.attempt, " failed: ", end.reason);
    if (delay > absl::ZeroDuration()) {
      absl::StrAppend(&changed.reason, "; the next one waits ", absl::FormatDuration(delay));
    }
    LOG(INFO) << "trial " << changed.id() << ": " << Printable(changed.reason)
              << TraceWords(changed);
    ++changed.attempt;
    changed.nonce = runtime::RandomHex128();
    changed.job_request_id = runtime::RandomHex128();
    changed.launching = false;
    changed.job.clear();
    changed.failure.clear();
    changed.state = TrialState::Pending;
    nonces_[changed.nonce] = changed.number;
    trial.runner.reset();
    trial.reports->BeginAttempt();
    SaveSometime(trial, std::move(changed));
    Announce(trial, nullptr);
    StartNextLater();
  }

  // How long the attempt after one that failed now is held back. A program that fails at once must
  // not keep the launcher busy for as long as restarts are left. (A new trainer begins with no
  // delay: it knows of no failures.)
  absl::Duration HoldBack(Trial& trial) {
    const auto since = std::exchange(trial.running_since, std::nullopt);
    const bool was_long = since && options_.clock->Monotonic() - *since >= kLongAttempt;
    trial.quick_failures = was_long ? 1 : trial.quick_failures + 1;
    const absl::Duration delay = RestartDelay(trial.quick_failures);
    if (delay == absl::ZeroDuration()) return delay;
    const std::int64_t number = trial.record.number;
    trial.restart_timer = options_.loop->RunAfter(delay, [this, number] {
      trials_.at(number).restart_timer = 0;
      StartNext();
    });
    return delay;
  }

  // Not from inside a callback of a runner, nor while trials are being started.
  void StartNextLater() {
    options_.loop->Post([this, alive = alive_] {
      if (*alive) StartNext();
    });
  }

  void Fault(std::string_view point) {
    if (options_.fault) options_.fault(point);
  }

  const Options options_;
  std::map<std::int64_t, Trial> trials_;  // By number; oldest first.
  std::map<std::string, std::int64_t> ids_;
  std::map<std::string, std::int64_t> requests_;
  std::map<std::string, std::int64_t> nonces_;
  std::set<std::int64_t> unsaved_;
  runtime::EventLoop::TimerId store_timer_ = 0;
  // Nothing is launched before it fires: the launcher refused.
  runtime::EventLoop::TimerId launch_timer_ = 0;
  int refused_launches_ = 0;  // In a row.
  std::map<ObserverId, Observer> observers_;
  ObserverId last_observer_ = 0;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::atomic<std::uint64_t> trial_count_{0}, live_{0}, running_{0}, reports_{0}, store_errors_{0};
};

}  // namespace

absl::StatusOr<std::unique_ptr<Trials>> Trials::Open(Options options) {
  auto trials = std::make_unique<TrialsImpl>(std::move(options));
  if (auto status = trials->Load(); !status.ok()) return status;
  return trials;
}

msg::ResultRowT RowMessage(const ResultRow& row) {
  msg::ResultRowT message;
  message.row = static_cast<std::uint64_t>(row.row);
  message.wall_time_us = row.wall_time_us;
  message.training_iteration = row.training_iteration;
  message.step = row.step;
  message.metrics = row.metrics;
  return message;
}

}  // namespace trainer

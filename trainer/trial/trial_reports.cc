#include "trainer/trial/trial_reports.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "runtime/text/json_value.h"
#include "runtime/text/utf8.h"
#include "trainer/checkpoint/checkpoint_directory.h"
#include "trainer/report/newest_metrics.h"
#include "trainer/report/report_line.h"
#include "trainer/run/result_files.h"
#include "trainer/run/run_configuration.h"
#include "trainer/run/run_mode.h"
#include "trainer/trial/trial_state.h"

// Invariants between two calls:
// - progress_ equals the stored state, except for what Decide() has set. draft_, draft_rows_ and
//   the other draft members hold what lines add to it; they exist only from Take() to the next
//   Committed() or Abandon().
// - the next line of the channel is last_line + 1 of the draft; earlier lines get their stored
//   answers again. In output any later line may be the next.
// - fresh_ holds the committed rows that were not announced yet, oldest first; the first
//   fresh_written_ of them are in the files, unless files_.behind(), and then no line is taken
//   before RepairFiles().
// - preparation_ belongs to the line that is taken next: until its checkpoint is read, no later
//   line is taken.

namespace trainer {
namespace {

constexpr int kRowsPerRead = 512;
constexpr std::size_t kMaxFailure = 4096;
constexpr double kLongestIteration = 1e9;  // Seconds; a longer time is ignored.

// The stored rows of one trial, for the repair of its files.
class StoredRows : public RunFiles::Rows {
 public:
  StoredRows(TrialStore* store, std::int64_t trial) : store_(store), trial_(trial) {}
  absl::StatusOr<ResultRow> LastThatFits(ResultFile file, std::int64_t size) override {
    return store_->LastRowThatFits(trial_, file, size);
  }
  absl::StatusOr<std::vector<ResultRow>> After(std::int64_t row) override {
    return store_->RowsAfter(trial_, row, kRowsPerRead);
  }
  absl::StatusOr<std::vector<CsvWidening>> Widenings() override {
    return store_->Widenings(trial_);
  }

 private:
  TrialStore* const store_;
  const std::int64_t trial_;
};

// Source for a trial without rows: avoids asking the store for each file.
class NoRows : public RunFiles::Rows {
 public:
  absl::StatusOr<ResultRow> LastThatFits(ResultFile, std::int64_t) override { return ResultRow(); }
  absl::StatusOr<std::vector<ResultRow>> After(std::int64_t) override {
    return std::vector<ResultRow>();
  }
  absl::StatusOr<std::vector<CsvWidening>> Widenings() override {
    return std::vector<CsvWidening>();
  }
};

// Adds two non-negative durations. Saturates, because a program may report any durations, as often
// as it likes.
std::int64_t Sum(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  return b > kLargest - a ? kLargest : a + b;
}

// Returns the new total; -1 if nothing was reported yet.
std::int64_t Total(std::int64_t before, std::optional<std::int64_t> more) {
  return more ? Sum(std::max<std::int64_t>(before, 0), *more) : before;
}

// Caches the last result, because reports of one second share it.
std::int64_t UtcOffset(absl::Time time) {
  static thread_local std::pair<std::int64_t, std::int64_t> last = {-1,
                                                                    0};  // A second, its offset.
  const std::int64_t second = absl::ToUnixSeconds(time);
  if (last.first != second) last = {second, absl::LocalTimeZone().At(time).offset};
  return last.second;
}

RunIdentity IdentityOf(const TrialRecord& trial) {
  RunIdentity run = trial.run;
  run.name = trial.spec.name;
  return run;
}

bool MustStop(const TrialRecord& trial, bool is_to_end) {
  return !HasEnded(trial) && (trial.stop_requested || is_to_end || IsToPause(trial));
}

// Returns true if the line gets no answer now and is taken again later.
bool MustWait(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsResourceExhausted(status);
}

std::string StopAnswer(const ReportLine& line, const TrialRecord& trial, bool is_to_end) {
  const bool pause = !trial.stop_requested && !is_to_end && IsToPause(trial);
  const double grace_ms = static_cast<double>(
      trial.stop_requested || pause ? trial.stop_grace_ms : trial.spec.stop_grace_ms);
  return StopLine(line.seq, pause ? "pause" : "stop", grace_ms / 1000);
}

// Returns the fields that a criterion can name, including the step even if only the line has it.
std::vector<Metric> JudgedFields(const RunIdentity& run, const ResultRow& row,
                                 const RowMetrics& metrics) {
  std::vector<Metric> fields = ResultFields(run, row, metrics);
  const bool has_step = std::any_of(fields.begin(), fields.end(),
                                    [](const Metric& field) { return field.name == "step"; });
  if (!has_step) {
    fields.push_back({"step", static_cast<double>(row.step), absl::StrCat(row.step)});
  }
  return fields;
}

std::string AnswerTo(const ReportLine& line, const TrialRecord& trial, const std::string& config) {
  switch (line.kind) {
    case ReportLine::Kind::kHello:
      return WelcomeLine(config, trial.start_checkpoint, trial.start_iteration, trial.id(),
                         trial.spec.name);
    case ReportLine::Kind::kUnimplemented:
      return ErrorLine(line.seq, absl::UnimplementedError(absl::StrCat(
                                     "this trainer does not serve ", line.type, " yet")));
    default:
      return "";
  }
}

}  // namespace

TrialReports::TrialReports(const TrialRecord& trial, TrialEvents events, Options options)
    : options_(std::move(options)),
      trial_(trial.number),
      run_(IdentityOf(trial)),
      run_directory_(trial.spec.run_directory),
      // The options were checked when the trial was made.
      criteria_(StopCriteria::From(trial.spec.options).value_or(StopCriteria())),
      checkpoints_(trial, {options_.store, options_.fault, options_.is_referenced}),
      files_({.directory = trial.spec.run_directory,
              .run = run_,
              .directory_mode = RunDirectoryMode(trial.spec.options),
              .fault = options_.fault}),
      start_checkpoint_(trial.start_checkpoint),
      events_(events) {}

absl::StatusOr<std::unique_ptr<TrialReports>> TrialReports::Load(const TrialRecord& trial,
                                                                 Options options) {
  TrialStore* const store = options.store;
  auto row = store->LastRow(trial.number);
  if (!row.ok()) return row.status();
  auto line = store->LastLine(trial.number, trial.attempt);
  if (!line.ok()) return line.status();
  auto events = TrialEvents::Load(store, trial.number);
  if (!events.ok()) return events.status();
  std::unique_ptr<TrialReports> reports(
      new TrialReports(trial, *std::move(events), std::move(options)));
  Progress& progress = reports->progress_;
  progress.last_line = *line;
  if (auto status = reports->RefreshNewestCheckpoint(); !status.ok()) return status;
  reports->Decide(trial);
  const CheckpointRow& newest = progress.newest_checkpoint;
  progress.saves_first = newest.attempt == trial.attempt && newest.saves_first;
  if (newest.pending) {
    auto pending = reports->checkpoints_.Pending(trial.attempt);
    if (!pending.ok()) return pending.status();
    progress.pending = *std::move(pending);
  }
  if (row->row > 0 && row->attempt == trial.attempt) {
    progress.training_iteration = row->training_iteration;
    progress.time_total_us = row->time_total_us;
    progress.last_report_us = row->monotonic_us;
    progress.step_said = row->step != row->training_iteration;
    progress.done = row->done;
    progress.timesteps_total = row->timesteps_total;
    progress.episodes_total = row->episodes_total;
    progress.pid = row->pid;
  } else {
    reports->StartFrom(trial);
  }
  progress.last_row = *std::move(row);
  return reports;
}

absl::Status TrialReports::LoadWindow() {
  progress_.window.clear();
  // Not every row may have the metric: of that many values, read as many rows further back.
  const std::int64_t end = progress_.last_row.row;
  auto rows_back = static_cast<std::int64_t>(criteria_.window_size());
  while (rows_back > 0) {
    progress_.window.clear();
    std::int64_t last = std::max<std::int64_t>(0, end - rows_back);
    const bool is_all = last == 0;
    while (last < end) {
      auto rows = options_.store->RowsAfter(trial_, last, kRowsPerRead);
      if (!rows.ok()) return rows.status();
      if (rows->empty()) break;
      for (const ResultRow& row : *rows) {
        criteria_.Remember(JudgedFields(run_, row, RowMetrics(row)), progress_.window);
      }
      last = rows->back().row;
    }
    if (is_all || progress_.window.size() == criteria_.window_size()) break;
    rows_back *= 8;
  }
  return absl::OkStatus();
}

void TrialReports::BeginAttempt() {
  preparation_.reset();
  CancelStart();
  SettleAtEnd();
  Progress next;
  next.last_row = std::move(progress_.last_row);
  next.newest_checkpoint = std::move(progress_.newest_checkpoint);
  next.window = std::move(progress_.window);
  next.earlier_metrics = std::move(progress_.earlier_metrics);
  progress_ = std::move(next);
}

absl::StatusOr<TrialCheckpoints::Start> TrialReports::ChooseStart(const TrialRecord& trial,
                                                                  TrialReports* from) {
  if (start_ == nullptr) {
    auto candidates = checkpoints_.CandidatesOf(trial);
    if (!candidates.ok()) return candidates.status();
    candidates->from_is_gone = from == nullptr;
    if (from != nullptr) {
      auto theirs = from->checkpoints_.All();
      if (!theirs.ok()) return theirs.status();
      candidates->theirs = *std::move(theirs);
      candidates->their_directory = from->run_directory_;
    }
    start_candidates_ = *std::move(candidates);
    // A start with nothing to read need not queue behind others that read.
    start_ = std::make_unique<Preparation<TrialCheckpoints::Choice>>(
        trial.attempt, 0, checkpoints_.LongPartOfStart(start_candidates_),
        start_candidates_.empty() ? CheckpointPreparation::Background() : options_.background,
        options_.on_start);
  }
  if (waits_for_start()) {
    return absl::UnavailableError("the checkpoint that it starts from is being read");
  }
  const auto choice = start_->Take();
  start_.reset();
  if (!choice.ok()) return choice.status();
  auto start = checkpoints_.Conclude(*choice);
  if (auto status = RefreshNewestCheckpoint(); !status.ok()) return status;
  if (from != nullptr) {
    if (auto status = from->RefreshNewestCheckpoint(); !status.ok()) return status;
  }
  return start;
}

bool TrialReports::MayCopy(const std::string& directory) const {
  if (!waits_for_start()) return false;
  const TrialCheckpoints::Candidates& candidates = start_candidates_;
  return std::any_of(candidates.theirs.begin(), candidates.theirs.end(),
                     [&](const CheckpointRow& row) {
                       return directory == absl::StrCat(candidates.their_directory, "/", row.name);
                     });
}

void TrialReports::StartFrom(const TrialRecord& trial) {
  start_checkpoint_ = trial.start_checkpoint;
  progress_.training_iteration = trial.start_iteration;
  progress_.time_total_us = trial.start_time_total_us;
  if (HasEnded(trial)) return;
  const TrialCheckpoints::Counted counted = TrialCheckpoints::CountedUntil(trial.start_checkpoint);
  // (A checkpoint copied from elsewhere may contain any number.)
  progress_.timesteps_total = std::max<std::int64_t>(-1, counted.timesteps_total.value_or(-1));
  progress_.episodes_total = std::max<std::int64_t>(-1, counted.episodes_total.value_or(-1));
}

std::string TrialReports::NewestCheckpoint() const {
  const CheckpointRow& newest = progress_.newest_checkpoint;
  return newest.number == 0 ? "" : checkpoints_.DirectoryOf(newest);
}

absl::Status TrialReports::RefreshNewestCheckpoint() {
  auto newest = options_.store->NewestCheckpoint(trial_);
  if (!newest.ok()) return newest.status();
  progress_.newest_checkpoint = *std::move(newest);
  return absl::OkStatus();
}

absl::Status TrialReports::RepairFiles() {
  StoredRows stored(options_.store, trial_);
  NoRows none;
  RunFiles::Rows& rows = progress_.last_row.row == 0 ? static_cast<RunFiles::Rows&>(none) : stored;
  auto status = files_.Repair(rows);
  if (status.ok()) fresh_written_ = fresh_.size();
  std::vector<std::string> notices = files_.TakeNotices();
  if (files_.TakeMadeDirectory() && status.ok() && options_.on_made_directory) {
    options_.on_made_directory();
    notices = {"its directory was removed: it is made anew, with the files of its reports"};
  }
  Tell(notices);
  return status;
}

void TrialReports::Tell(const std::vector<std::string>& notices) {
  StoreBatch batch;
  for (const std::string& notice : notices) {
    LOG(WARNING) << "trial " << run_.trial_id << ": " << notice;
    batch.logs.push_back({trial_, progress_.last_row.wall_time_us, absl::StrCat("yard: ", notice)});
  }
  if (batch.logs.empty()) return;
  const absl::Status stored = options_.store->Write(batch);
  LOG_IF(ERROR, !stored.ok()) << stored;
}

void TrialReports::LookAtFiles() {
  const bool has_none = progress_.last_row.row == 0;
  (void)files_.AreAsWritten(has_none ? files_.Beginning() : progress_.last_row.ends);
}

absl::Status TrialReports::WriteFiles() {
  if (fresh_written_ == fresh_.size()) return absl::OkStatus();
  auto status = files_.Append(std::span(fresh_).subspan(fresh_written_));
  if (absl::IsDataLoss(status)) return RepairFiles();
  if (status.ok()) fresh_written_ = fresh_.size();
  return status;
}

std::vector<ResultRow> TrialReports::TakeFresh() {
  fresh_written_ = fresh_bytes_ = 0;
  return std::exchange(fresh_, {});
}

TrialReports::Progress& TrialReports::Draft() {
  if (!draft_) draft_ = progress_;
  return *draft_;
}

absl::StatusOr<std::string> TrialReports::Take(const RelayedLine& line, const TrialRecord& trial,
                                               const TimeOfLine& now, StoreBatch& batch) {
  if (!draft_error_.ok()) return draft_error_;
  auto answer = TakeChecked(line, trial, now, batch);
  if (!trial.spec.options.output_reports.empty()) draft_error_ = answer.status();
  return answer;
}

absl::StatusOr<std::string> TrialReports::TakeChecked(const RelayedLine& line,
                                                      const TrialRecord& trial,
                                                      const TimeOfLine& now, StoreBatch& batch) {
  if (files_.behind()) {
    if (auto status = RepairFiles(); !status.ok()) return status;
  }
  if (!window_loaded_) {
    if (auto status = LoadWindow(); !status.ok()) return status;
    window_loaded_ = true;
  }
  const std::int64_t last = Draft().last_line;
  if (!trial.spec.options.output_reports.empty()) return TakeFromOutput(line, trial, now, batch);
  if (line.is_end && line.number == last) return std::string();
  if (!line.is_end && line.number <= last) return TakeAgain(line, batch);
  if (line.is_end || line.number != last + 1) {
    return absl::FailedPreconditionError(absl::StrCat("expected line ", last + 1, " of attempt ",
                                                      trial.attempt, " of ", trial.id(), ", got ",
                                                      line.is_end ? "END " : "", line.number));
  }
  auto answer = TakeNew(line, trial, now, batch);
  if (!answer.ok()) return answer;
  Draft().last_line = line.number;
  batch.lines.push_back({trial.number, trial.attempt, line.number, *answer});
  batch.durable = batch.durable || trial.spec.options.durable;
  return answer;
}

absl::StatusOr<std::string> TrialReports::TakeFromOutput(const RelayedLine& line,
                                                         const TrialRecord& trial,
                                                         const TimeOfLine& now, StoreBatch& batch) {
  if (line.number <= Draft().last_line) return std::string();
  auto answer = TakeNew(line, trial, now, batch);
  if (!answer.ok()) return answer;
  Draft().last_line = line.number;
  batch.durable = batch.durable || trial.spec.options.durable;
  // No one asks for its answer again; only the last offset of a transaction is stored.
  AnsweredLine* const before = batch.lines.empty() ? nullptr : &batch.lines.back();
  if (before != nullptr && before->trial == trial.number) {
    before->number = line.number;
  } else {
    batch.lines.push_back({trial.number, trial.attempt, line.number, ""});
  }
  return answer;
}

absl::StatusOr<std::string> TrialReports::TakeAgain(const RelayedLine& line,
                                                    const StoreBatch& batch) {
  for (const AnsweredLine& known : batch.lines) {
    if (known.trial == line.attempt.trial && known.number == line.number) return known.answer;
  }
  auto answer = options_.store->AnswerTo(line.attempt.trial, line.attempt.attempt, line.number);
  if (!answer.ok()) return answer.status();
  if (answer->has_value()) return **answer;
  return absl::OutOfRangeError(
      absl::StrCat("line ", line.number, " was answered too long ago to be sent again"));
}

absl::StatusOr<std::string> TrialReports::TakeSave(const ReportLine& report, std::int64_t number,
                                                   const TrialRecord& trial, const TimeOfLine& now,
                                                   StoreBatch& batch) {
  const Progress before = Draft();
  absl::StatusOr<std::string> answer;
  if (report.kind == ReportLine::Kind::kReport) {
    answer = TakeReport(report, number, trial, now, batch);
  } else {
    answer = SaveCheckpoint(report, number, trial, now, batch);
    if (answer.ok()) {
      answer = OkLine(report.seq, {}, *answer);
    } else if (!MustWait(answer.status())) {
      answer = ErrorLine(report.seq, answer.status());
    }
  }
  if (!answer.ok()) Draft() = before;
  return answer;
}

absl::StatusOr<std::string> TrialReports::TakeNew(const RelayedLine& line, const TrialRecord& trial,
                                                  const TimeOfLine& now, StoreBatch& batch) {
  auto report = ParseReportLine(line.text);
  if (!report.ok()) return ErrorLine("", report.status());
  if (!report->checkpoint.empty()) return TakeSave(*report, line.number, trial, now, batch);
  if (report->kind == ReportLine::Kind::kReport) {
    return TakeReport(*report, line.number, trial, now, batch);
  }
  if (report->kind == ReportLine::Kind::kConfig) return TakeConfig(*report, trial, batch);
  if (report->kind == ReportLine::Kind::kAnnotate) return TakeAnnotate(*report);
  Progress& draft = Draft();
  if (report->kind == ReportLine::Kind::kCheckpointBegin) return BeginCheckpoint(*report, trial);
  if (report->kind == ReportLine::Kind::kCheckpointFail) {
    checkpoints_.Abandon(report->failed_path, trial.start_checkpoint);
    return ErrorLine(report->seq, absl::FailedPreconditionError(
                                      report->text.empty() ? "the checkpoint could not be copied"
                                                           : report->text));
  }
  if (report->kind == ReportLine::Kind::kHello) {
    draft.pid = report->pid;
  } else if (report->kind == ReportLine::Kind::kLog) {
    batch.logs.push_back({trial.number, absl::ToUnixMicros(now.wall), std::move(report->text)});
  } else if (report->kind == ReportLine::Kind::kFail && !draft.expelled) {
    draft.failure = runtime::ValidUtf8(report->text.substr(0, kMaxFailure));
    if (draft.failure.empty()) draft.failure = "the program reported that it failed";
    AddTrial(trial, batch);
  }
  return AnswerTo(*report, trial, draft_configuration_.value_or(trial.spec.config));
}

absl::StatusOr<std::string> TrialReports::TakeConfig(const ReportLine& line,
                                                     const TrialRecord& trial, StoreBatch& batch) {
  const std::string& before = draft_configuration_ ? *draft_configuration_ : trial.spec.config;
  auto updated = UpdatedConfiguration(before, line.config);
  if (!updated.ok()) return ErrorLine(line.seq, updated.status());
  if (*updated != before) {
    batch.configurations.push_back({trial.number, *updated});
    draft_configuration_ = *std::move(updated);
  }
  return OkLine(line.seq);
}

// Stored before the line itself: a trainer killed in between repeats it.
absl::StatusOr<std::string> TrialReports::TakeAnnotate(const ReportLine& line) {
  msg::AnnotateRequestT request;
  request.run = run_.trial_id;
  request.add_labels = line.labels;
  request.remove_labels = line.remove_labels;
  request.note = line.note.value_or("");
  request.set_note = line.note.has_value();
  request.display_name = line.name.value_or("");
  request.set_display_name = line.name.has_value();
  const absl::Status done = options_.annotate
                                ? options_.annotate(request)
                                : absl::UnimplementedError("this trainer annotates no trial");
  if (MustWait(done)) return done;
  return done.ok() ? OkLine(line.seq) : ErrorLine(line.seq, done);
}

absl::StatusOr<std::string> TrialReports::TakeReport(const ReportLine& report, std::int64_t number,
                                                     const TrialRecord& trial,
                                                     const TimeOfLine& now, StoreBatch& batch) {
  Progress& draft = Draft();
  ResultRow row = NextRow(report, trial, now);
  const RowMetrics metrics(row);
  const FileEnds ends_before = draft.last_row.row == 0 ? files_.Beginning() : draft.last_row.ends;
  const bool was_to_end = IsToEnd(draft);
  std::string path;
  const bool judges = !was_to_end && !HasEnded(trial) && trial.state != msg::TrialState::Paused;
  if (judges) {
    const absl::Status verdict = Judge(report, row, metrics);
    if (!verdict.ok() && !trial.spec.options.output_reports.empty()) {
      // The line was not meant as a report.
      draft.failure.clear();
      draft.expelled = false;
      return ErrorLine(report.seq, verdict);
    }
    if (!verdict.ok()) {
      AddTrial(trial, batch);
      return ErrorLine(report.seq, verdict);
    }
  }
  if (!report.checkpoint.empty()) {
    Progress before = draft;
    Count(row, draft);
    auto saved = SaveCheckpoint(report, number, trial, now, batch);
    // The row itself does not count yet.
    before.newest_checkpoint = draft.newest_checkpoint;
    before.pending = draft.pending;
    before.saved_after_stop = draft.saved_after_stop;
    draft = std::move(before);
    if (MustWait(saved.status())) return saved;
    if (!saved.ok()) {
      if (judges) draft.criterion.clear();
      return ErrorLine(report.seq, saved.status());
    }
    path = *std::move(saved);
  }
  const bool ends_it = judges && !draft.criterion.empty();
  if (judges) AskJudge(row, metrics, trial, batch);
  if (KeepEarlierMetrics(row) || ends_it || draft.verdict.kind != Verdict::Kind::kContinue) {
    AddTrial(trial, batch);
  }
  // The trial ends with this row.
  row.done = row.done || !draft.criterion.empty();
  if (criteria_.window_size() > 0)
    criteria_.Remember(JudgedFields(run_, row, metrics), draft.window);
  std::vector<std::string> added = files_.Place(ends_before, metrics, row);
  if (!added.empty()) {
    batch.widenings.push_back({trial.number, {row.row, std::move(added)}});
  }
  SettlePending(row, batch);
  Count(row, draft);
  draft.step_said = report.step.has_value();
  draft_rows_.push_back(row);
  batch.rows.push_back({trial.number, std::move(row)});
  const bool is_to_end = was_to_end || !draft.criterion.empty();
  const TrialRecord* told = &trial;
  std::optional<TrialRecord> drafted;
  if (draft.verdict.kind != Verdict::Kind::kContinue) told = &drafted.emplace(Drafted(trial));
  const bool stops = MustStop(*told, is_to_end);
  draft.stop_told = draft.stop_told || stops;
  if (stops) return StopAnswer(report, *told, is_to_end);
  // Events that arrive after the end are kept for a later attempt.
  if (HasEnded(trial)) return OkLine(report.seq, {}, path);
  return OkLine(report.seq, events_.TakeFor(trial.attempt, number, batch), path);
}

bool TrialReports::KeepEarlierMetrics(const ResultRow& row) {
  Progress& draft = Draft();
  const std::string& before = draft.last_row.metrics;
  if (before.empty() || HaveSameNames(before, row.metrics)) return false;
  std::string earlier = MergedMetrics(draft.earlier_metrics, before);
  if (earlier == draft.earlier_metrics || earlier.size() > kMostEarlierMetrics) return false;
  draft.earlier_metrics = std::move(earlier);
  return true;
}

bool TrialReports::IsToEnd(const Progress& progress) {
  return progress.done || progress.expelled || !progress.criterion.empty();
}

void TrialReports::Count(const ResultRow& row, Progress& draft) {
  draft.training_iteration = row.training_iteration;
  draft.time_total_us = row.time_total_us;
  draft.timesteps_total = row.timesteps_total;
  draft.episodes_total = row.episodes_total;
  draft.last_report_us = row.monotonic_us;
  draft.done = draft.done || row.done;
  draft.last_row = row;
}

absl::Status TrialReports::Judge(const ReportLine& report, const ResultRow& row,
                                 const RowMetrics& metrics) {
  if (criteria_.empty()) return absl::OkStatus();
  Progress& draft = Draft();
  StopCriteria::Report judged;
  judged.number = row.row;
  judged.result = JudgedFields(run_, row, metrics);
  judged.done = report.done;
  judged.says_only_done = report.only_done;
  judged.window = draft.window;
  criteria_.Remember(judged.result, judged.window);
  auto verdict = criteria_.Judge(judged);
  if (verdict.ok()) {
    draft.criterion = std::move(*verdict).value_or("");
    return absl::OkStatus();
  }
  draft.failure = std::string(verdict.status().message());
  draft.expelled = true;
  return verdict.status();
}

void TrialReports::AskJudge(const ResultRow& row, const RowMetrics& metrics,
                            const TrialRecord& trial, StoreBatch& batch) {
  Progress& draft = Draft();
  if (options_.judge == nullptr || trial.spec.options.sweep.empty()) return;
  if (draft.verdict.kind != Verdict::Kind::kContinue) return;
  draft.verdict = options_.judge->Judge(trial, row, JudgedFields(run_, row, metrics),
                                        draft.newest_checkpoint.number > 0, batch);
}

void TrialReports::Decide(const TrialRecord& trial) {
  progress_.failure = trial.failure;
  progress_.expelled = trial.expelled;
  progress_.criterion = trial.criterion;
  progress_.earlier_metrics = trial.earlier_metrics;
}

TrialRecord TrialReports::Drafted(const TrialRecord& trial) {
  TrialRecord changed = trial;
  changed.failure = Draft().failure;
  changed.expelled = Draft().expelled;
  changed.criterion = Draft().criterion;
  changed.earlier_metrics = Draft().earlier_metrics;
  MarkAsJudged(changed, Draft().verdict);
  return changed;
}

void TrialReports::AddTrial(const TrialRecord& trial, StoreBatch& batch) {
  batch.trials.push_back(Drafted(trial));
}

absl::StatusOr<std::string> TrialReports::BeginCheckpoint(const ReportLine& line,
                                                          const TrialRecord& trial) {
  if (HasEnded(trial)) {
    return ErrorLine(line.seq, absl::FailedPreconditionError("the trial has ended"));
  }
  if (Draft().saved_after_stop) return StopAnswer(line, trial, IsToEnd(Draft()));
  auto directory = checkpoints_.Begin(line.step);
  if (absl::IsResourceExhausted(directory.status())) return directory.status();
  if (!directory.ok()) return ErrorLine(line.seq, directory.status());
  draft_directories_.push_back(*directory);
  return CheckpointDirectoryLine(line.seq, *directory);
}

absl::StatusOr<std::string> TrialReports::SaveCheckpoint(const ReportLine& report,
                                                         std::int64_t number,
                                                         const TrialRecord& trial,
                                                         const TimeOfLine& now, StoreBatch& batch) {
  Progress& draft = Draft();
  TrialCheckpoints::Moment moment;
  moment.attempt = trial.attempt;
  moment.line = number;
  moment.number = draft.newest_checkpoint.number + 1;
  moment.iteration = draft.training_iteration;
  moment.time_total_us = draft.time_total_us;
  if (draft.timesteps_total >= 0) moment.timesteps_total = draft.timesteps_total;
  if (draft.episodes_total >= 0) moment.episodes_total = draft.episodes_total;
  moment.wall_time_us = absl::ToUnixMicros(now.wall);
  moment.start = trial.start_checkpoint;
  const bool reported = draft.last_row.attempt == trial.attempt;
  moment.score = checkpoints_.ScoreOf(reported ? draft.last_row : ResultRow(), moment.iteration);
  const bool is_report = report.kind == ReportLine::Kind::kReport;
  auto prepared = Prepare(report, moment, batch);
  if (!prepared.ok()) return prepared.status();
  auto row = is_report ? checkpoints_.Named(report.checkpoint, draft.last_row.step, moment, batch,
                                            *prepared)
                       : checkpoints_.End(report.checkpoint, moment, *prepared);
  // If room is lacking, the prepared checkpoint is kept, so that it need not be read again.
  if (!absl::IsResourceExhausted(row.status())) preparation_.reset();
  if (!row.ok()) return row.status();
  const bool is_new = row->number == moment.number;
  if (is_report && !is_new) {
    // A checkpoint saved since the previous report belongs to this one; an older one only gets its
    // score.
    const bool is_fresh =
        row->attempt == trial.attempt &&
        (row->pending || (row->report != 0 && row->report + 1 == draft.last_row.row));
    row->score = moment.score;
    if (is_fresh) {
      checkpoints_.Belong(draft.last_row, *row);
      draft_settled_.push_back({*row, draft.last_row});
    }
  } else if (is_report) {
    row->report = draft.last_row.row;
  } else if (MayBelongToNext(*row, trial)) {
    row->pending = true;
    row->score.reset();
  } else if (reported) {
    row->report = draft.last_row.row;
  }
  row->saves_first = row->saves_first || draft.saves_first;
  std::erase_if(draft.pending, [&](const CheckpointRow& other) { return other.name == row->name; });
  if (row->pending) draft.pending.push_back(*row);
  if (row->number >= draft.newest_checkpoint.number) draft.newest_checkpoint = *row;
  draft.saved_after_stop = draft.stop_told;
  draft_saves_ = true;
  batch.checkpoints.push_back(*row);
  return checkpoints_.DirectoryOf(*row);
}

// A program may save before it reports, as Ray's functions do, or after. The checkpoint's step
// decides, and whether the attempt saved before its first report.
bool TrialReports::MayBelongToNext(const CheckpointRow& checkpoint, const TrialRecord& trial) {
  Progress& draft = Draft();
  const bool reported = draft.last_row.row != 0 && draft.last_row.attempt == trial.attempt;
  const bool is_function = !trial.spec.options.function.empty();
  draft.saves_first = draft.saves_first || !reported || is_function;
  if (!reported) return true;
  if (draft.step_said && checkpoint.step == draft.last_row.step) return false;
  return draft.saves_first || checkpoint.step > draft.last_row.step;
}

void TrialReports::SettlePending(const ResultRow& row, StoreBatch& batch) {
  Progress& draft = Draft();
  const ResultRow& before = draft.last_row;
  for (CheckpointRow& checkpoint : draft.pending) {
    const bool is_of_next =
        checkpoint.saves_first || (checkpoint.step > before.step && checkpoint.step <= row.step);
    const ResultRow& report = is_of_next ? row : before;
    checkpoints_.Belong(report, checkpoint);
    if (is_of_next) draft_settled_.push_back({checkpoint, report});
    if (checkpoint.number == draft.newest_checkpoint.number) draft.newest_checkpoint = checkpoint;
    batch.checkpoints.push_back(checkpoint);
    draft_saves_ = true;
  }
  draft.pending.clear();
}

void TrialReports::SettleAtEnd() {
  StoreBatch batch;
  for (CheckpointRow& checkpoint : std::exchange(progress_.pending, {})) {
    const ResultRow& last = progress_.last_row;
    checkpoint.pending = false;
    if (last.row != 0 && last.attempt == checkpoint.attempt) checkpoints_.Belong(last, checkpoint);
    if (checkpoint.number == progress_.newest_checkpoint.number) {
      progress_.newest_checkpoint = checkpoint;
    }
    batch.checkpoints.push_back(checkpoint);
  }
  if (batch.checkpoints.empty()) return;
  const absl::Status written = options_.store->Write(batch);
  LOG_IF(ERROR, !written.ok()) << "cannot store to which report a checkpoint belongs: " << written;
}

absl::Status TrialReports::RemoveCheckpoints() {
  absl::Status result = checkpoints_.RemoveAll();
  result.Update(RefreshNewestCheckpoint());
  return result;
}

absl::Status TrialReports::RemoveTemporaryCheckpoints() {
  SettleAtEnd();
  return checkpoints_.RemoveTemporaries();
}

absl::StatusOr<PreparedCheckpoint> TrialReports::Prepare(const ReportLine& report,
                                                         const TrialCheckpoints::Moment& moment,
                                                         const StoreBatch& batch) {
  if (preparation_ == nullptr || !preparation_->IsFor(moment.attempt, moment.line)) {
    preparation_.reset();
    std::optional<std::int64_t> step;
    if (report.kind == ReportLine::Kind::kReport) step = Draft().last_row.step;
    auto work = checkpoints_.LongPart(report.checkpoint, step, moment, batch);
    if (!work) return PreparedCheckpoint();
    preparation_ = std::make_unique<CheckpointPreparation>(
        moment.attempt, moment.line, std::move(work), options_.background, options_.on_ready);
  }
  const auto* const result = preparation_->result();
  if (result == nullptr) return absl::UnavailableError("its checkpoint is being read");
  if (result->ok()) return **result;
  const absl::Status error = result->status();
  preparation_.reset();
  return error;
}

ResultRow TrialReports::NextRow(const ReportLine& report, const TrialRecord& trial,
                                const TimeOfLine& now) {
  const Progress& draft = Draft();
  ResultRow row;
  row.row = draft.last_row.row + 1;
  row.attempt = trial.attempt;
  row.wall_time_us = absl::ToUnixMicros(now.wall);
  row.utc_offset_s = UtcOffset(now.wall);
  row.monotonic_us = absl::ToInt64Microseconds(now.monotonic);
  row.training_iteration = draft.training_iteration + 1;
  row.step = report.step.value_or(report.training_iteration.value_or(row.training_iteration));
  const std::int64_t since =
      draft.last_report_us >= 0 ? draft.last_report_us : trial.attempt_began_us;
  row.time_this_iter_us = since < 0 ? 0 : std::max<std::int64_t>(0, row.monotonic_us - since);
  const double said = report.time_this_iter_s.value_or(-1);
  if (said >= 0 && said < kLongestIteration) {
    row.time_this_iter_us = static_cast<std::int64_t>(said * 1e6);
  }
  row.time_total_us = Sum(draft.time_total_us, row.time_this_iter_us);
  row.done = report.done || draft.done;
  row.metrics = report.metrics;
  row.pid = draft.pid;
  const bool is_first = draft.last_row.row == 0 || draft.last_row.attempt != trial.attempt;
  const ResultRow none;
  const ResultRow& earlier = is_first ? none : draft.last_row;
  row.iterations_since_restore = earlier.iterations_since_restore + 1;
  row.time_since_restore_us = Sum(earlier.time_since_restore_us, row.time_this_iter_us);
  row.timesteps_since_restore =
      Sum(earlier.timesteps_since_restore, report.timesteps_this_iter.value_or(0));
  row.timesteps_total = Total(draft.timesteps_total, report.timesteps_this_iter);
  row.episodes_total = Total(draft.episodes_total, report.episodes_this_iter);
  return row;
}

std::size_t TrialReports::Committed() {
  draft_error_ = absl::OkStatus();
  const std::size_t count = draft_rows_.size();
  for (const ResultRow& row : draft_rows_) fresh_bytes_ += row.metrics.size();
  std::move(draft_rows_.begin(), draft_rows_.end(), std::back_inserter(fresh_));
  draft_rows_.clear();
  if (draft_) progress_ = *std::exchange(draft_, std::nullopt);
  if (draft_configuration_) configuration_ = std::exchange(draft_configuration_, std::nullopt);
  draft_directories_.clear();
  events_.Committed();
  for (const Settled& settled : std::exchange(draft_settled_, {})) {
    const absl::Status written = checkpoints_.WriteCountersOf(settled.checkpoint, settled.report);
    LOG_IF(ERROR, !written.ok()) << "cannot write the counters of a checkpoint: " << written;
  }
  if (std::exchange(draft_saves_, false)) {
    const absl::Status removed = checkpoints_.RemoveSurplus(start_checkpoint_);
    LOG_IF(ERROR, !removed.ok()) << "cannot remove old checkpoints: " << removed;
  }
  return count;
}

void TrialReports::Abandon() {
  files_.ForgetPlacesAfter(progress_.last_row.row);
  draft_.reset();
  draft_configuration_.reset();
  events_.Abandon();
  draft_rows_.clear();
  draft_saves_ = false;
  draft_settled_.clear();
  draft_error_ = absl::OkStatus();
  // The lines will be sent again, and get new directories.
  for (const std::string& directory : std::exchange(draft_directories_, {})) {
    (void)RemoveCheckpoint(directory);
  }
}

}  // namespace trainer

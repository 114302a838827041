#include "trainer/trial_reports.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "trainer/json_text.h"
#include "trainer/report_line.h"

namespace trainer {
namespace {

constexpr int kRowsPerRead = 512;
constexpr std::size_t kMaxFailure = 4096;
constexpr double kLongestIteration = 1e9;  // Seconds; a longer one is not believed.

// The rows of one trial in the store, for the repair of its files.
class StoredRows : public RunFiles::Rows {
 public:
  StoredRows(Store* store, std::int64_t trial) : store_(store), trial_(trial) {}
  absl::StatusOr<ResultRow> LastThatFits(ResultFile file, std::int64_t size) override {
    return store_->LastRowThatFits(trial_, file, size);
  }
  absl::StatusOr<std::vector<ResultRow>> After(std::int64_t row) override {
    return store_->RowsAfter(trial_, row, kRowsPerRead);
  }

 private:
  Store* const store_;
  const std::int64_t trial_;
};

// Of durations: neither is negative. A program may say anything of its iterations, as often as it
// likes, so the sum stops at the largest.
std::int64_t Sum(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  return b > kLargest - a ? kLargest : a + b;
}

std::int64_t UtcOffset(absl::Time time) { return absl::LocalTimeZone().At(time).offset; }

std::string AnswerTo(const ReportLine& line, const TrialRecord& trial, bool program_is_done) {
  switch (line.kind) {
    case ReportLine::Kind::kHello:
      return WelcomeLine(trial.spec.config, 0, trial.id(), trial.spec.name);
    case ReportLine::Kind::kReport: {
      const bool stop = !HasEnded(trial) && (trial.stop_requested || program_is_done);
      const double grace = static_cast<double>(trial.stop_requested ? trial.stop_grace_ms
                                                                    : trial.spec.stop_grace_ms);
      return stop ? StopLine(line.seq, "stop", grace / 1000) : OkLine(line.seq);
    }
    case ReportLine::Kind::kUnimplemented:
      return ErrorLine(line.seq, absl::UnimplementedError(absl::StrCat(
                                     "this trainer does not serve ", line.type, " yet")));
    default:
      return "";
  }
}

}  // namespace

TrialReports::TrialReports(const TrialRecord& trial, Options options)
    : options_(std::move(options)),
      trial_(trial.number),
      files_({trial.spec.run_directory, trial.run, options_.fault}) {}

absl::StatusOr<std::unique_ptr<TrialReports>> TrialReports::Load(const TrialRecord& trial,
                                                                 Options options) {
  Store* const store = options.store;
  auto row = store->LastRow(trial.number);
  if (!row.ok()) return row.status();
  auto line = store->LastLine(trial.number, trial.attempt);
  if (!line.ok()) return line.status();
  std::unique_ptr<TrialReports> reports(new TrialReports(trial, std::move(options)));
  Progress& progress = reports->progress_;
  progress.last_line = *line;
  progress.failure = trial.failure;
  if (row->row > 0 && row->attempt == trial.attempt) {
    progress.training_iteration = row->training_iteration;
    progress.time_total_us = row->time_total_us;
    progress.last_report_us = row->wall_time_us;
    progress.done = row->done;
  }
  progress.last_row = *std::move(row);
  return reports;
}

void TrialReports::BeginAttempt() {
  ResultRow last = std::move(progress_.last_row);
  progress_ = Progress();
  progress_.last_row = std::move(last);
}

absl::Status TrialReports::RepairFiles() {
  StoredRows rows(options_.store, trial_);
  return files_.Repair(rows);
}

TrialReports::Progress& TrialReports::Draft() {
  if (!draft_) draft_ = progress_;
  return *draft_;
}

absl::StatusOr<std::string> TrialReports::Take(const RelayedLine& line, const TrialRecord& trial,
                                               absl::Time now, StoreBatch& batch) {
  if (files_.behind()) {
    if (auto status = RepairFiles(); !status.ok()) return status;
  }
  const std::int64_t last = Draft().last_line;
  if (line.is_end && line.number == last) return std::string();
  if (!line.is_end && line.number <= last) return TakeAgain(line, batch);
  if (line.is_end || line.number != last + 1) {
    return absl::FailedPreconditionError(absl::StrCat("expected line ", last + 1, " of attempt ",
                                                      trial.attempt, " of ", trial.id(), ", got ",
                                                      line.is_end ? "END " : "", line.number));
  }
  std::string answer = TakeNew(line, trial, now, batch);
  Draft().last_line = line.number;
  batch.lines.push_back({trial.number, trial.attempt, line.number, answer});
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

std::string TrialReports::TakeNew(const RelayedLine& line, const TrialRecord& trial, absl::Time now,
                                  StoreBatch& batch) {
  auto report = ParseReportLine(line.text);
  if (!report.ok()) return ErrorLine("", report.status());
  Progress& draft = Draft();
  std::string answer = AnswerTo(*report, trial, draft.done);
  if (report->kind == ReportLine::Kind::kReport) {
    draft.last_row = NextRow(*report, trial, now);
    draft_rows_.push_back(draft.last_row);
    batch.rows.push_back({trial.number, draft.last_row});
  } else if (report->kind == ReportLine::Kind::kLog) {
    batch.logs.push_back({trial.number, absl::ToUnixMicros(now), std::move(report->text)});
  } else if (report->kind == ReportLine::Kind::kFail) {
    draft.failure = ValidUtf8(report->text.substr(0, kMaxFailure));
    if (draft.failure.empty()) draft.failure = "the program reported that it failed";
    TrialRecord changed = trial;
    changed.failure = draft.failure;
    batch.trials.push_back(std::move(changed));
  }
  return answer;
}

ResultRow TrialReports::NextRow(const ReportLine& report, const TrialRecord& trial,
                                absl::Time now) {
  Progress& draft = Draft();
  const FileEnds before = draft.last_row.row == 0 ? files_.Beginning() : draft.last_row.ends;
  ResultRow row;
  row.row = draft.last_row.row + 1;
  row.attempt = trial.attempt;
  row.wall_time_us = absl::ToUnixMicros(now);
  row.utc_offset_s = UtcOffset(now);
  row.training_iteration = ++draft.training_iteration;
  row.step = report.step.value_or(report.training_iteration.value_or(row.training_iteration));
  const std::int64_t since =
      draft.last_report_us != 0 ? draft.last_report_us : trial.attempt_started_us;
  row.time_this_iter_us = since == 0 ? 0 : std::max<std::int64_t>(0, row.wall_time_us - since);
  const double said = report.time_this_iter_s.value_or(-1);
  if (said >= 0 && said < kLongestIteration) {
    row.time_this_iter_us = static_cast<std::int64_t>(said * 1e6);
  }
  row.time_total_us = draft.time_total_us = Sum(draft.time_total_us, row.time_this_iter_us);
  row.done = report.done;
  row.metrics = report.metrics;
  draft.last_report_us = row.wall_time_us;
  draft.done = draft.done || report.done;
  files_.Place(before, row);
  return row;
}

absl::Status TrialReports::Committed() {
  committed_ = std::exchange(draft_rows_, {});
  if (draft_) progress_ = *std::exchange(draft_, std::nullopt);
  for (const ResultRow& row : committed_) {
    if (auto status = files_.Append(row); !status.ok()) return status;
  }
  return absl::OkStatus();
}

void TrialReports::Abandon() {
  draft_.reset();
  draft_rows_.clear();
  committed_.clear();
}

}  // namespace trainer

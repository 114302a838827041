#include "trainer/table/line_intake.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "absl/time/time.h"
#include "glog/logging.h"
#include "trainer/attempt/program_runner.h"
#include "trainer/report/output_format.h"
#include "trainer/store/trial_record.h"
#include "trainer/trial/trial_output.h"
#include "trainer/trial/trial_state.h"

// Invariants between two calls:
// - a line is answered only after it is stored; its rows are then in the files or about to be.
// - the records of trials contain what the stored lines say about their end.
// - a trial with a line that is held back for lack of room is in room_waits.

namespace trainer {
namespace {

bool IsHeldBack(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsResourceExhausted(status);
}

}  // namespace

std::vector<absl::StatusOr<std::string>> LineIntake::Receive(
    const std::vector<RelayedLine>& lines) {
  std::vector<absl::StatusOr<std::string>> answers;
  std::set<std::int64_t> touched;
  std::set<AttemptKey> held;
  StoreBatch batch;
  const TrialReports::TimeOfLine now = {options_.clock->Now(), options_.clock->Monotonic()};
  for (const RelayedLine& line : lines) {
    if (held.count(line.attempt) != 0) {
      answers.push_back(absl::UnavailableError("a line before it is held back"));
      continue;
    }
    answers.push_back(Take(line, now, batch, touched));
    if (IsHeldBack(answers.back().status())) held.insert(line.attempt);
  }
  Fault("before commit");
  const absl::Status stored = StoreLines(batch);
  Fault("after commit");
  if (options_.judge != nullptr && stored.ok()) options_.judge->Committed();
  if (options_.judge != nullptr && !stored.ok()) options_.judge->Abandon();
  std::map<std::int64_t, absl::Status> failed;
  for (const std::int64_t number : touched) {
    const absl::Status status = Conclude(options_.table->At(number), stored);
    if (!status.ok()) failed[number] = status;
  }
  Fault("after files");
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto error = failed.find(lines[i].attempt.trial);
    if (error != failed.end()) answers[i] = error->second;
    HoldForRoom(lines[i].attempt, stored.ok(), answers[i]);
    if (answers[i].ok() && lines[i].is_end) options_.complete(lines[i].attempt, lines[i].text);
  }
  if (options_.store->IsUntidy()) TidyLater();
  return answers;
}

// Holds a line back that lacks room on the disk; it is requested again later.
void LineIntake::HoldForRoom(const AttemptKey& attempt, bool is_stored,
                             absl::StatusOr<std::string>& answer) {
  Trial* const found = options_.table->AtHand(attempt.trial);
  if (found == nullptr || found->record.attempt != attempt.attempt) return;
  Trial& trial = *found;
  if (answer.ok()) {
    if (options_.room_waits->Remove(attempt.trial)) options_.news->Announce(trial);
    return;
  }
  if (!absl::IsResourceExhausted(answer.status())) return;
  if (WaitForRoom(trial, is_stored)) {
    LOG(ERROR) << "trial " << trial.record.id() << " waits for room: " << answer.status();
    options_.news->Announce(trial);
  }
  answer = absl::UnavailableError("there is no room for it");
}

bool LineIntake::WaitForRoom(const Trial& trial, bool is_stored) {
  const std::string state = std::filesystem::path(options_.store->path()).parent_path();
  return options_.room_waits->Add({trial.record.number, trial.record.attempt},
                                  NoRoomWords(is_stored ? trial.record.spec.run_directory : state));
}

absl::StatusOr<std::string> LineIntake::Take(const RelayedLine& line,
                                             const TrialReports::TimeOfLine& now, StoreBatch& batch,
                                             std::set<std::int64_t>& touched) {
  const auto found = options_.table->ByNumber(line.attempt.trial);
  if (absl::IsUnavailable(found.status())) {
    // The line is requested again, like a line that lacks room.
    options_.room_waits->Add(line.attempt, std::string(found.status().message()));
    return found.status();
  }
  Trial* const trial = found.value_or(nullptr);
  if (trial == nullptr || trial->record.attempt != line.attempt.attempt) {
    return absl::PermissionDeniedError("this attempt is over");
  }
  // A launched program may finish its reports; an attached process might go on for days.
  const bool is_over = IsAttached(trial->record) && HasEnded(trial->record);
  if (is_over && !line.is_end) return absl::PermissionDeniedError(WhyOver(trial->record));
  touched.insert(trial->record.number);
  // The program's first line may arrive before the launcher's notice.
  if (WaitsForResources(trial->record))
    options_.happened(*trial, event::ResourcesGranted{absl::ToUnixMicros(options_.clock->Now())});
  options_.guard->OnLine(*trial);
  auto answer = trial->reports->Take(line, trial->record, now, batch);
  // Unavailable would hold the line back, but nobody would request it again.
  if (absl::IsUnavailable(answer.status()) && !trial->reports->saves()) {
    return absl::InternalError(answer.status().message());
  }
  return answer;
}

absl::Status LineIntake::StoreLines(const StoreBatch& batch) {
  if (batch.lines.empty()) return absl::OkStatus();
  auto status = options_.store->Write(batch);
  if (status.ok()) {
    options_.on_stored();
    return status;
  }
  options_.on_store_error();
  LOG_EVERY_N(ERROR, 20) << status;
  return status;
}

absl::Status LineIntake::Conclude(Trial& trial, const absl::Status& stored) {
  if (!stored.ok()) {
    trial.reports->Abandon();
    return stored;
  }
  reports_ += trial.reports->Committed();
  TakeVerdict(trial);
  if (auto config = trial.reports->TakeConfiguration()) {
    trial.record.spec.config = *std::move(config);
    trial.config_behind = true;
    Fault("before configuration file");
  }
  if (auto status = options_.files->WriteChangedConfiguration(trial); !status.ok()) return status;
  return options_.news->SpreadSoon(trial);
}

void LineIntake::TidyLater() {
  if (std::exchange(tidies_, true)) return;
  options_.loop->Post([this, alive = alive_] {
    if (!*alive) return;
    tidies_ = false;
    Fault("before tidy");
    const absl::Status tidied = options_.store->Tidy();
    Fault("after tidy");
    if (!tidied.ok()) options_.on_store_error();
    LOG_IF(ERROR, !tidied.ok()) << tidied;
  });
}

void LineIntake::FollowOutput(Trial& trial) {
  if (!ReportsByOutput(trial.record)) return;
  auto format = OutputFormat::From(trial.record.spec.options.output_reports);
  if (!format.ok()) return;  // Impossible: it was checked when the trial was made.
  const AttemptKey attempt{trial.record.number, trial.record.attempt};
  trial.output = std::make_unique<OutputReader>(OutputReader::Options{
      .loop = options_.loop,
      .path = OutputPathOf(trial.record),
      .offset = trial.reports->progress().last_line,
      .format = *std::move(format),
      .take = [this, attempt](const auto& lines) { return TakeOutput(attempt, lines); }});
}

bool LineIntake::TakeOutput(const AttemptKey& attempt,
                            const std::vector<OutputReader::Line>& lines) {
  options_.guard->OnSignOfLife(options_.table->At(attempt.trial));
  const std::vector<RelayedLine> reports = AsRelayed(attempt, lines);
  if (reports.empty()) return true;
  const auto answers = Receive(reports);
  // Waiting does not cure an error of the line itself or of the run's directory.
  for (const auto& answer : answers) {
    LOG_IF(ERROR, !answer.ok() && !IsHeldBack(answer.status()))
        << "trial number " << attempt.trial << ", a report in its output: " << answer.status();
  }
  return std::none_of(answers.begin(), answers.end(),
                      [](const auto& answer) { return IsHeldBack(answer.status()); });
}

// Applies what the stored lines say about the trial's end.
void LineIntake::TakeVerdict(Trial& trial) {
  const TrialReports::Progress& progress = trial.reports->progress();
  const bool was_to_end = trial.record.stop_requested || trial.record.is_to_end();
  trial.record.failure = progress.failure;
  trial.record.expelled = progress.expelled;
  trial.record.criterion = progress.criterion;
  trial.record.earlier_metrics = progress.earlier_metrics;
  const bool is_news = trial.record.is_to_end() != was_to_end ||
                       progress.done != trial.attempt.done_was_known ||
                       progress.verdict.kind != Verdict::Kind::kContinue;
  // (Most lines change nothing, and lines are frequent, so this avoids copies for them.)
  if (is_news) options_.happened(trial, event::LinesStored{was_to_end, progress.verdict});
}

void LineIntake::Fault(std::string_view point) {
  if (options_.fault) options_.fault(point);
}

}  // namespace trainer

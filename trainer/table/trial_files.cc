#include "trainer/table/trial_files.h"

#include <malloc.h>

#include "absl/time/time.h"
#include "glog/logging.h"
#include "runtime/file/file.h"
#include "trainer/checkpoint/checkpoint_directory.h"
#include "trainer/run/failure_text.h"
#include "trainer/run/outcome_file.h"
#include "trainer/run/run_annotations.h"
#include "trainer/run/run_configuration.h"
#include "trainer/run/run_files.h"
#include "trainer/run/run_provenance.h"
#include "trainer/trial/trial_message.h"

// Invariants between two callbacks:
// - the files of an ended trial match the store, except for the trials in late_, whose files lack
//   room, and those in unchecked_, whose files this trainer has not checked yet.
// - a failure that is not in the store is in unsaved_failures_, and its trial in late_.

namespace trainer {
namespace {

// After a power failure there may be thousands, so other work runs between batches.
constexpr int kLateFilesPerTurn = 16;
constexpr int kFilesCheckedPerTurn = 16;

}  // namespace

absl::Status WriteConfiguration(const TrialRecord& record) {
  const TrialSpec& spec = record.spec;
  auto status = BringConfigurationUpToDate(spec.run_directory, spec.config);
  if (!status.ok()) return status;
  status = WriteProvenance(spec.run_directory, record.id(), spec.options);
  if (status.ok()) status = BringAnnotationsUpToDate(spec.run_directory, spec.options);
  return status;
}

void RepairAnnotations(const TrialRecord& record) {
  const absl::Status written =
      BringAnnotationsUpToDate(record.spec.run_directory, record.spec.options);
  LOG_IF(ERROR, !written.ok()) << "trial " << record.id() << ": " << written;
}

absl::Status TrialFiles::WriteChangedConfiguration(Trial& trial) {
  if (!trial.config_behind) return absl::OkStatus();
  const TrialSpec& spec = trial.record.spec;
  const absl::Status written = BringConfigurationUpToDate(spec.run_directory, spec.config);
  LOG_IF(ERROR, !written.ok()) << "trial " << trial.record.id() << ": " << written;
  trial.config_behind = absl::IsResourceExhausted(written);
  return trial.config_behind ? written : absl::OkStatus();
}

void TrialFiles::BringUpToDate(Trial& trial) {
  (void)options_.news->Spread(trial);
  if (!WriteChangedConfiguration(trial).ok()) WriteLate(trial.record.number);
  const bool has_none = !trial.record.launching && trial.reports->progress().last_row.row == 0;
  if (!has_none) trial.reports->LookAtFiles();
  if (!trial.reports->files_behind() || has_none) return;
  const absl::Status repaired = trial.reports->RepairFiles();
  LOG_IF(ERROR, !repaired.ok()) << "trial " << trial.record.id() << ": " << repaired;
  if (trial.runner == nullptr) trial.reports->CloseFiles();
  if (absl::IsResourceExhausted(repaired)) WriteLate(trial.record.number);
}

void TrialFiles::WriteLate(std::int64_t trial) {
  late_.insert(trial);
  options_.finish_later();
}

void TrialFiles::RecordFailure(const TrialRecord& record, const action::RecordFailure& failed) {
  AttemptFailure failure;
  failure.attempt = record.attempt;
  const absl::Time now = options_.clock->Now();
  failure.time_us = absl::ToUnixMicros(now);
  failure.utc_offset_s = absl::LocalTimeZone().At(now).offset;
  failure.reason = failed.reason;
  failure.error_lines = failed.error_lines;
  const absl::Status added = options_.store->AddFailure(record.number, failure);
  if (!added.ok()) options_.on_store_error();
  LOG_IF(ERROR, !added.ok()) << "trial " << record.id() << ": " << added;
  if (absl::IsResourceExhausted(added)) {
    unsaved_failures_.emplace_back(record.number, std::move(failure));
    WriteLate(record.number);
  }
  WriteErrorFile(record);
  Fault("after failure");
}

void TrialFiles::WriteErrorFile(const TrialRecord& record) {
  const auto failures = options_.store->Failures(record.number, kFailuresInErrorFile);
  absl::Status status = failures.status();
  if (failures.ok() && !failures->empty()) {
    const std::string& directory = record.spec.run_directory;
    status = runtime::WriteFileAtomically(directory + "/error.txt", RenderFailures(*failures),
                                          runtime::FileMode::OfFileIn(directory));
  }
  LOG_IF(ERROR, !status.ok()) << "trial " << record.id() << ": " << status;
  if (absl::IsResourceExhausted(status)) WriteLate(record.number);
}

void TrialFiles::WriteOutcome(const TrialRecord& record) {
  if (options_.is_unsaved(record.number)) return WriteLate(record.number);
  const absl::Status status = BringOutcomeUpToDate(record.spec.run_directory, OutcomeOf(record));
  LOG_IF(ERROR, !status.ok()) << "trial " << record.id() << ": " << status;
  if (absl::IsResourceExhausted(status)) WriteLate(record.number);
}

void TrialFiles::FinishLate() {
  std::erase_if(unsaved_failures_, [&](const auto& entry) {
    return absl::IsNotFound(options_.table->ByNumber(entry.first).status()) ||
           options_.store->AddFailure(entry.first, entry.second).ok();
  });
  if (!unsaved_failures_.empty()) return options_.finish_later();
  FinishFilesOf(std::exchange(late_, {}));
}

void TrialFiles::FinishFilesOf(std::set<std::int64_t> late) {
  for (int i = 0; i < kLateFilesPerTurn && !late.empty(); ++i) {
    const std::int64_t number = late.extract(late.begin()).value();
    const auto found = options_.table->ByNumber(number);
    if (absl::IsUnavailable(found.status())) WriteLate(number);
    if (!found.ok()) continue;
    Trial& trial = **found;
    trial.config_behind = true;  // (A reloaded trial does not know, so assume it.)
    BringUpToDate(trial);
    if (trial.record.launching || trial.record.attempt > 1) WriteErrorFile(trial.record);
    WriteOutcome(trial.record);
  }
  if (late.empty()) return;
  options_.loop->Post([this, late = std::move(late), alive = alive_] {
    if (*alive) FinishFilesOf(late);
  });
}

void TrialFiles::CheckEnded() {
  for (int i = 0; i < kFilesCheckedPerTurn && !unchecked_.empty(); ++i) {
    const std::int64_t number = unchecked_.front();
    unchecked_.pop_front();
    const Trial* const at_hand = options_.table->AtHand(number);
    const bool lives = at_hand != nullptr && !HasEnded(at_hand->record);
    if (!lives) Check(number);
  }
  if (unchecked_.empty()) {
    (void)malloc_trim(0);  // Frees the memory of what was read.
    return;
  }
  options_.loop->Post([this, alive = alive_] {
    if (*alive) CheckEnded();
  });
}

void TrialFiles::Check(std::int64_t number) {
  const auto record = options_.store->LoadTrial(number);
  if (absl::IsNotFound(record.status())) return;  // The trial was forgotten meanwhile.
  // (If the store cannot be read now, assume that the files are short.)
  if (!record.ok() || HasShortFiles(*record)) WriteLate(number);
  if (!record.ok()) return;
  const absl::Status written =
      BringConfigurationUpToDate(record->spec.run_directory, record->spec.config);
  LOG_IF(ERROR, !written.ok()) << "trial " << record->id() << ": " << written;
  if (absl::IsResourceExhausted(written)) WriteLate(number);
  RepairAnnotations(*record);
  WriteOutcome(*record);
  const absl::Status removed = RemoveTemporaryCheckpoints(record->spec.run_directory);
  LOG_IF(ERROR, !removed.ok()) << "trial " << record->id() << ": " << removed;
}

bool TrialFiles::HasShortFiles(const TrialRecord& record) const {
  const auto last = options_.store->LastRow(record.number);
  const RunFiles files({.directory = record.spec.run_directory, .run = record.run});
  return !last.ok() || files.AreShorterThan(last->ends);
}

void TrialFiles::Fault(std::string_view point) {
  if (options_.fault) options_.fault(point);
}

}  // namespace trainer

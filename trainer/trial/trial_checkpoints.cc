#include "trainer/trial/trial_checkpoints.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "runtime/text/printable.h"
#include "trainer/checkpoint/checkpoint_directory.h"
#include "trainer/checkpoint/checkpoint_retention.h"
#include "trainer/checkpoint/file_tree.h"
#include "trainer/report/report_line.h"

// Invariants:
// - A checkpoint's directory has its final name and is on disk before its row is stored; its row is
//   stored before the program is told that it is saved. A directory without a row is an interrupted
//   commit, and is found by the attempt and line in its metadata.
// - A directory that a trial started from, or that another one is to start from, is never removed.
// - A row is deleted only after its directory.

namespace trainer {
namespace {

// Limit of uncommitted checkpoints, so that a program that never ends them does not fill the disk.
constexpr int kMaxOpenTemporaries = 16;

// Returns the names of a directory's entries; empty if it is missing.
absl::StatusOr<std::vector<std::string>> NamesIn(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  auto entry = std::filesystem::directory_iterator(directory, error);
  while (!error && entry != std::filesystem::directory_iterator()) {
    names.push_back(entry->path().filename());
    entry.increment(error);
  }
  if (!error || error == std::errc::no_such_file_or_directory) return names;
  return absl::ErrnoToStatus(error.value(), absl::StrCat("reading ", directory));
}

bool IsCheckpointName(const std::string& name) {
  return absl::StartsWith(name, "checkpoint_") && !IsTemporaryName(name);
}

std::string LastSegment(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

bool LiesIn(const std::string& path, const std::string& directory) {
  return path == directory || absl::StartsWith(path, directory + "/");
}

std::int64_t SizeOf(const std::string& directory) {
  std::uint64_t bytes = 0;
  const absl::Status status = WalkTree(directory, [&](const TreeFile& file) {
    bytes += file.size;
    return absl::OkStatus();
  });
  return status.ok() ? static_cast<std::int64_t>(bytes) : 0;
}

}  // namespace

TrialCheckpoints::TrialCheckpoints(const TrialRecord& trial, Options options)
    : options_(std::move(options)),
      trial_(trial.number),
      id_(trial.id()),
      run_(trial.run),
      run_directory_(trial.spec.run_directory),
      keep_(trial.spec.options.keep_checkpoints),
      max_bytes_(trial.spec.options.checkpoint_bytes),
      metric_(trial.spec.options.checkpoint_metric) {}

std::optional<double> TrialCheckpoints::ScoreOf(const ResultRow& report,
                                                std::int64_t iteration) const {
  const std::string name = ParseCheckpointMetric(metric_).name;
  if (name == "training_iteration") return static_cast<double>(iteration);
  if (report.row == 0) return std::nullopt;
  for (const Metric& field : ResultFields(run_, report, RowMetrics(report))) {
    if (field.name != name) continue;
    return field.number && !std::isnan(*field.number) ? field.number : std::nullopt;
  }
  return std::nullopt;
}

std::string TrialCheckpoints::DirectoryOf(const CheckpointRow& row) const {
  return absl::StrCat(run_directory_, "/", row.name);
}

absl::StatusOr<std::string> TrialCheckpoints::Begin(std::optional<std::int64_t> step) const {
  auto names = NamesIn(run_directory_);
  if (!names.ok()) return names.status();
  int open = 0;
  for (const std::string& name : *names) open += IsTemporaryName(name) ? 1 : 0;
  if (open >= kMaxOpenTemporaries) {
    return absl::FailedPreconditionError(absl::StrCat(
        open, " checkpoints were begun and not ended in ", run_directory_, ": end or remove some"));
  }
  return MakeTemporaryCheckpoint(run_directory_, step);
}

absl::StatusOr<CheckpointRow> TrialCheckpoints::End(const std::string& path, const Moment& moment,
                                                    const PreparedCheckpoint& prepared) const {
  auto directory = DirectoryBelow(run_directory_, path);
  const bool is_missing = absl::IsNotFound(directory.status());
  if (!directory.ok() && !is_missing) return directory.status();
  CheckpointMetadata metadata;
  if (!is_missing) {
    if (LiesIn(moment.start, *directory)) {
      return absl::InvalidArgumentError(absl::StrCat(
          *directory, " is what this attempt started from: write into what ckpt_begin answers"));
    }
    const std::string name = LastSegment(*directory);
    if (!IsTemporaryName(name) || *directory != absl::StrCat(run_directory_, "/", name)) {
      return absl::InvalidArgumentError(absl::StrCat(
          *directory, " is no temporary checkpoint of this run: name what ckpt_begin answered"));
    }
    metadata = ReadMetadata(*directory).value_or(CheckpointMetadata());
  }
  const bool tried = metadata.attempt == moment.attempt && metadata.line == moment.line;
  if (is_missing || (!tried && metadata.line != 0)) {
    // The directory was renamed already, or exchanged with the old one of its final name.
    auto before = Committed(moment);
    if (!before.ok()) return before.status();
    if (before->has_value() && !is_missing) (void)RemoveCheckpoint(*directory);
    if (before->has_value()) return **before;
  }
  if (is_missing) return directory.status();
  return Commit(*directory, tried ? metadata.step : TemporaryStep(*directory), moment, prepared);
}

void TrialCheckpoints::Abandon(const std::string& path, const std::string& start) const {
  const auto directory = DirectoryBelow(run_directory_, path);
  if (!directory.ok() || LiesIn(start, *directory)) return;
  const std::string name = LastSegment(*directory);
  if (!IsTemporaryName(name) || *directory != absl::StrCat(run_directory_, "/", name)) return;
  const absl::Status removed = RemoveCheckpoint(*directory);
  LOG_IF(WARNING, !removed.ok()) << "cannot remove an abandoned checkpoint: " << removed;
}

absl::StatusOr<CheckpointRow> TrialCheckpoints::Named(const std::string& path, std::int64_t step,
                                                      const Moment& moment, const StoreBatch& batch,
                                                      const PreparedCheckpoint& prepared) const {
  auto directory = DirectoryBelow(run_directory_, path);
  // The directory is gone if this line has committed it before.
  const bool is_start = directory.ok() && LiesIn(moment.start, *directory);
  if (IsTemporaryName(LastSegment(path)) && !is_start) return End(path, moment, prepared);
  if (!directory.ok()) return directory.status();
  const std::string below = directory->substr(run_directory_.size() + 1);
  auto known = Known(below.substr(0, below.find('/')), batch);
  if (!known.ok()) return known.status();
  if (known->has_value()) return **known;
  if (step < 0) step = moment.iteration;
  if (auto before = CommittedAs(CheckpointName(step), moment)) return *before;
  // The caller owns a prepared copy, and may retry with it.
  if (!prepared.copy.empty()) return Commit(prepared.copy, step, moment, prepared);
  auto copy = CopyInCheckpoint(*directory, run_directory_);
  if (!copy.ok()) return copy.status();
  auto row = Commit(*copy, step, moment, {});
  if (!row.ok()) (void)RemoveCheckpoint(*copy);
  return row;
}

CheckpointPreparation::Work TrialCheckpoints::LongPart(const std::string& path,
                                                       std::optional<std::int64_t> step,
                                                       const Moment& moment,
                                                       const StoreBatch& batch) const {
  const auto directory = DirectoryBelow(run_directory_, path);
  if (!directory.ok()) return nullptr;
  const bool is_start = LiesIn(moment.start, *directory);
  const std::string name = LastSegment(*directory);
  if (IsTemporaryName(name) && !is_start) {
    if (*directory != absl::StrCat(run_directory_, "/", name)) return nullptr;
    return [temporary = *directory]() -> absl::StatusOr<PreparedCheckpoint> {
      auto manifest = SyncCheckpoint(temporary);
      if (!manifest.ok()) return manifest.status();
      return PreparedCheckpoint{*std::move(manifest), ""};
    };
  }
  if (!step) return nullptr;
  const std::string below = directory->substr(run_directory_.size() + 1);
  const auto known = Known(below.substr(0, below.find('/')), batch);
  const std::int64_t number = *step < 0 ? moment.iteration : *step;
  if (!known.ok() || known->has_value()) return nullptr;
  if (CommittedAs(CheckpointName(number), moment)) return nullptr;
  return [source = *directory, run = run_directory_]() -> absl::StatusOr<PreparedCheckpoint> {
    auto copy = CopyInCheckpoint(source, run);
    if (!copy.ok()) return copy.status();
    auto manifest = SyncCheckpoint(*copy);
    if (manifest.ok()) return PreparedCheckpoint{*std::move(manifest), *copy};
    (void)RemoveCheckpoint(*copy);
    return manifest.status();
  };
}

absl::StatusOr<CheckpointRow> TrialCheckpoints::Commit(const std::string& temporary,
                                                       std::optional<std::int64_t> step,
                                                       const Moment& moment,
                                                       const PreparedCheckpoint& prepared) const {
  CheckpointMetadata metadata;
  metadata.experiment_id = run_.experiment_id;
  metadata.iteration = moment.iteration;
  metadata.time_total_us = moment.time_total_us;
  metadata.timesteps_total = moment.timesteps_total;
  metadata.episodes_total = moment.episodes_total;
  metadata.step = step;
  metadata.attempt = moment.attempt;
  metadata.line = moment.line;
  // Values that a function saved are returned to it as values.
  metadata.saved_as_dict = ReadMetadata(temporary).value_or(CheckpointMetadata()).saved_as_dict;
  CheckpointRow row{trial_,
                    moment.number,
                    moment.attempt,
                    CheckpointName(step.value_or(moment.iteration)),
                    moment.iteration,
                    moment.time_total_us,
                    moment.wall_time_us,
                    0,
                    moment.score,
                    step.value_or(-1)};
  auto bytes = CommitCheckpoint(temporary, row.name, metadata, options_.fault, prepared.manifest);
  if (!bytes.ok()) return bytes.status();
  row.bytes = static_cast<std::int64_t>(*bytes);
  return row;
}

absl::StatusOr<std::optional<CheckpointRow>> TrialCheckpoints::Committed(
    const Moment& moment) const {
  auto names = NamesIn(run_directory_);
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    if (!IsCheckpointName(name)) continue;
    if (auto row = CommittedAs(name, moment)) return row;
  }
  return std::nullopt;
}

std::optional<CheckpointRow> TrialCheckpoints::CommittedAs(const std::string& name,
                                                           const Moment& moment) const {
  const std::string directory = absl::StrCat(run_directory_, "/", name);
  const auto metadata = ReadMetadata(directory);
  if (!metadata.ok() || metadata->experiment_id != run_.experiment_id) return std::nullopt;
  if (metadata->attempt != moment.attempt || metadata->line != moment.line) return std::nullopt;
  return CheckpointRow{trial_,
                       moment.number,
                       moment.attempt,
                       name,
                       metadata->iteration,
                       metadata->time_total_us,
                       moment.wall_time_us,
                       SizeOf(directory),
                       moment.score,
                       metadata->step.value_or(-1)};
}

absl::StatusOr<std::optional<CheckpointRow>> TrialCheckpoints::Known(
    const std::string& name, const StoreBatch& batch) const {
  std::optional<CheckpointRow> known;
  for (const CheckpointRow& row : batch.checkpoints) {
    if (row.trial == trial_ && row.name == name) known = row;
  }
  if (known) return known;
  auto rows = options_.store->Checkpoints(trial_);
  if (!rows.ok()) return rows.status();
  for (const CheckpointRow& row : *rows) {
    if (row.name == name) known = row;
  }
  return known;
}

absl::Status TrialCheckpoints::RemoveSurplus(const std::string& start) const {
  if (keep_ < 0 && max_bytes_ == 0) return absl::OkStatus();
  auto rows = options_.store->Checkpoints(trial_);
  if (!rows.ok()) return rows.status();
  std::vector<RankedCheckpoint> ranked;
  for (const CheckpointRow& row : *rows) {
    const std::string directory = DirectoryOf(row);
    const bool in_use = row.pending || LiesIn(start, directory) ||
                        (options_.is_referenced && options_.is_referenced(directory));
    ranked.push_back({row.number, row.score, in_use, static_cast<std::uint64_t>(row.bytes)});
  }
  const bool has_score = std::any_of(ranked.begin(), ranked.end(), [](const auto& checkpoint) {
    return checkpoint.score.has_value();
  });
  LOG_IF(WARNING, !has_score && keep_ > 0 && ranked.size() == static_cast<std::size_t>(keep_) + 1)
      << "trial " << id_ << ": no report has a number called "
      << runtime::Printable(ParseCheckpointMetric(metric_).name)
      << ", by which its checkpoints are to be judged: all of them stay";
  const auto surplus = SurplusCheckpoints(
      ranked, keep_, ParseCheckpointMetric(metric_).smaller_is_better, max_bytes_);
  const std::set<std::int64_t> numbers(surplus.begin(), surplus.end());
  std::erase_if(*rows, [&](const CheckpointRow& row) { return numbers.count(row.number) == 0; });
  return RemoveThose(*std::move(rows));
}

absl::Status TrialCheckpoints::RemoveAll() const {
  auto rows = All();
  if (!rows.ok()) return rows.status();
  absl::Status result = RemoveThose(*std::move(rows));
  result.Update(RemoveTemporaries());
  return result;
}

absl::Status TrialCheckpoints::RemoveThose(std::vector<CheckpointRow> rows) const {
  StoreBatch batch;
  absl::Status result;
  for (CheckpointRow& row : rows) {
    const absl::Status removed = RemoveCheckpoint(DirectoryOf(row));
    result.Update(removed);
    if (removed.ok()) batch.forgotten_checkpoints.push_back(std::move(row));
  }
  if (!batch.forgotten_checkpoints.empty()) result.Update(options_.store->Write(batch));
  return result;
}

bool TrialCheckpoints::Candidates::empty() const {
  return own.empty() && before.empty() && restore.empty() && from.empty();
}

absl::StatusOr<std::vector<CheckpointRow>> TrialCheckpoints::All() const {
  return options_.store->Checkpoints(trial_);
}

absl::StatusOr<TrialCheckpoints::Candidates> TrialCheckpoints::CandidatesOf(
    const TrialRecord& trial) const {
  auto own = All();
  if (!own.ok()) return own.status();
  Candidates candidates;
  candidates.own = *std::move(own);
  candidates.before = trial.start_checkpoint;
  candidates.restore = trial.spec.options.restore;
  candidates.from = trial.spec.options.from;
  return candidates;
}

Preparation<TrialCheckpoints::Choice>::Work TrialCheckpoints::LongPartOfStart(
    const Candidates& candidates) const {
  return [self = *this, candidates] { return self.Choose(candidates); };
}

absl::StatusOr<TrialCheckpoints::Choice> TrialCheckpoints::Choose(
    const Candidates& candidates) const {
  Choice choice;
  auto own = FirstWhole(candidates.own, run_directory_, choice.damaged);
  if (!own.ok()) return own.status();
  choice.own = *std::move(own);
  if (choice.own) choice.start.directory = DirectoryOf(*choice.own);
  const auto before = choice.own ? std::optional<Start>() : CopyOfBefore(candidates.before);
  if (!before.ok()) return before.status();
  const std::string kept = before->has_value() ? (*before)->copy : "";
  if (auto status = RemoveTemporaries(kept); !status.ok()) return status;
  if (choice.own) return choice;
  if (before->has_value()) {
    choice.start = **before;
    return choice;
  }
  std::string source = candidates.restore;
  if (source.empty() && candidates.from.empty()) return choice;
  if (source.empty() && candidates.from_is_gone) {
    return absl::NotFoundError(
        absl::StrCat("trial ", candidates.from, ", which it starts from, is gone"));
  }
  if (source.empty()) {
    auto theirs = FirstWhole(candidates.theirs, candidates.their_directory, choice.damaged);
    if (!theirs.ok()) return theirs.status();
    if (!theirs->has_value()) {
      return absl::FailedPreconditionError(
          absl::StrCat("trial ", candidates.from, " has no whole checkpoint to start from"));
    }
    source = absl::StrCat(candidates.their_directory, "/", (*theirs)->name);
  }
  auto copy = CopyIn(source);
  if (!copy.ok()) return copy.status();
  choice.copy = copy->copy;
  choice.start = *std::move(copy);
  return choice;
}

absl::StatusOr<std::optional<CheckpointRow>> TrialCheckpoints::FirstWhole(
    const std::vector<CheckpointRow>& rows, const std::string& run_directory,
    std::vector<CheckpointRow>& damaged) const {
  for (const CheckpointRow& row : rows) {
    const absl::Status verified = VerifyCheckpoint(absl::StrCat(run_directory, "/", row.name));
    if (verified.ok()) return row;
    // These errors say nothing about the checkpoint.
    if (absl::IsResourceExhausted(verified) || absl::IsUnavailable(verified)) return verified;
    LOG(WARNING) << "trial " << id_ << ": " << verified
                 << "; the checkpoint before that one is used";
    damaged.push_back(row);
  }
  return std::nullopt;
}

absl::StatusOr<TrialCheckpoints::Start> TrialCheckpoints::Conclude(const Choice& choice) const {
  StoreBatch batch;
  batch.forgotten_checkpoints = choice.damaged;
  if (!choice.damaged.empty()) {
    if (auto status = options_.store->Write(batch); !status.ok()) return status;
  }
  if (!choice.own) return choice.start;
  const auto metadata = MetadataOf(*choice.own);
  if (!metadata.ok()) return metadata.status();
  return Start{choice.start.directory, metadata->iteration, metadata->time_total_us};
}

void TrialCheckpoints::Belong(const ResultRow& report, CheckpointRow& checkpoint) const {
  checkpoint.report = report.row;
  checkpoint.iteration = report.training_iteration;
  checkpoint.time_total_us = report.time_total_us;
  checkpoint.score = ScoreOf(report, report.training_iteration);
  checkpoint.pending = false;
}

absl::Status TrialCheckpoints::WriteCountersOf(const CheckpointRow& checkpoint,
                                               const ResultRow& report) const {
  const std::string directory = DirectoryOf(checkpoint);
  auto metadata = ReadMetadata(directory);
  if (!metadata.ok()) return metadata.status();
  metadata->iteration = report.training_iteration;
  metadata->time_total_us = report.time_total_us;
  metadata->timesteps_total.reset();
  metadata->episodes_total.reset();
  if (report.timesteps_total >= 0) metadata->timesteps_total = report.timesteps_total;
  if (report.episodes_total >= 0) metadata->episodes_total = report.episodes_total;
  return WriteCounters(directory, *metadata);
}

absl::StatusOr<std::vector<CheckpointRow>> TrialCheckpoints::Pending(int attempt) const {
  auto rows = options_.store->Checkpoints(trial_);
  if (!rows.ok()) return rows.status();
  std::erase_if(*rows,
                [&](const CheckpointRow& row) { return !row.pending || row.attempt != attempt; });
  return rows;
}

absl::StatusOr<CheckpointMetadata> TrialCheckpoints::MetadataOf(const CheckpointRow& row) const {
  auto metadata = ReadMetadata(DirectoryOf(row));
  if (!metadata.ok() || row.report == 0 || metadata->iteration == row.iteration) return metadata;
  const auto reports = options_.store->RowsAfter(trial_, row.report - 1, 1);
  if (!reports.ok()) return reports.status();
  if (reports->empty() || reports->front().row != row.report) return metadata;
  if (auto status = WriteCountersOf(row, reports->front()); !status.ok()) return status;
  return ReadMetadata(DirectoryOf(row));
}

absl::StatusOr<TrialCheckpoints::Start> TrialCheckpoints::CopyIn(const std::string& path) const {
  auto source = FindCheckpointDirectory(path);
  if (!source.ok()) return source.status();
  std::string below = path.substr(source->size());
  while (!below.empty() && below.back() == '/') below.pop_back();
  if (!below.empty()) {
    auto status = CheckTreeName(std::string_view(below).substr(1));
    if (!status.ok()) return status;
  }
  auto copy = CopyInCheckpoint(*source, run_directory_);
  if (!copy.ok()) return copy.status();
  if (IsNull(*copy)) {
    if (auto status = RemoveCheckpoint(*copy); !status.ok()) return status;
    return Start();
  }
  auto metadata = ReadMetadata(*copy);
  if (!metadata.ok() && !absl::IsNotFound(metadata.status())) return metadata.status();
  const CheckpointMetadata counters = metadata.ok() ? *metadata : CheckpointMetadata();
  return Start{absl::StrCat(*copy, below), counters.iteration, counters.time_total_us, *copy};
}

TrialCheckpoints::Counted TrialCheckpoints::CountedUntil(const std::string& start) {
  if (start.empty()) return {};
  const auto checkpoint = FindCheckpointDirectory(start);
  if (!checkpoint.ok()) return {};
  const CheckpointMetadata metadata = ReadMetadata(*checkpoint).value_or(CheckpointMetadata());
  return {metadata.timesteps_total, metadata.episodes_total};
}

absl::StatusOr<std::optional<TrialCheckpoints::Start>> TrialCheckpoints::CopyOfBefore(
    const std::string& start) const {
  if (!LiesIn(start, run_directory_) || start == run_directory_) return std::nullopt;
  const std::string below = start.substr(run_directory_.size() + 1);
  const std::string name = below.substr(0, below.find('/'));
  const std::string directory = absl::StrCat(run_directory_, "/", name);
  if (!IsTemporaryName(name)) return std::nullopt;
  const absl::Status verified = VerifyCheckpoint(directory);
  if (absl::IsResourceExhausted(verified) || absl::IsUnavailable(verified)) return verified;
  const auto metadata = ReadMetadata(directory);
  if (!verified.ok() || !metadata.ok()) return std::nullopt;
  return Start{start, metadata->iteration, metadata->time_total_us, directory};
}

absl::Status TrialCheckpoints::RemoveTemporaries(const std::string& but) const {
  return RemoveTemporaryCheckpoints(run_directory_, but);
}

}  // namespace trainer

#include "trainer/table/new_trials.h"

#include <unistd.h>

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "eventlog/event.h"
#include "runtime/text/random_id.h"
#include "trainer/checkpoint/checkpoint_directory.h"
#include "trainer/run/experiment_id.h"
#include "trainer/table/ended_trials.h"
#include "trainer/trial/attach_request.h"
#include "trainer/trial/trial_request.h"
#include "trainer/trial/trial_state.h"

namespace trainer {
namespace {

// Most trials whose names differ only in the number at the end.
constexpr int kMostSameNames = 10'000;

}  // namespace

absl::StatusOr<TrialRecord> NewTrials::FromRequest(const std::string& request_id,
                                                   const msg::RunTrialRequestT& request) const {
  const std::string id = options_.table->FreeId();
  auto spec = NewSpec(request, id);
  if (!spec.ok()) return spec.status();
  if (auto status = CheckStart(*spec); !status.ok()) return status;
  if (auto status = FindOthers(*spec); !status.ok()) return status;
  TrialRecord record = NewRecord(id, request_id, *std::move(spec));
  const std::string why = WhyItsGroupIsPaused(record);
  if (!why.empty()) MarkPause(record, why);
  return record;
}

std::string NewTrials::WhyItsGroupIsPaused(const TrialRecord& record) const {
  if (!record.spec.options.fail_fast) return "";
  for (const auto& [number, trial] : options_.table->at_hand()) {
    if (IsOfGroup(trial.record, record) && trial.record.state == msg::TrialState::Failed) {
      return WhyAGroupIsPaused(trial.record.id());
    }
  }
  for (const auto& [number, trial] : options_.table->ended().all()) {
    const bool has_failed = trial.state() == msg::TrialState::Failed && !trial.group().empty();
    if (has_failed && trial.group() == record.spec.options.group) {
      return WhyAGroupIsPaused(std::string(trial.id()));
    }
  }
  return "";
}

// Replaces the names of the trials that this one starts after by their ids.
absl::Status NewTrials::FindOthers(TrialSpec& spec) const {
  for (const auto& after : spec.options.after) {
    auto other = options_.table->IdOf(after->trial);
    if (!other.ok()) return other.status();
    after->trial = *std::move(other);
  }
  return absl::OkStatus();
}

// Chooses the first free name if the request allows any.
absl::StatusOr<TrialSpec> NewTrials::NewSpec(const msg::RunTrialRequestT& request,
                                             const std::string& id) const {
  auto spec = SpecFrom(request, id, options_.logdir);
  if (!spec.ok()) return spec.status();
  absl::Status is_free = CheckNameIsFree(*spec);
  const std::string name = spec->name, directory = spec->run_directory;
  for (int number = 2; absl::IsAlreadyExists(is_free) && request.again && number < kMostSameNames;
       ++number) {
    spec->name = absl::StrCat(name, ".", number);
    spec->run_directory = absl::StrCat(directory, ".", number);
    is_free = CheckNameIsFree(*spec);
  }
  if (is_free.ok()) is_free = CheckRunName(spec->name);
  if (!is_free.ok()) return is_free;
  return spec;
}

absl::Status NewTrials::CheckNameIsFree(const TrialSpec& spec) const {
  const auto holder = options_.table->HolderOf(spec.run_directory);
  if (holder) {
    return absl::AlreadyExistsError(absl::StrCat(
        "the name ", spec.name, " is taken by trial ", holder->id, " (",
        msg::EnumNameTrialState(holder->state), "): choose another --name, none, or --again"));
  }
  return CheckDirectoryIsFree(spec.run_directory);
}

// Checks that the source of the start exists at the time of the request. Replaces the name of a
// source trial in the spec by its id.
absl::Status NewTrials::CheckStart(TrialSpec& spec) const {
  if (!spec.options.restore.empty()) {
    return FindCheckpointDirectory(spec.options.restore).status();
  }
  if (spec.options.from.empty()) return absl::OkStatus();
  auto from = options_.table->IdOf(spec.options.from);
  if (!from.ok()) return from.status();
  spec.options.from = *std::move(from);
  const auto trial = options_.get(spec.options.from);
  if (!trial.ok()) return trial.status();
  if (!trial->checkpoint.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("trial ", spec.options.from, " has no checkpoint to start from"));
}

TrialRecord NewTrials::NewRecord(const std::string& id, const std::string& request_id,
                                 TrialSpec spec) const {
  TrialRecord record;
  record.run.trial_id = id;
  record.run.experiment_id = NewExperimentId();
  record.run.hostname = options_.hostname;
  record.run.created_us = absl::ToUnixMicros(options_.clock->Now());
  record.run.event_file =
      eventlog::EventFileName(record.run.created_us / 1'000'000, options_.hostname, getpid(), 0);
  record.request_id = request_id;
  record.spec = std::move(spec);
  record.nonce = runtime::RandomHex128();
  record.job_request_id = runtime::RandomHex128();
  return record;
}

absl::StatusOr<TrialRecord> NewTrials::FromAttached(const AttachRequest& attach) const {
  if (attach.pid <= 0) return absl::InvalidArgumentError("an attached process needs a pid");
  auto request = RequestOf(attach);
  if (!request.ok()) return request.status();
  if (!request->name.empty()) {
    if (auto status = CheckRunName(request->name); !status.ok()) return status;
  }
  request->name = FreeName(request->name, [this](const std::string& name) {
    const std::string directory = absl::StrCat(options_.logdir, "/", name);
    return !options_.table->HolderOf(directory) && CheckDirectoryIsFree(directory).ok();
  });
  const std::string id = options_.table->FreeId();
  auto spec = SpecFrom(*request, id, options_.logdir);
  if (!spec.ok()) return spec.status();
  if (auto status = CheckNameIsFree(*spec); !status.ok()) return status;
  spec->options.attached_pid = static_cast<std::uint32_t>(attach.pid);
  TrialRecord record = NewRecord(id, attach.nonce, *std::move(spec));
  record.nonce = attach.nonce;
  return record;
}

}  // namespace trainer

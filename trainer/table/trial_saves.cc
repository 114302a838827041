#include "trainer/table/trial_saves.h"

#include "glog/logging.h"

namespace trainer {

absl::Status TrialSaves::Save(Keep how, Trial& trial, TrialRecord changed,
                              const std::vector<AnsweredLine>& lines) {
  if (how == Keep::kNow) return SaveNow(trial, std::move(changed), lines);
  if (how == Keep::kAtOnce) return SaveOrder(trial, std::move(changed));
  trial.record = std::move(changed);
  Mark(trial.record.number);
  SaveUnsaved();
  return absl::OkStatus();
}

// The change takes effect only if it is stored.
absl::Status TrialSaves::SaveNow(Trial& trial, TrialRecord changed,
                                 const std::vector<AnsweredLine>& lines) {
  StoreBatch batch;
  batch.trials.push_back(changed);
  batch.lines = lines;
  auto status = options_.store->Write(batch);
  if (!status.ok()) {
    options_.on_store_error();
    return status;
  }
  trial.record = std::move(changed);
  options_.on_stored();
  return status;
}

// Does the same, but if the disk is full the order takes effect at once and is stored later.
absl::Status TrialSaves::SaveOrder(Trial& trial, TrialRecord changed) {
  const absl::Status status = SaveNow(trial, changed, {});
  if (!absl::IsResourceExhausted(status)) return status;
  LOG(ERROR) << status;
  trial.record = std::move(changed);
  Mark(trial.record.number);
  options_.retry_later();
  return absl::OkStatus();
}

void TrialSaves::Retry() {
  if (!unsaved_.empty()) SaveUnsaved();
}

void TrialSaves::SaveUnsaved() {
  StoreBatch batch;
  for (const std::int64_t number : unsaved_) {
    batch.trials.push_back(options_.table->At(number).record);
  }
  const absl::Status status = options_.store->Write(batch);
  if (status.ok()) {
    options_.on_stored();
    return unsaved_.clear();
  }
  options_.on_store_error();
  LOG_EVERY_N(ERROR, 20) << status;
  options_.retry_later();
}

}  // namespace trainer

#include "trainer/table/trial_removals.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "runtime/file/trash.h"
#include "trainer/store/trial_record.h"
#include "trainer/table/ended_trials.h"
#include "trainer/trial/trial_state.h"

namespace trainer {
namespace {

// Returns the log directory that contains the run.
std::string RootOf(const Removal& removal) {
  const std::string& directory = removal.run_directory;
  if (absl::EndsWith(directory, "/" + removal.name)) {
    return directory.substr(0, directory.size() - removal.name.size() - 1);
  }
  return directory.substr(0, directory.rfind('/'));
}

}  // namespace

absl::StatusOr<msg::TrialT> TrialRemovals::Remove(std::string_view name,
                                                  const std::string& request_id) {
  const auto known = options_.store->RemovalWith(request_id);
  if (!known.ok()) return known.status();
  if (known->has_value()) {
    msg::TrialT removed;
    removed.id = (*known)->id;
    removed.name = (*known)->name;
    removed.log_directory = runtime::PlaceInTrash(RootOf(**known), (*known)->id);
    return removed;
  }
  const auto id = options_.table->IdOf(name);
  if (!id.ok()) return id.status();
  const auto found = options_.table->ById(*id);
  if (!found.ok()) return found.status();
  const Trial& trial = **found;
  if (auto status = Check(trial); !status.ok()) return status;
  msg::TrialT removed = options_.view->Whole(trial);
  const Removal removal = {trial.record.number, *id, trial.record.spec.name, request_id,
                           trial.record.spec.run_directory};
  if (auto status = options_.store->Remove(removal); !status.ok()) return status;
  options_.on_stored();
  Fault("after removal");
  options_.drop(removal.number);
  auto place = Finish(removal);
  if (!place.ok()) return place.status();
  removed.log_directory = *std::move(place);
  return removed;
}

absl::Status TrialRemovals::Check(const Trial& trial) const {
  const std::string& id = trial.record.id();
  if (!HasEnded(trial.record)) {
    return absl::FailedPreconditionError(absl::StrCat("cannot remove trial ", id, ": it ",
                                                      StateWords(trial.record), "; yard stop ", id,
                                                      " ends it"));
  }
  const Trial* needs_it = options_.table->StartingFrom(id);
  if (needs_it == nullptr) needs_it = options_.table->Restoring(trial.record.spec.run_directory);
  if (needs_it == nullptr) return absl::OkStatus();
  const std::string& other = needs_it->record.id();
  const bool paused = needs_it->record.state == msg::TrialState::Paused;
  return absl::FailedPreconditionError(absl::StrCat(
      "cannot remove trial ", id, ": ", other,
      paused ? absl::StrCat(", which is paused, starts from it; yard resume ", other, " lets it")
             : std::string(" waits to start from it; it starts when there is room"),
      ", and yard stop ", other, " ends it"));
}

absl::StatusOr<std::string> TrialRemovals::Finish(const Removal& removal) {
  auto place = runtime::MoveToTrash(RootOf(removal), removal.run_directory, removal.id,
                                    options_.clock->Now());
  if (!place.ok()) return place.status();
  Fault("after trash");
  if (auto status = options_.store->FinishRemoval(removal.number); !status.ok()) return status;
  return place;
}

absl::Status TrialRemovals::FinishEarlier() {
  const auto removals = options_.store->UnfinishedRemovals();
  if (!removals.ok()) return removals.status();
  for (const Removal& removal : *removals) {
    const bool is_taken = options_.table->HolderOf(removal.run_directory).has_value();
    const absl::Status status =
        is_taken ? options_.store->FinishRemoval(removal.number) : Finish(removal).status();
    LOG_IF(ERROR, !status.ok()) << "trial " << removal.id << ": " << status;
  }
  return absl::OkStatus();
}

absl::Status TrialRemovals::ForgetOldest(std::size_t count) {
  std::vector<std::int64_t> old;
  for (const auto& [number, trial] : options_.table->ended().all()) {
    if (count-- == 0) break;
    if (options_.table->StartingFrom(trial.id()) == nullptr) old.push_back(number);
  }
  if (old.empty()) return absl::OkStatus();
  if (auto status = options_.store->Forget(old); !status.ok()) return status;
  options_.on_stored();
  for (const std::int64_t number : old) options_.drop(number);
  return absl::OkStatus();
}

void TrialRemovals::Fault(std::string_view point) {
  if (options_.fault) options_.fault(point);
}

}  // namespace trainer

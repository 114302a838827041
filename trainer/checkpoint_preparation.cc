#include "trainer/checkpoint_preparation.h"

#include <utility>

#include "absl/status/status.h"

namespace trainer {

// Written by the work, and read by the loop's thread after that has ended.
struct CheckpointPreparation::State {
  ~State() {
    if (result.ok() && !result->copy.empty()) (void)RemoveCheckpoint(result->copy);
  }
  absl::StatusOr<PreparedCheckpoint> result = absl::UnavailableError("under way");
  bool is_done = false;
};

CheckpointPreparation::CheckpointPreparation(int attempt, std::int64_t line, Work work,
                                             const Background& background,
                                             std::function<void()> done)
    : attempt_(attempt), line_(line), state_(std::make_shared<State>()) {
  auto read = [state = state_, work = std::move(work)] { state->result = work(); };
  if (!background) {
    read();
    state_->is_done = true;
    return;
  }
  background(std::move(read), [state = state_, done = std::move(done)] {
    state->is_done = true;
    done();
  });
}

const absl::StatusOr<PreparedCheckpoint>* CheckpointPreparation::result() const {
  return state_->is_done ? &state_->result : nullptr;
}

}  // namespace trainer

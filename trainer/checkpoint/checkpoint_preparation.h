#ifndef TRAINER_CHECKPOINT_CHECKPOINT_PREPARATION_H_
#define TRAINER_CHECKPOINT_CHECKPOINT_PREPARATION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/checkpoint/checkpoint_directory.h"

namespace trainer {

// Result of the slow part of a checkpoint's commit: reading, and perhaps copying, a gigabyte takes
// seconds.
struct PreparedCheckpoint {
  std::optional<CheckpointManifest> manifest;  // Unset: nothing was prepared.
  std::string copy;                            // Temporary checkpoint that was made; empty if none.
};

// Runs such work for one line of a program, or for its start, off the loop's thread, so that other
// trials are answered meanwhile. Ray Tune also copies and uploads checkpoints beside its loop; here
// the program waits meanwhile, so the saved files do not change.
//
// Use it on the loop's thread. If the result was not taken, the destructor removes the copy that
// the work made (`Result::copy`; empty: none), as soon as the work has ended. A committed copy is
// safe, because a commit renames it.
template <typename Result>
class Preparation {
 public:
  // Accesses only files.
  using Work = std::function<absl::StatusOr<Result>()>;
  // Runs `work` on another thread and then `done` on the loop's thread; neither runs before
  // Background returns. At the end of the process either may be dropped.
  using Background = std::function<void(std::function<void()> work, std::function<void()> done)>;

  // Starts the work. Without a Background the work is done when the constructor returns, and `done`
  // is not called.
  Preparation(int attempt, std::int64_t line, Work work, const Background& background,
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
  Preparation(const Preparation&) = delete;
  Preparation& operator=(const Preparation&) = delete;

  bool IsFor(int attempt, std::int64_t line) const { return attempt == attempt_ && line == line_; }
  // Returns the result; null while the work runs.
  const absl::StatusOr<Result>* result() const {
    return state_->is_done ? &state_->result : nullptr;
  }
  // Call it once there is a result. The caller then owns the copy.
  absl::StatusOr<Result> Take() {
    absl::StatusOr<Result> result = std::move(state_->result);
    state_->result = absl::UnavailableError("taken");
    return result;
  }

 private:
  // The work writes it, and the loop's thread reads it after the work has ended.
  struct State {
    ~State() {
      if (result.ok() && !result->copy.empty()) (void)RemoveCheckpoint(result->copy);
    }
    absl::StatusOr<Result> result = absl::UnavailableError("under way");
    bool is_done = false;
  };
  const int attempt_;
  const std::int64_t line_;
  const std::shared_ptr<State> state_;
};

using CheckpointPreparation = Preparation<PreparedCheckpoint>;

}  // namespace trainer

#endif  // TRAINER_CHECKPOINT_CHECKPOINT_PREPARATION_H_

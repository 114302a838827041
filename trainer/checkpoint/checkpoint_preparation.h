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

// The part of a checkpoint's commit that takes long: a gigabyte is read, and perhaps copied, in
// seconds.
struct PreparedCheckpoint {
  std::optional<CheckpointManifest> manifest;  // Unset: nothing was prepared.
  std::string copy;  // The temporary checkpoint that was made; empty: none was.
};

// Such work for one line of a program, or for its start, away from the loop's thread, so that other
// trials are answered meanwhile. Ray Tune copies and uploads checkpoints beside its loop in the
// same way; here the program waits, so what it saved is not changed on the way.
//
// On the loop's thread. A preparation that is destroyed removes the copy that it made
// (`Result::copy`, empty: none), as soon as that is done, unless the result was taken; if the copy
// was committed it does not have that name any more.
template <typename Result>
class Preparation {
 public:
  // Touches nothing but files.
  using Work = std::function<absl::StatusOr<Result>()>;
  // Runs `work` on a thread of its own choice and then `done` on the loop's thread; neither runs
  // before it returns. Either may be dropped, at the end of the process.
  using Background = std::function<void(std::function<void()> work, std::function<void()> done)>;

  // Begins. Without a Background it is done when this returns, and `done` is not called.
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
  // Nothing while it is under way.
  const absl::StatusOr<Result>* result() const {
    return state_->is_done ? &state_->result : nullptr;
  }
  // Once there is one; the copy is the caller's.
  absl::StatusOr<Result> Take() {
    absl::StatusOr<Result> result = std::move(state_->result);
    state_->result = absl::UnavailableError("taken");
    return result;
  }

 private:
  // Written by the work, and read by the loop's thread after that has ended.
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

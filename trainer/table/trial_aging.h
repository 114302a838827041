#ifndef TRAINER_TABLE_TRIAL_AGING_H_
#define TRAINER_TABLE_TRIAL_AGING_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "absl/time/time.h"
#include "runtime/event_loop.h"
#include "runtime/timer.h"
#include "trainer/table/trial_files.h"
#include "trainer/table/trial_news.h"
#include "trainer/table/trial_removals.h"
#include "trainer/table/trial_saves.h"
#include "trainer/table/trial_table.h"
#include "trainer/table/trial_view.h"

namespace trainer {

// Reduces the memory of ended trials in steps: soon after its end, or after it was recalled, a
// trial is put aside (trial_table.h); the oldest trials beyond the limit are forgotten
// (trial_removals.h). A trial stays at hand while its record or its files are behind, or while one
// of its checkpoints is being saved. Use it on the loop's thread, which it may block for the disk,
// but not from inside a callback of a ProgramRunner, because a runner is destroyed with its trial.
class TrialAging {
 public:
  // How long an ended trial stays at hand after its end and after each recall. (A trial at hand
  // takes 8 kB; if a thousand end in a second, they must not dominate memory.)
  static constexpr absl::Duration kAtHand = absl::Milliseconds(200);
  // With more ended trials than this at hand, the next end does not wait for that time.
  static constexpr std::uint64_t kMostAtHand = 16;

  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned, nor are the six below; all outlive this.
    TrialTable* table = nullptr;
    const TrialView* view = nullptr;
    TrialNews* news = nullptr;
    const TrialFiles* files = nullptr;
    const TrialSaves* saves = nullptr;
    TrialRemovals* removals = nullptr;
    std::size_t keep = 0;                 // Most ended trials that are kept.
    std::function<std::uint64_t()> live;  // Returns how many trials have not ended.
    std::function<void()> on_store_error;
  };
  explicit TrialAging(Options options) : options_(std::move(options)) {}

  // A trial has just ended: it is put aside after kAtHand, or sooner if more than kMostAtHand ended
  // trials are at hand.
  void OnEnded();
  // An ended trial is at hand again, or a trial no longer needs another one: both steps run soon.
  void Soon();
  // Forgets the oldest ended trials beyond `keep`, unless a record waits to be stored. An error is
  // logged, and the next call retries.
  void ForgetOldest();

 private:
  void RunAfter(absl::Duration delay);
  void PutAside();

  const Options options_;
  runtime::Timer timer_;
};

}  // namespace trainer

#endif  // TRAINER_TABLE_TRIAL_AGING_H_

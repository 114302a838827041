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

// Lets ended trials take less and less memory: soon after its end, and as soon after it was
// recalled, a trial is put aside (trial_table.h); the oldest of too many are forgotten
// (trial_removals.h). A trial stays at hand while its record or its files are behind, or while one
// of its checkpoints is being saved. On the loop's thread, which it may block for the disk; not
// from inside a callback of a ProgramRunner, which goes with its trial.
class TrialAging {
 public:
  // An ended trial stays at hand for so long after its end, and after each recall. (Whole it is 8
  // kB: of a thousand that end in a second these should not be the most of all memory.)
  static constexpr absl::Duration kAtHand = absl::Milliseconds(200);
  // While more ended trials than these are at hand, the next end does not wait for that.
  static constexpr std::uint64_t kMostAtHand = 16;

  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned, nor are the six below; all outlive this.
    TrialTable* table = nullptr;
    const TrialView* view = nullptr;
    TrialNews* news = nullptr;
    const TrialFiles* files = nullptr;
    const TrialSaves* saves = nullptr;
    TrialRemovals* removals = nullptr;
    std::size_t keep = 0;                 // Ended trials that are known.
    std::function<std::uint64_t()> live;  // How many trials have not ended.
    std::function<void()> on_store_error;
  };
  explicit TrialAging(Options options) : options_(std::move(options)) {}

  // A trial has ended, just now: it is put aside soon.
  void OnEnded();
  // A trial that has ended is at hand again, or a trial needs another one no more: both kinds of
  // aging go on soon.
  void Soon();
  // Forgets the oldest ended trials beyond `keep`, unless a record waits for the store. An error is
  // logged; they are tried again the next time.
  void ForgetOldest();

 private:
  void RunAfter(absl::Duration delay);
  void PutAside();

  const Options options_;
  runtime::Timer timer_;
};

}  // namespace trainer

#endif  // TRAINER_TABLE_TRIAL_AGING_H_

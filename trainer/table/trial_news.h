#ifndef TRAINER_TABLE_TRIAL_NEWS_H_
#define TRAINER_TABLE_TRIAL_NEWS_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bus/schema/trainer_generated.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"
#include "runtime/timer.h"
#include "trainer/report/result_row.h"
#include "trainer/table/trial_table.h"
#include "trainer/table/trial_view.h"
#include "trainer/trial/trial.h"

namespace trainer {

// Passes on reports and changes of state once they are stored: to the files of the run, to the
// service's topics, and to the trial's observers. Rows are announced in order, and before any later
// change of state. Use it on the loop's thread; blocks for the disk of the runs.
class TrialNews {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned, nor are the three below; all outlive this.
    runtime::Clock* clock = nullptr;
    TrialTable* table = nullptr;
    const TrialView* view = nullptr;
    // As in Trials::Options, like the next.
    absl::Duration spread_every;
    std::function<void(msg::TrialEventT)> on_event;
    std::function<void(const TrialRecord& record)> on_changed = {};  // Called on a change of state.
  };
  explicit TrialNews(Options options) : options_(std::move(options)) {}
  // Writes the rows that the files lack, without announcing them.
  ~TrialNews();
  TrialNews(const TrialNews&) = delete;
  TrialNews& operator=(const TrialNews&) = delete;

  // Announces the trial's change of state to everybody, at once.
  void Announce(Trial& trial);
  // Writes and announces its fresh rows. An error is logged: the files are repaired before the next
  // line is answered.
  absl::Status Spread(Trial& trial);
  // Does so at once unless the trial reports often; in that case no answer waits for it.
  absl::Status SpreadSoon(Trial& trial);
  // The trial is put aside or removed; its fresh rows are not announced.
  void Drop(std::int64_t trial) { due_.erase(trial); }

  // See Trials::Observe() and Trials::Forget().
  using Changed = std::function<void(const ResultRow* row)>;
  std::uint64_t Observe(const std::string& id, Changed changed);
  void Forget(std::uint64_t observer) { observers_.erase(observer); }

 private:
  struct Observer {
    std::string id;
    Changed changed;
  };
  void SpreadOneByOne(std::deque<std::int64_t> due);
  void AnnounceRows(const Trial& trial, const std::vector<ResultRow>& rows);
  std::vector<Changed> ObserversOf(const Trial& trial) const;

  const Options options_;
  std::set<std::int64_t> due_;  // Trials with fresh rows, which the timer writes.
  runtime::Timer timer_;
  std::map<std::uint64_t, Observer> observers_;
  std::uint64_t last_observer_ = 0;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace trainer

#endif  // TRAINER_TABLE_TRIAL_NEWS_H_

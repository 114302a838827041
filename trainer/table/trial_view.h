#ifndef TRAINER_TABLE_TRIAL_VIEW_H_
#define TRAINER_TABLE_TRIAL_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bus/schema/trainer_generated.h"
#include "trainer/attempt/room_waits.h"
#include "trainer/attempt/start_holds.h"
#include "trainer/attempt/trial_resources.h"
#include "trainer/table/trial_table.h"
#include "trainer/trial/trial.h"

namespace trainer {

// Makes the messages that show trials, with the reason why each one waits: for room on a disk, its
// start time, resources behind another trial, or a slot. Changes nothing. Use it on the loop's
// thread.
class TrialView {
 public:
  struct Options {
    const TrialTable* table = nullptr;  // Not owned, nor are the next two; all outlive this.
    const RoomWaits* room_waits = nullptr;
    const StartHolds* holds = nullptr;
    std::function<std::size_t()> slots;
    std::function<std::size_t()> used_slots;
    // Returns why a trial waits for trials that must come first; empty if it does not. Optional.
    std::function<std::string(const Trial&)> why_after = {};
  };
  explicit TrialView(Options options) : options_(std::move(options)) {}

  // Everything except why it waits for its turn.
  msg::TrialT Whole(const Trial& trial) const;
  // Without the parts that may be large.
  msg::TrialT Brief(const Trial& trial) const;
  msg::TrialT Shown(const Trial& trial) const;
  // See Trials::List().
  std::vector<msg::TrialT> List(bool live_only, std::size_t newest_ended) const;

  AwaitedResources Awaited() const;

 private:
  // Number of trials that start before each waiting trial.
  using Places = std::map<std::int64_t, std::size_t>;

  msg::TrialT WithRoom(const Trial& trial, msg::TrialT message) const;
  msg::TrialT Shown(const Trial& trial, const Places& places,
                    const AwaitedResources& awaited) const;
  Places AllPlaces() const;
  std::string WhyAfter(const Trial& trial) const;

  const Options options_;
};

}  // namespace trainer

#endif  // TRAINER_TABLE_TRIAL_VIEW_H_

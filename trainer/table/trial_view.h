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

// Makes the messages as which trials are shown, with why each waits: for room on a disk, for
// its time, for resources behind another trial, or for a slot. Changes nothing. On the loop's
// thread.
class TrialView {
 public:
  struct Options {
    const TrialTable* table = nullptr;  // Not owned, as the next two; all outlive it.
    const RoomWaits* room_waits = nullptr;
    const StartHolds* holds = nullptr;
    std::function<std::size_t()> slots;
    std::function<std::size_t()> used_slots;
    // Why a trial waits for others, which must come first; empty: it waits for none. Optional.
    std::function<std::string(const Trial&)> why_after = {};
  };
  explicit TrialView(Options options) : options_(std::move(options)) {}

  // But for why it waits for its turn.
  msg::TrialT Whole(const Trial& trial) const;
  // Without what may be large.
  msg::TrialT Brief(const Trial& trial) const;
  msg::TrialT Shown(const Trial& trial) const;
  // As Trials::List().
  std::vector<msg::TrialT> List(bool live_only, std::size_t newest_ended) const;

  AwaitedResources Awaited() const;

 private:
  // How many start before each of those that wait for their turn.
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

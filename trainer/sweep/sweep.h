#ifndef TRAINER_SWEEP_SWEEP_H_
#define TRAINER_SWEEP_SWEEP_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "bus/schema/trainer_generated.h"
#include "trainer/store/sweep_rows.h"
#include "trainer/store/trial_store.h"
#include "tuning/engine/engine.h"
#include "tuning/engine/engine_event.h"

namespace trainer {

// One loaded sweep: its engine, and the facts about its trials that the engine does not track.
// Applied events are added to a batch. If the batch cannot be written, the sweep is ahead of the
// store and must be loaded again. Use it on the loop's thread.
class Sweep {
 public:
  // Facts about a trial that the engine does not track.
  struct TrialFacts {
    std::string id;  // Empty if it was never started.
    std::int64_t started_us = 0, ended_us = 0;
    std::int64_t changed = 0;  // The seq of the last event that changed it.
  };

  // Begins a new sweep; `events` receives its first events, which are not stored yet.
  static absl::StatusOr<std::unique_ptr<Sweep>> Begin(const SweepRecord& record,
                                                      std::int64_t now_us,
                                                      std::vector<SweepEventRow>& events);
  // Restores a sweep from its stored events.
  static absl::StatusOr<std::unique_ptr<Sweep>> Load(const SweepRecord& record, TrialStore& store);

  // Adds the event to `batch` if it changed anything. `plan_json` is set for kChange.
  tuning::Engine::Outcome Apply(tuning::EngineEvent event, std::int64_t now_us, StoreBatch& batch,
                                const std::string& plan_json = "",
                                const std::string& request_id = "");

  const tuning::Engine& engine() const { return engine_; }
  const TrialFacts& facts(std::uint64_t trial) const { return facts_[trial]; }
  std::int64_t events() const { return events_; }
  const std::string& method() const { return method_; }
  // The plan of the latest request.
  const std::string& plan_json() const { return plan_json_; }
  const std::string& source() const { return source_; }
  // Returns true if a call with that request id was applied.
  bool HasRequest(const std::string& request_id) const { return requests_.contains(request_id); }
  // Returns the engine's last notice while it is valid: the result of a change until the next
  // suggestion, other notices until the sweep is changed or resumed. Empty without a valid notice.
  const std::string& notice() const { return notice_; }

 private:
  Sweep(const SweepRecord& record, tuning::Engine engine);
  void Note(const SweepEventRow& row, const tuning::Engine::Outcome& outcome);

  const std::int64_t number_;
  std::string method_, plan_json_, source_;
  tuning::Engine engine_;
  std::vector<TrialFacts> facts_;
  std::int64_t events_ = 0;
  std::set<std::string> requests_;
  std::string notice_;
  bool notice_is_of_change_ = false;
};

}  // namespace trainer

#endif  // TRAINER_SWEEP_SWEEP_H_

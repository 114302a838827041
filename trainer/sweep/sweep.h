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
#include "tuning/engine/event.h"

namespace trainer {

// One sweep at hand: its engine, and what the engine does not know of its trials. Events that are
// applied go into a batch. If the batch cannot be written, the sweep is ahead of the store, and has
// to be loaded again. On the loop's thread.
class Sweep {
 public:
  // The facts of a trial that the engine does not know.
  struct TrialFacts {
    std::string id;  // Empty: it was never started.
    std::int64_t started_us = 0, ended_us = 0;
    std::int64_t changed = 0;  // By the event of this seq.
  };

  // A new one, with the events that it begins with (not stored yet).
  static absl::StatusOr<std::unique_ptr<Sweep>> Begin(const SweepRecord& record,
                                                      std::int64_t now_us,
                                                      std::vector<SweepEventRow>& events);
  // From its stored events.
  static absl::StatusOr<std::unique_ptr<Sweep>> Load(const SweepRecord& record, TrialStore& store);

  // The event is in `batch` if it changed something. `plan_json`: of kChange.
  tuning::Engine::Outcome Apply(tuning::EngineEvent event, std::int64_t now_us, StoreBatch& batch,
                                const std::string& plan_json = "",
                                const std::string& request_id = "");

  const tuning::Engine& engine() const { return engine_; }
  const TrialFacts& facts(std::uint64_t trial) const { return facts_[trial]; }
  std::int64_t events() const { return events_; }
  const std::string& method() const { return method_; }
  // As it was asked for last.
  const std::string& plan_json() const { return plan_json_; }
  const std::string& source() const { return source_; }
  // A call with that id has done its work.
  bool HasRequest(const std::string& request_id) const { return requests_.contains(request_id); }
  // The engine's last notice, as long as it holds: the result of a change until the next
  // suggestion, others until the sweep is changed or resumed. Empty: none.
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

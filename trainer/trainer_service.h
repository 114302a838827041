#ifndef TRAINER_TRAINER_SERVICE_H_
#define TRAINER_TRAINER_SERVICE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "bus/process/service_process.h"
#include "trainer/alert/trial_rules.h"
#include "trainer/attempt/start_holds.h"

namespace trainer {

// All parts of the trainer in a service process: its store, the trials, the report channel, the
// methods. Create it before the process's Run(), destroy it after; `process` is not owned.
class TrainerService {
 public:
  struct Options {
    std::string logdir;        // Absolute.
    int slots = 0;             // 0: one for each core.
    int keep_trials = 10'000;  // Ended ones that are known; at least 1.
    MinFree min_free = {};     // As in Trials::Options.
    TrialRules::Settings alerts = {};
  };
  // Loads STATE/trainer.db, repairs files, and listens on RUNTIME/trainer-relay. Trials that were
  // under way go on once the loop runs.
  static absl::StatusOr<std::unique_ptr<TrainerService>> Create(bus::ServiceProcess* process,
                                                                Options options);
  virtual ~TrainerService() = default;
};

}  // namespace trainer

#endif  // TRAINER_TRAINER_SERVICE_H_

#ifndef TRAINER_TRAINER_SERVICE_H_
#define TRAINER_TRAINER_SERVICE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "bus/process/service_process.h"
#include "trainer/alert/trial_rules.h"
#include "trainer/attempt/start_holds.h"

namespace trainer {

// All parts of the trainer in a service process: its store, the trials, the report channel and the
// methods. Create it before the process's Run() and destroy it afterwards. `process` is not owned.
class TrainerService {
 public:
  struct Options {
    std::string logdir;        // Absolute.
    int slots = 0;             // 0 means one for each core.
    int keep_trials = 10'000;  // Ended trials that are kept; at least 1.
    MinFree min_free = {};     // As in Trials::Options.
    TrialRules::Settings alerts = {};
  };
  // Opens STATE/trainer.db, repairs files, and listens on RUNTIME/trainer-relay. Trials that were
  // running continue once the loop runs.
  static absl::StatusOr<std::unique_ptr<TrainerService>> Create(bus::ServiceProcess* process,
                                                                Options options);
  virtual ~TrainerService() = default;
};

}  // namespace trainer

#endif  // TRAINER_TRAINER_SERVICE_H_

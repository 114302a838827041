#ifndef TRAINER_STORE_ALERT_SOURCE_H_
#define TRAINER_STORE_ALERT_SOURCE_H_

#include <vector>

#include "bus/alert/alert_rows.h"
#include "bus/schema/common_generated.h"
#include "trainer/store/trial_record.h"

namespace trainer {

struct StoreBatch;

// Decides which alerts follow from a batch of the store, so that both are stored in one
// transaction: if a trainer is killed at any instant, an alert exists if and only if its cause is
// stored. An interface, so that the store need not know the rules. Called on the store's thread;
// must not call the store.
class AlertSource {
 public:
  virtual ~AlertSource() = default;
  // A trial that has not ended exists from now on: it is new, or was loaded at the start.
  virtual void Know(const TrialRecord& trial) = 0;
  virtual std::vector<bus::NewAlert> AlertsOf(const StoreBatch& batch) = 0;
  // Called when the batch is stored together with these alerts, all of which are new.
  virtual void Stored(const StoreBatch& batch, const std::vector<msg::AlertT>& alerts) = 0;
};

}  // namespace trainer

#endif  // TRAINER_STORE_ALERT_SOURCE_H_

#ifndef TRAINER_STORE_ALERT_SOURCE_H_
#define TRAINER_STORE_ALERT_SOURCE_H_

#include <vector>

#include "bus/alert/alert_rows.h"
#include "bus/schema/common_generated.h"
#include "trainer/store/trial_record.h"

namespace trainer {

struct StoreBatch;

// Says which alerts follow from what the store writes, so that both are stored in one transaction:
// a trainer that is killed at any instant has raised an alert if and only if its condition stands.
// On the store's thread; it calls no method of the store.
class AlertSource {
 public:
  virtual ~AlertSource() = default;
  // A trial that has not ended is there from now on: it is new, or was read at the start.
  virtual void Know(const TrialRecord& trial) = 0;
  virtual std::vector<bus::NewAlert> AlertsOf(const StoreBatch& batch) = 0;
  // The batch is stored, and with it these alerts, none of which was there before.
  virtual void Stored(const StoreBatch& batch, const std::vector<msg::AlertT>& alerts) = 0;
};

}  // namespace trainer

#endif  // TRAINER_STORE_ALERT_SOURCE_H_

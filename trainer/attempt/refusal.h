#ifndef TRAINER_ATTEMPT_REFUSAL_H_
#define TRAINER_ATTEMPT_REFUSAL_H_

#include "absl/status/status.h"

namespace trainer {

// Returns true if the launcher, the store or the disk refuses only for now (no room, or not
// reachable), so that the same request may succeed later. Any thread.
inline bool MayTryAgain(const absl::Status& status) {
  return absl::IsResourceExhausted(status) || absl::IsUnavailable(status);
}

}  // namespace trainer

#endif  // TRAINER_ATTEMPT_REFUSAL_H_

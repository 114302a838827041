#ifndef TRAINER_FUNCTION_FUNCTION_FAILURE_H_
#define TRAINER_FUNCTION_FUNCTION_FAILURE_H_

#include "absl/status/status.h"

namespace trainer {

// The exception of a user's code that is being handled, as an error: ResourceExhausted for
// std::bad_alloc, else Unknown with its text, or its type if it is no std::exception (at most 4 KiB
// of UTF-8). To be called in catch (...), behind a catch (const abi::__forced_unwind&) that throws
// again: so a thread is cancelled, which is no exception.
absl::Status CurrentFailure();

}  // namespace trainer

#endif  // TRAINER_FUNCTION_FUNCTION_FAILURE_H_

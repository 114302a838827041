#ifndef TRAINER_FUNCTION_FUNCTION_FAILURE_H_
#define TRAINER_FUNCTION_FUNCTION_FAILURE_H_

#include "absl/status/status.h"

namespace trainer {

// Converts the exception that is being handled to an error: ResourceExhausted for std::bad_alloc,
// otherwise Unknown with the exception's text, or with its type if it is no std::exception (at most
// 4 KiB of UTF-8). Call it in catch (...), after a catch (const abi::__forced_unwind&) that
// rethrows: that is how a thread is cancelled, and it is not a failure.
absl::Status CurrentFailure();

}  // namespace trainer

#endif  // TRAINER_FUNCTION_FUNCTION_FAILURE_H_

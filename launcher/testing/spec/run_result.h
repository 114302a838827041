#ifndef LAUNCHER_TESTING_SPEC_RUN_RESULT_H_
#define LAUNCHER_TESTING_SPEC_RUN_RESULT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "launcher/testing/spec/codec.h"

namespace launcher::testing {

// The end of one process of a task.
struct EndedProcess {
  std::string task;      // "worker-0"
  int attempt = 0;       // Counted from 1.
  std::string how;       // "exit code 3", "signal 11 (Segmentation fault)"
  absl::Status status;   // The status that its function has returned.
  bool stopped = false;  // True if the runner has ended it, for Terminate() and the like.
};

// The result of a run, which may be partial.
struct RunResult {
  struct Return {
    std::string task;
    EncodedValue value;
  };
  // One for each task whose function has returned a value, in the order of arrival; for a pool in
  // the order of the tasks. A task that has run more than once has the value that it returned last.
  std::vector<Return> returns;
  // With return_output: the lines that the tasks have written, each with its prefix and newline.
  std::vector<std::string> lines;
  std::uint64_t lines_dropped = 0;  // Number of lines beyond the limit of return_output.
  std::vector<EndedProcess> attempts;
  // Notes for the user: "worker-0 has ended, but process 77 (sleep) holds its output open".
  std::vector<std::string> notes;

  // Returns all returned values. InvalidArgument if one of them is not a T.
  template <typename T>
  absl::StatusOr<std::vector<T>> Values() const {
    std::vector<T> values;
    for (const Return& returned : returns) {
      std::optional<T> value = returned.value.As<T>();
      if (!value) {
        return absl::InvalidArgumentError(returned.task + " has returned no " + Codec<T>::Name() +
                                          " but " + returned.value.type);
      }
      values.push_back(*std::move(value));
    }
    return values;
  }
};

enum class RunError {
  kNone,
  kNotInitialized,  // The program has the wrong main() (main.h). FailedPrecondition.
  kWrongCall,       // An invalid call, for which the original raises ValueError.
  kTaskFailed,      // The first error that a function has returned, with its code.
  kUnexpectedExit,  // Aborted.
  kTimeout,         // DeadlineExceeded.
};

// The end of a run. The result is filled as far as possible even after an error.
struct Outcome {
  absl::Status status;
  RunError error = RunError::kNone;
  RunResult result;

  bool ok() const { return status.ok(); }
};

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_SPEC_RUN_RESULT_H_

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

// One process of a task, which has ended.
struct EndedProcess {
  std::string task;      // "worker-0"
  int attempt = 0;       // From 1.
  std::string how;       // "exit code 3", "signal 11 (Segmentation fault)"
  absl::Status status;   // What its function has returned.
  bool stopped = false;  // By the runner: for Terminate() and the like, never by itself.
};

// The result of a run, or of the part of it that has run.
struct RunResult {
  struct Return {
    std::string task;
    EncodedValue value;
  };
  // One for every task whose function has returned something, in the order of coming; for a pool in
  // the order of the tasks. A task that has run more than once is there with what it returned last.
  std::vector<Return> returns;
  // With return_output: what the tasks have written, each a line with its prefix and its newline.
  std::vector<std::string> lines;
  std::uint64_t lines_dropped = 0;  // Behind the limit of return_output.
  std::vector<EndedProcess> attempts;
  // Notes for a person: "worker-0 has ended, but process 77 (sleep) holds its output open".
  std::vector<std::string> notes;

  // All values that were returned. InvalidArgument if one of them is no T.
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
  kNotInitialized,  // main() is not the right one (main.h). FailedPrecondition.
  kWrongCall,       // The original raises ValueError for such a call.
  kTaskFailed,      // The first error that a function has returned, with its code.
  kUnexpectedExit,  // Aborted.
  kTimeout,         // DeadlineExceeded.
};

// The end of a run, with what there is of a result in any case.
struct Outcome {
  absl::Status status;
  RunError error = RunError::kNone;
  RunResult result;

  bool ok() const { return status.ok(); }
};

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_SPEC_RUN_RESULT_H_

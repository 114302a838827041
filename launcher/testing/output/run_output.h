#ifndef LAUNCHER_TESTING_OUTPUT_RUN_OUTPUT_H_
#define LAUNCHER_TESTING_OUTPUT_RUN_OUTPUT_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "launcher/testing/spec/run_options.h"
#include "launcher/testing/spec/run_result.h"

namespace launcher::testing {

// Passes on the output of a run's tasks: to this process's output, into the result, or both. Not
// thread-safe.
class RunOutput {
 public:
  // Uses the options `stream_output`, `return_output` and `return_output_limit`.
  explicit RunOutput(const RunOptions& options) : options_(options) {}

  // Takes whole lines, each with its newline. With stream_output it may block on the reader of this
  // process's output.
  void Write(bool is_stderr, std::string_view lines);
  void AddNote(const std::string& note);
  // Moves the lines, the number of dropped ones, and the notes since the last call to `result`.
  void MoveTo(RunResult* result);

 private:
  const RunOptions options_;
  RunResult kept_;  // Only the fields that MoveTo() moves are used.
  std::size_t kept_bytes_ = 0;
};

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_OUTPUT_RUN_OUTPUT_H_

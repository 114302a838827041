#ifndef LAUNCHER_TESTING_OUTPUT_RUN_OUTPUT_H_
#define LAUNCHER_TESTING_OUTPUT_RUN_OUTPUT_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "launcher/testing/spec/run_options.h"
#include "launcher/testing/spec/run_result.h"

namespace launcher::testing {

// Where the output of a run's tasks goes: on, into the result, or both. One thread.
class RunOutput {
 public:
  // Uses the options `stream_output`, `return_output` and `return_output_limit`.
  explicit RunOutput(const RunOptions& options) : options_(options) {}

  // Whole lines, each with its newline. With stream_output waits for whoever reads this process's.
  void Write(bool is_stderr, std::string_view lines);
  void AddNote(const std::string& note);
  // Lines, how many were dropped, and notes, since the last time.
  void MoveTo(RunResult* result);

 private:
  const RunOptions options_;
  RunResult kept_;  // Only what MoveTo() moves.
  std::size_t kept_bytes_ = 0;
};

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_OUTPUT_RUN_OUTPUT_H_

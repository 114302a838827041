#ifndef TRAINER_FUNCTION_REPORTER_H_
#define TRAINER_FUNCTION_REPORTER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "trainer/function/named_values.h"

namespace trainer {

class FunctionSession;

// Identifies the trial of a trainable.
struct TrialInfo {
  std::string id;
  std::string name;
  std::string directory;  // The trial's own directory: results and checkpoints.
};

// The checkpoint that a function resumes from.
struct Checkpoint {
  std::string directory;              // Holds the checkpoint's files.
  std::optional<NamedValues> values;  // Set if the checkpoint was saved as values.
};

// Thrown by Report() and SaveCheckpoint() to unwind the function when the trial is to stop. It is
// not a std::exception, so that `catch (const std::exception&)` lets it pass; code that catches
// everything (...) must rethrow it.
class StopTrial final {
 private:
  friend class FunctionSession;
  StopTrial() = default;
};

// A running function's interface to its trial, like the reporter and the session of Ray Tune's
// functions. It lives as long as the function runs; threads that the function starts and joins may
// use it, one at a time.
class Reporter {
 public:
  explicit Reporter(FunctionSession& session) : session_(session) {}
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  // Hands over the next result and returns when the trial's next step begins, so the code after it
  // runs only then. Throws StopTrial if there is no next step; std::invalid_argument for more than
  // 20,000 values or 1 MiB, in memory or as the line of JSON sent to the trainer; std::logic_error
  // if another thread of the function is inside Report().
  void Report(NamedValues values);

  // Saves a checkpoint of the files that `write` creates in an empty directory. It is named after
  // `step` (at least 0) and replaces a checkpoint of that step. It is committed atomically with the
  // next result or at the function's end. An exception from `write` discards the checkpoint and
  // propagates. Throws std::invalid_argument for a negative step, std::runtime_error if the disk
  // refuses it, and std::logic_error for more than 16 checkpoints without a report.
  void SaveCheckpoint(std::int64_t step,
                      const std::function<void(const std::string& directory)>& write);
  // Saves a checkpoint that is a copy of `directory`. Throws std::runtime_error if `directory` is
  // missing or contains links.
  void SaveCheckpoint(std::int64_t step, const std::string& directory);
  // Saves a checkpoint of values, named after the training_iteration of the result that commits it.
  // Throws std::invalid_argument for more than 16 MiB or 20,000 values, or for text that is not
  // UTF-8.
  void SaveCheckpoint(const NamedValues& values);

  // Returns the newest checkpoint: saved by this or an earlier run of the function, or restored.
  // Nullopt if the function started afresh. The directory exists at least until the next report.
  std::optional<Checkpoint> checkpoint() const;
  // Returns the events that were sent to the trial (`yard tell`) and arrived with the answers to
  // its reports since the last call: JSON values in order, each once. Only the newest 1,000 are
  // kept.
  std::vector<std::string> TakeEvents();
  const TrialInfo& trial() const;

 private:
  FunctionSession& session_;
};

// Returns the reporter of the function that runs on this thread; null on other threads and after
// its end.
Reporter* CurrentReporter();

}  // namespace trainer

#endif  // TRAINER_FUNCTION_REPORTER_H_

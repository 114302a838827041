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

// The trial that a trainable is.
struct TrialInfo {
  std::string id;
  std::string name;
  std::string directory;  // Its own: results and checkpoints.
};

// Where a function goes on from.
struct Checkpoint {
  std::string directory;              // With its files.
  std::optional<NamedValues> values;  // Set if the checkpoint was saved as values.
};

// Thrown by Report() and SaveCheckpoint() when the trial is to stop, to unwind the function. It is
// no std::exception, so that `catch (const std::exception&)` lets it pass; code that catches
// everything
// (...) has to throw it again.
class StopTrial final {
 private:
  friend class FunctionSession;
  StopTrial() = default;
};

// The interface to the trial that a running function has, as the reporter and the session of Ray
// Tune's functions. It lives as long as the function runs; threads that the function starts and
// joins may use it, one at a time.
class Reporter {
 public:
  explicit Reporter(FunctionSession& session) : session_(session) {}
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  // Hands over the next result, and returns when the trial's next step begins: what is behind it
  // runs only then. Throws StopTrial if there will be none; std::invalid_argument for more than
  // 20,000 values or 1 MiB, in memory or as the line of JSON that the trainer is sent;
  // std::logic_error if another thread of the function is in here.
  void Report(NamedValues values);

  // A checkpoint of the files that `write` makes in an empty directory, named after `step` (at
  // least 0; one of that step is replaced). It is committed, whole or not at all, with the next
  // result or at the function's end. An exception that `write` throws leaves no checkpoint and goes
  // on to the caller. Throws std::invalid_argument for a negative step, std::runtime_error if the
  // disk refuses it, std::logic_error over 16 checkpoints without a report.
  void SaveCheckpoint(std::int64_t step,
                      const std::function<void(const std::string& directory)>& write);
  // Saves a checkpoint of a copy of `directory`. Throws std::runtime_error if `directory` is
  // missing, or has links in it.
  void SaveCheckpoint(std::int64_t step, const std::string& directory);
  // Saves a checkpoint of values, named after the training_iteration of the result that it is
  // committed with. std::invalid_argument over 16 MiB or 20,000 values, or for a text that is not
  // UTF-8.
  void SaveCheckpoint(const NamedValues& values);

  // The newest checkpoint, saved by this run of the function or one before it, or restored; none if
  // it starts from nothing. Its directory is there at least until the next report.
  std::optional<Checkpoint> checkpoint() const;
  // The events that the trial was told (`yard tell`) with the answers to its reports since the last
  // call: JSON values in their order, each once. Only the newest 1,000 are kept.
  std::vector<std::string> TakeEvents();
  const TrialInfo& trial() const;

 private:
  FunctionSession& session_;
};

// The reporter of the function that runs on this thread; null on any other, and when it has ended.
Reporter* CurrentReporter();

}  // namespace trainer

#endif  // TRAINER_FUNCTION_REPORTER_H_

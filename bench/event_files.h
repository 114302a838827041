#ifndef BENCH_EVENT_FILES_H_
#define BENCH_EVENT_FILES_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace bench {

// Event files as TensorBoard's writers produce them, for measurements: a pure function of the
// options, so that every reader on every machine gets the same bytes. Each event has one scalar.
// The defaults give one run of the data whose figures are in bench/README.md; 20 runs are its
// "old20" and "new20".
struct EventFilesOptions {
  enum class Style {
    kOld,        // `simple_value`, as in TensorFlow 1 and PyTorch: 48.5 bytes a record.
    kNew,        // A float tensor with metadata, as in TensorFlow 2: 70.5 bytes a record.
    kMindSpore,  // MindSpore's summaries: one event for each step, with all tags.
  };
  Style style = Style::kOld;
  int runs = 1;  // One directory with one file for each run.
  int steps = 50'000;
  int tags = 5;
  std::uint32_t seed = 7;  // For the values, uniform in [0, 1).
  int spike = -1;          // Step at which all values are kSpike.
  static constexpr float kSpike = 1'000;
};

struct EventFilesWritten {
  std::uint64_t records = 0;  // Includes each file's first record, its version.
  std::uint64_t points = 0;
  std::uint64_t bytes = 0;
};

// Writes DIRECTORY/run_000/events.out.tfevents.1700000000.host0.1000.0 and so on (for MindSpore
// run_000/bench.out.events.summary.1700000000.host0). Creates the directory if it is missing, and
// replaces existing files.
absl::StatusOr<EventFilesWritten> WriteEventFiles(const std::string& directory,
                                                  const EventFilesOptions& options);

// Returns the path of a run's file, relative to the directory.
std::string EventFilePath(int run, EventFilesOptions::Style style);

// Returns "train/loss", "train/accuracy", "eval/loss", "lr", "grad/norm", then the same with the
// suffix "/1", and so on.
std::string EventFileTag(int number);

}  // namespace bench

#endif  // BENCH_EVENT_FILES_H_

#ifndef BENCH_EVENT_FILES_H_
#define BENCH_EVENT_FILES_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace bench {

// Event files as TensorBoard's writers make them, for measurements: a pure function of the options,
// so that every reader on every machine gets the same bytes. One event a scalar. With the defaults
// it is a run of the data whose figures are in bench/README.md; 20 of them are "old20" and "new20".
struct EventFilesOptions {
  enum class Style {
    kOld,  // `simple_value`, as TensorFlow 1 and PyTorch write it: 48.5 bytes a record.
    kNew,  // A float tensor and metadata with each, as TensorFlow 2 does: 70.5 bytes a record.
    kMindSpore,  // Its summaries: one event a step, with all tags.
  };
  Style style = Style::kOld;
  int runs = 1;  // Each a directory with one file.
  int steps = 50'000;
  int tags = 5;
  std::uint32_t seed = 7;  // Seed of the values, uniform in [0, 1).
  int spike = -1;          // At this step all values are kSpike.
  static constexpr float kSpike = 1'000;
};

struct EventFilesWritten {
  std::uint64_t records = 0;  // The first of each file included, which holds its version.
  std::uint64_t points = 0;
  std::uint64_t bytes = 0;
};

// Writes DIRECTORY/run_000/events.out.tfevents.1700000000.host0.1000.0 and so on (MindSpore's:
// run_000/bench.out.events.summary.1700000000.host0). The directory is made if it is missing; files
// that are there already are written anew.
absl::StatusOr<EventFilesWritten> WriteEventFiles(const std::string& directory,
                                                  const EventFilesOptions& options);

// The file of a run, below the directory.
std::string EventFilePath(int run, EventFilesOptions::Style style);

// "train/loss", "train/accuracy", "eval/loss", "lr", "grad/norm", then the same with "/1" behind
// them, and so on.
std::string EventFileTag(int number);

}  // namespace bench

#endif  // BENCH_EVENT_FILES_H_

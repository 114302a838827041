#ifndef TRAINER_RESULT_ROW_H_
#define TRAINER_RESULT_ROW_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace trainer {

// The files in a run's directory that grow with every report.
enum ResultFile : std::size_t { kResultJson, kProgressCsv, kEventFile };
inline constexpr std::size_t kResultFiles = 3;

// A size or offset in each of them, bytes.
using FileEnds = std::array<std::int64_t, kResultFiles>;

// One acknowledged report, with all that is needed to write it into the files again, byte by byte.
struct ResultRow {
  std::int64_t row = 0;  // Counts from 1 for each trial.
  int attempt = 1;
  std::int64_t wall_time_us = 0;
  std::int64_t utc_offset_s = 0;        // Of the local time then.
  std::int64_t training_iteration = 0;  // Counts from 1 for each attempt that starts from nothing.
  std::int64_t step = 0;
  std::int64_t time_this_iter_us = 0;
  std::int64_t time_total_us = 0;
  bool done = false;
  std::string metrics;  // Compact JSON object, as reported.
  FileEnds ends = {};   // Where each file ends once this row is in it.
};

}  // namespace trainer

#endif  // TRAINER_RESULT_ROW_H_

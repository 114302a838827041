#ifndef TRAINER_REPORT_RESULT_ROW_H_
#define TRAINER_REPORT_RESULT_ROW_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace trainer {

// The files in a run's directory that grow with every report.
enum ResultFile : std::size_t { kResultJson, kProgressCsv, kEventFile };
inline constexpr std::size_t kResultFiles = 3;

// A size or offset in each file, in bytes.
using FileEnds = std::array<std::int64_t, kResultFiles>;

// One acknowledged report, with everything that is needed to write it to the files again, byte for
// byte.
struct ResultRow {
  std::int64_t row = 0;  // Counts from 1 for each trial.
  int attempt = 1;
  std::int64_t wall_time_us = 0;
  std::int64_t utc_offset_s = 0;        // Local time minus UTC at that time.
  std::int64_t training_iteration = 0;  // Counts from 1 in each attempt without a checkpoint.
  std::int64_t step = 0;
  std::int64_t time_this_iter_us = 0;
  std::int64_t time_total_us = 0;
  bool done = false;
  std::string metrics;  // Compact JSON object, as reported.
  FileEnds ends = {};   // Where each file ends after this row.

  // Totals of the attempt: its reports, their time, and their timesteps. The first is 0 in a row of
  // an older version, which lacks these fields; such a row is written without them.
  std::int64_t iterations_since_restore = 0;
  std::int64_t time_since_restore_us = 0;
  std::int64_t timesteps_since_restore = 0;
  std::int64_t timesteps_total = -1;  // -1, also below: not reported yet.
  std::int64_t episodes_total = -1;
  std::int64_t pid = 0;  // As reported by the program; 0: not reported.
  // Arrival time on the monotonic clock. -1 in a row of an older version; such a row is written
  // without the step, and with 32-bit numbers.
  std::int64_t monotonic_us = -1;
};

// Columns that progress.csv gets at a row, after those that it had before.
struct CsvWidening {
  std::int64_t row = 0;
  std::vector<std::string> columns;
};

}  // namespace trainer

#endif  // TRAINER_REPORT_RESULT_ROW_H_

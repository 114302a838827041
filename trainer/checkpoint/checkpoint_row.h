#ifndef TRAINER_CHECKPOINT_CHECKPOINT_ROW_H_
#define TRAINER_CHECKPOINT_CHECKPOINT_ROW_H_

#include <cstdint>
#include <optional>
#include <string>

namespace trainer {

// One committed checkpoint of a trial, as it is kept.
struct CheckpointRow {
  std::int64_t trial = 0;   // TrialRecord::number.
  std::int64_t number = 0;  // Grows with each checkpoint of the trial; 0: none.
  int attempt = 0;
  std::string name;  // Name of its directory in the run's; no two of a trial have the same.
  std::int64_t iteration = 0;  // training_iteration it stands for.
  std::int64_t time_total_us = 0;
  std::int64_t wall_time_us = 0;
  std::int64_t bytes = 0;
  std::optional<double> score;  // By the trial's metric; unset without a value.
  std::int64_t step = -1;       // As the program said when it began it; -1: it did not.
  // The row of the report that it belongs to; 0: none, or not known.
  std::int64_t report = 0;
  // Saved since the last report: the next one decides to which it belongs.
  bool pending = false;
  // Its attempt saves before it reports.
  bool saves_first = false;
};

}  // namespace trainer

#endif  // TRAINER_CHECKPOINT_CHECKPOINT_ROW_H_

#ifndef TRAINER_CHECKPOINT_CHECKPOINT_ROW_H_
#define TRAINER_CHECKPOINT_CHECKPOINT_ROW_H_

#include <cstdint>
#include <optional>
#include <string>

namespace trainer {

// One committed checkpoint of a trial, as stored.
struct CheckpointRow {
  std::int64_t trial = 0;   // TrialRecord::number.
  std::int64_t number = 0;  // Grows with each checkpoint of the trial; 0: none.
  int attempt = 0;
  std::string name;            // Its directory in the run's directory; unique in the trial.
  std::int64_t iteration = 0;  // The training_iteration that it belongs to.
  std::int64_t time_total_us = 0;
  std::int64_t wall_time_us = 0;
  std::int64_t bytes = 0;
  std::optional<double> score;  // Value of the trial's metric, if it has one.
  std::int64_t step = -1;       // The program's number for it; -1: the program gave none.
  // Row of the report that it belongs to; 0: none, or unknown.
  std::int64_t report = 0;
  // Saved after the last report: the next report decides which of the two it belongs to.
  bool pending = false;
  // True if its attempt saves before it reports.
  bool saves_first = false;
};

}  // namespace trainer

#endif  // TRAINER_CHECKPOINT_CHECKPOINT_ROW_H_

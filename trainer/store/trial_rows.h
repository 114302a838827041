#ifndef TRAINER_STORE_TRIAL_ROWS_H_
#define TRAINER_STORE_TRIAL_ROWS_H_

#include <SQLiteCpp/SQLiteCpp.h>

#include <string>

#include "bus/schema/trainer_generated.h"
#include "trainer/checkpoint/checkpoint_row.h"
#include "trainer/report/result_row.h"
#include "trainer/store/trial_record.h"

namespace trainer {

// Rows of trainer.db as structs: the columns of each query, and the functions that read a result
// row. They throw as SQLiteCpp does.

// Columns in the order in which ReadTrial() reads them.
inline constexpr char kTrialColumns[] =
    "number, id, request_id, experiment_id, hostname, created_us, event_file, "
    "name, argv, environment, working_directory, run_directory, config, max_restarts, "
    "seed, spec_stop_grace_ms, state, attempt, nonce, job_request_id, launching, job, "
    "started_us, attempt_began_us, ended_us, stop_requested, stop_grace_ms, failure, "
    "reason, error_lines, trace, options, pause_requested, start_checkpoint, "
    "start_iteration, start_time_total_us, expelled, criterion, earlier_attempts_us, "
    "failures, earlier_metrics";
inline constexpr char kSelectRow[] =
    "SELECT row, attempt, wall_time_us, utc_offset_s, training_iteration, step, "
    "time_this_iter_us, time_total_us, done, metrics, result_json_end, progress_csv_end, "
    "event_file_end, iterations_since_restore, time_since_restore_us, "
    "timesteps_since_restore, timesteps_total, episodes_total, pid, monotonic_us FROM "
    "reports ";
inline constexpr char kSelectCheckpoint[] =
    "SELECT trial, number, attempt, name, iteration, time_total_us, wall_time_us, bytes, "
    "score, step, report, pending, saves_first FROM checkpoints ";

TrialRecord ReadTrial(SQLite::Statement& statement);
ResultRow ReadRow(SQLite::Statement& statement);
CheckpointRow ReadCheckpoint(SQLite::Statement& statement);

// Encodes a trial's options as a message, which is verified when it is decoded.
std::string PackOptions(const msg::TrialOptionsT& options);
// Returns default options for a trial that is older than they are, and for damaged bytes.
msg::TrialOptionsT UnpackOptions(const std::string& bytes);

}  // namespace trainer

#endif  // TRAINER_STORE_TRIAL_ROWS_H_

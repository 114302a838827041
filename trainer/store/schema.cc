#include "trainer/store/schema.h"

#include "absl/strings/str_cat.h"
#include "bus/alert/alert_rows.h"
#include "trainer/store/recent_reports.h"
#include "trainer/store/sweep_rows.h"

namespace trainer {
namespace {

// Tables added by version 3. A delivered event records the attempt and the line that it was sent
// with.
constexpr char kTablesSince3[] = R"sql(
  CREATE TABLE events (
    trial INTEGER NOT NULL, number INTEGER NOT NULL, attempt INTEGER NOT NULL,
    line INTEGER NOT NULL, request_id TEXT NOT NULL UNIQUE, text TEXT NOT NULL,
    PRIMARY KEY (trial, number)) WITHOUT ROWID;
  CREATE TABLE removals (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL, name TEXT NOT NULL,
    request_id TEXT NOT NULL UNIQUE, run_directory TEXT NOT NULL, moved INTEGER NOT NULL);
)sql";

// `reports` and `lines` are clustered by their keys: the rows of a trial are adjacent, and no row
// can be written twice. New rows reach them through `recent`.
constexpr char kSchema[] = R"sql(
  CREATE TABLE trials (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, request_id TEXT NOT NULL UNIQUE,
    experiment_id TEXT NOT NULL, hostname TEXT NOT NULL, created_us INTEGER NOT NULL,
    event_file TEXT NOT NULL,
    name TEXT NOT NULL, argv BLOB NOT NULL, environment BLOB NOT NULL,
    working_directory TEXT NOT NULL, run_directory TEXT NOT NULL, config TEXT NOT NULL,
    max_restarts INTEGER NOT NULL, seed INTEGER NOT NULL, spec_stop_grace_ms INTEGER NOT NULL,
    state INTEGER NOT NULL, attempt INTEGER NOT NULL, nonce TEXT NOT NULL,
    job_request_id TEXT NOT NULL, launching INTEGER NOT NULL, job TEXT NOT NULL,
    started_us INTEGER NOT NULL, attempt_began_us INTEGER NOT NULL, ended_us INTEGER NOT NULL,
    stop_requested INTEGER NOT NULL, stop_grace_ms INTEGER NOT NULL, failure TEXT NOT NULL,
    reason TEXT NOT NULL, error_lines BLOB NOT NULL, trace TEXT NOT NULL,
    options BLOB NOT NULL, pause_requested INTEGER NOT NULL,
    start_checkpoint TEXT NOT NULL, start_iteration INTEGER NOT NULL,
    start_time_total_us INTEGER NOT NULL,
    expelled INTEGER NOT NULL, criterion TEXT NOT NULL, earlier_attempts_us INTEGER NOT NULL,
    failures INTEGER NOT NULL, earlier_metrics TEXT NOT NULL);
  CREATE TABLE reports (
    trial INTEGER NOT NULL, row INTEGER NOT NULL, attempt INTEGER NOT NULL,
    wall_time_us INTEGER NOT NULL, utc_offset_s INTEGER NOT NULL,
    training_iteration INTEGER NOT NULL, step INTEGER NOT NULL,
    time_this_iter_us INTEGER NOT NULL, time_total_us INTEGER NOT NULL, done INTEGER NOT NULL,
    metrics TEXT NOT NULL,
    result_json_end INTEGER NOT NULL, progress_csv_end INTEGER NOT NULL,
    event_file_end INTEGER NOT NULL,
    iterations_since_restore INTEGER NOT NULL, time_since_restore_us INTEGER NOT NULL,
    timesteps_since_restore INTEGER NOT NULL, timesteps_total INTEGER NOT NULL,
    episodes_total INTEGER NOT NULL, pid INTEGER NOT NULL, monotonic_us INTEGER NOT NULL,
    PRIMARY KEY (trial, row)) WITHOUT ROWID;
  CREATE TABLE csv_columns (
    trial INTEGER NOT NULL, row INTEGER NOT NULL, place INTEGER NOT NULL, name TEXT NOT NULL,
    PRIMARY KEY (trial, row, place)) WITHOUT ROWID;
  CREATE TABLE failures (
    trial INTEGER NOT NULL, number INTEGER NOT NULL, attempt INTEGER NOT NULL,
    time_us INTEGER NOT NULL, utc_offset_s INTEGER NOT NULL, reason TEXT NOT NULL,
    error_lines BLOB NOT NULL,
    PRIMARY KEY (trial, number), UNIQUE (trial, attempt)) WITHOUT ROWID;
  CREATE TABLE lines (
    trial INTEGER NOT NULL, attempt INTEGER NOT NULL, number INTEGER NOT NULL,
    answer TEXT NOT NULL,
    PRIMARY KEY (trial, attempt, number)) WITHOUT ROWID;
  CREATE TABLE logs (
    trial INTEGER NOT NULL, wall_time_us INTEGER NOT NULL, text TEXT NOT NULL);
  CREATE INDEX logs_of_trial ON logs (trial);
  CREATE TABLE checkpoints (
    trial INTEGER NOT NULL, number INTEGER NOT NULL, attempt INTEGER NOT NULL, name TEXT NOT NULL,
    iteration INTEGER NOT NULL, time_total_us INTEGER NOT NULL, wall_time_us INTEGER NOT NULL,
    bytes INTEGER NOT NULL, score REAL,
    step INTEGER NOT NULL, report INTEGER NOT NULL, pending INTEGER NOT NULL,
    saves_first INTEGER NOT NULL,
    PRIMARY KEY (trial, number), UNIQUE (trial, name)) WITHOUT ROWID;
)sql";

// SQL that upgrades each version to the next. To 2: trials.trace. To 3: trials.options,
// trials.pause_requested; where an attempt starts, checkpoints; how a trial ends by itself;
// counters of reports; csv_columns; failures; events; removals (kTablesSince3). To 4: recent. To 5:
// monotonic times; the report of a checkpoint; trials.earlier_metrics. To 6: sweeps (kSweepTables).
// To 7: values of further metrics in their events. To 8: alerts (bus/alert/alert_rows.h).
constexpr const char* kMigrations[] = {
    "ALTER TABLE trials ADD COLUMN trace TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE trials ADD COLUMN options BLOB NOT NULL DEFAULT x'';"
    "ALTER TABLE trials ADD COLUMN pause_requested INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE trials ADD COLUMN start_checkpoint TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE trials ADD COLUMN start_iteration INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE trials ADD COLUMN start_time_total_us INTEGER NOT NULL DEFAULT 0;"
    "CREATE TABLE checkpoints ("
    "  trial INTEGER NOT NULL, number INTEGER NOT NULL, attempt INTEGER NOT NULL,"
    "  name TEXT NOT NULL, iteration INTEGER NOT NULL, time_total_us INTEGER NOT NULL,"
    "  wall_time_us INTEGER NOT NULL, bytes INTEGER NOT NULL, score REAL,"
    "  PRIMARY KEY (trial, number), UNIQUE (trial, name)) WITHOUT ROWID;"
    "ALTER TABLE trials ADD COLUMN expelled INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE trials ADD COLUMN criterion TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE trials ADD COLUMN earlier_attempts_us INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE reports ADD COLUMN iterations_since_restore INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE reports ADD COLUMN time_since_restore_us INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE reports ADD COLUMN timesteps_since_restore INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE reports ADD COLUMN timesteps_total INTEGER NOT NULL DEFAULT -1;"
    "ALTER TABLE reports ADD COLUMN episodes_total INTEGER NOT NULL DEFAULT -1;"
    "ALTER TABLE reports ADD COLUMN pid INTEGER NOT NULL DEFAULT 0;"
    "CREATE TABLE csv_columns (trial INTEGER NOT NULL, row INTEGER NOT NULL,"
    "  place INTEGER NOT NULL, name TEXT NOT NULL, PRIMARY KEY (trial, row, place)) WITHOUT ROWID;"
    "CREATE TABLE failures (trial INTEGER NOT NULL, number INTEGER NOT NULL,"
    "  attempt INTEGER NOT NULL, time_us INTEGER NOT NULL, utc_offset_s INTEGER NOT NULL,"
    "  reason TEXT NOT NULL, error_lines BLOB NOT NULL, PRIMARY KEY (trial, number),"
    "  UNIQUE (trial, attempt)) WITHOUT ROWID;"
    "ALTER TABLE trials ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;"
    "UPDATE trials SET failures = attempt - 1;",
    RecentReports::kSchema,
    // The old values are wall-clock times, which are useless in this column.
    "ALTER TABLE trials RENAME COLUMN attempt_started_us TO attempt_began_us;"
    "UPDATE trials SET attempt_began_us = -1;"
    "ALTER TABLE trials ADD COLUMN earlier_metrics TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE reports ADD COLUMN monotonic_us INTEGER NOT NULL DEFAULT -1;"
    "ALTER TABLE checkpoints ADD COLUMN step INTEGER NOT NULL DEFAULT -1;"
    "ALTER TABLE checkpoints ADD COLUMN report INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE checkpoints ADD COLUMN pending INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE checkpoints ADD COLUMN saves_first INTEGER NOT NULL DEFAULT 0;",
};

}  // namespace

runtime::DatabaseSchema NewestSchema() {
  return {
      .newest = absl::StrCat(kSchema, kTablesSince3, RecentReports::kSchema,
                             RecentReports::kColumnsSince5, kSweepTables, kSweepColumnsSince7,
                             bus::kAlertTables),
      .migrations = {kMigrations[0], absl::StrCat(kMigrations[1], kTablesSince3), kMigrations[2],
                     absl::StrCat(kMigrations[3], RecentReports::kColumnsSince5), kSweepTables,
                     kSweepColumnsSince7, bus::kAlertTables}};
}

}  // namespace trainer

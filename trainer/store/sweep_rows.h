#ifndef TRAINER_STORE_SWEEP_ROWS_H_
#define TRAINER_STORE_SWEEP_ROWS_H_

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "bus/schema/trainer_generated.h"
#include "runtime/sqlite/restored_state.h"

namespace trainer {

// A sweep, as stored. Everything else about it follows from its events.
struct SweepRecord {
  std::int64_t number = 0;  // Numbers sweeps from 1; its events refer to it.
  std::string id;           // "s-xxxxx"
  std::string name;
  std::string request_id;         // Unique; request id of the call.
  msg::RunSweepRequestT request;  // Its template has an environment: never shown.
  std::string trace;              // Trace id of the call; passed on with requests for its trials.
  std::int64_t created_us = 0;
  std::int64_t ended_us = 0;  // 0: not ended.
  // The final message of an ended sweep; the message of a live sweep is derived from its events.
  msg::SweepT summary;
  // The last question whose answer was begun, and how often it was begun: an answer that crashes
  // the trainer each time must not be retried for ever. With an external optimiser, `asked` counts
  // the optimiser's programs started.
  std::int64_t asked = 0;
  std::int64_t tries = 0;
};

// One event of a sweep: the fields of a tuning::EngineEvent.
struct SweepEventRow {
  std::int64_t sweep = 0;  // SweepRecord::number.
  std::int64_t seq = 0;    // Numbers the sweep's events from 1.
  std::int64_t kind = 0;
  std::int64_t trial = 0;
  std::int64_t number = 0;
  double resource = 0;
  double value = std::numeric_limits<double>::quiet_NaN();
  bool whether = false;
  std::int64_t end = 0;
  std::int64_t decided = -1;  // -1: no answer.
  std::string text;
  std::string plan;        // A JSON object; empty: none.
  std::string request_id;  // Request id of the call that caused it; empty: none.
  std::int64_t time_us = 0;
  std::string others;  // Values of further metrics, a JSON list; empty: none.
};

// The sweep tables of trainer.db. The functions throw as SQLiteCpp does.
extern const char kSweepTables[];
extern const char kSweepColumnsSince7[];
// Inserts a sweep and returns its number.
std::int64_t InsertSweep(SQLite::Database& database, const SweepRecord& sweep);
// Moves the run directories of all sweeps' future trials to where `restored` says.
void MoveSweeps(SQLite::Database& database, const runtime::RestoredState& restored);
// Updates `ended_us`, `summary`, `asked` and `tries` of an existing sweep.
void UpdateSweep(SQLite::Database& database, const SweepRecord& sweep);
// `insert` is a compiled kInsertSweepEvent, ready to bind, so that it is compiled once for many.
extern const char kInsertSweepEvent[];
void InsertSweepEvent(SQLite::Statement& insert, const SweepEventRow& event);
// Call `take` oldest first, until an error.
absl::Status ForEachSweep(SQLite::Database& database,
                          const std::function<absl::Status(SweepRecord)>& take);
absl::Status ForEachSweepEvent(SQLite::Database& database, std::int64_t sweep,
                               const std::function<absl::Status(SweepEventRow)>& take);
void DeleteSweep(SQLite::Database& database, std::int64_t sweep);

}  // namespace trainer

#endif  // TRAINER_STORE_SWEEP_ROWS_H_

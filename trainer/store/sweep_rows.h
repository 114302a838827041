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

// A sweep, as it is kept. All else about it follows from its events.
struct SweepRecord {
  std::int64_t number = 0;  // Counts sweeps from 1; ties its events to it.
  std::string id;           // "s-xxxxx"
  std::string name;
  std::string request_id;         // Unique; of the call that made it.
  msg::RunSweepRequestT request;  // The template of its trials has an environment: never shown.
  std::string trace;              // The call's trace; it goes with what is asked for its trials.
  std::int64_t created_us = 0;
  std::int64_t ended_us = 0;  // 0: it has not ended.
  // As it was shown when it ended; a sweep that has not ended is shown from its events.
  msg::SweepT summary;
  // The question that was last begun to be answered, and how often that was begun: an answer that
  // ends the trainer each time must not be tried for ever. With an external optimiser `asked`
  // counts its programs that were started.
  std::int64_t asked = 0;
  std::int64_t tries = 0;
};

// Something that happened to a sweep: the fields of a tuning::EngineEvent.
struct SweepEventRow {
  std::int64_t sweep = 0;  // SweepRecord::number.
  std::int64_t seq = 0;    // Counts the sweep's events from 1.
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
  std::string request_id;  // The call that it came from; empty: none.
  std::int64_t time_us = 0;
  std::string others;  // Values of further metrics, a JSON list; empty: none.
};

// The tables of sweeps in trainer.db. They throw as SQLiteCpp does.
extern const char kSweepTables[];
extern const char kSweepColumnsSince7[];
// Returns its number.
std::int64_t InsertSweep(SQLite::Database& database, const SweepRecord& sweep);
// Lets the next trials of all sweeps have their runs where `restored` says.
void MoveSweeps(SQLite::Database& database, const runtime::RestoredState& restored);
// `ended_us`, `summary`, `asked` and `tries` of one that is there.
void UpdateSweep(SQLite::Database& database, const SweepRecord& sweep);
// `insert` is of kInsertSweepEvent, and ready; so it is compiled once for many.
extern const char kInsertSweepEvent[];
void InsertSweepEvent(SQLite::Statement& insert, const SweepEventRow& event);
// Oldest first, until an error.
absl::Status ForEachSweep(SQLite::Database& database,
                          const std::function<absl::Status(SweepRecord)>& take);
absl::Status ForEachSweepEvent(SQLite::Database& database, std::int64_t sweep,
                               const std::function<absl::Status(SweepEventRow)>& take);
void DeleteSweep(SQLite::Database& database, std::int64_t sweep);

}  // namespace trainer

#endif  // TRAINER_STORE_SWEEP_ROWS_H_

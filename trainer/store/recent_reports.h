#ifndef TRAINER_STORE_RECENT_REPORTS_H_
#define TRAINER_STORE_RECENT_REPORTS_H_

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "runtime/sqlite/prepared_transaction.h"
#include "trainer/report/result_row.h"

namespace trainer {

// The part of the store that appends reports and answers in order of arrival, whatever their trial.
// A transaction that appends to the single table `recent` writes one or two pages. In `reports` and
// `lines` each trial has a place of its own, so writing there costs two pages for each trial, which
// every report would wait for. New entries therefore wait in `recent` and are moved later: all of
// them by Settle(), before anybody reads them or changes their trials in another way; the oldest
// ones by SettleOldest(), a few rows at a time, so that a long backlog delays no answer for long.
// Call Settle() first after a start.
//
// `recent` has no key, so this class prevents duplicate rows and lines: both have rising numbers,
// and it knows the last ones of each trial that writes. (The tables behind it have keys.)
//
// Part of TrialStore: shares its thread, transactions and exceptions (SQLite::Exception).
class RecentReports {
 public:
  // SQL that creates the table.
  static constexpr char kSchema[] = R"sql(
    CREATE TABLE recent (
      trial INTEGER NOT NULL, attempt INTEGER NOT NULL, line INTEGER, answer TEXT, row INTEGER,
      wall_time_us INTEGER, utc_offset_s INTEGER, training_iteration INTEGER, step INTEGER,
      time_this_iter_us INTEGER, time_total_us INTEGER, done INTEGER, metrics TEXT,
      result_json_end INTEGER, progress_csv_end INTEGER, event_file_end INTEGER,
      iterations_since_restore INTEGER, time_since_restore_us INTEGER,
      timesteps_since_restore INTEGER, timesteps_total INTEGER, episodes_total INTEGER,
      pid INTEGER);
  )sql";
  // The column that the next schema version adds.
  static constexpr char kColumnsSince5[] =
      "ALTER TABLE recent ADD COLUMN monotonic_us INTEGER DEFAULT -1;";
  // Number of answers that are kept for each attempt.
  static constexpr std::int64_t kAnswersKept = 256;

  struct Limits {
    // Most rows that may wait. More than the answers kept for several trials, so that few answers
    // are moved.
    std::size_t most_rows = 3072;
    // Fewest rows moved at a time, if that many wait. Each move writes one or two pages for every
    // trial among them.
    std::size_t few_rows = 64;
  };
  // Neither pointer is owned; both outlive this, and the database has the table. Entries that an
  // earlier process left count as waiting.
  RecentReports(SQLite::Database& database, runtime::PreparedTransaction* transaction,
                Limits limits);

  // A report, an answered line, or both.
  struct Entry {
    std::int64_t trial = 0;
    int attempt = 0;
    const ResultRow* row = nullptr;
    std::int64_t line = 0;  // 0: none.
    const std::string* answer = nullptr;
  };
  // Call Begin() in a new transaction, Add() for each of its entries, and Committed() after the
  // commit. After AlreadyExists, for a row or line that exists, the transaction must not be
  // committed.
  void Begin();
  absl::Status Add(const Entry& entry);
  void Committed();

  // Returns true if so much waits that it is time to settle.
  bool is_full() const { return waiting_.size() >= limits_.most_rows || bytes_ >= kMostBytes; }
  // Returns true if entries of this trial (or of any) wait: settle before reading or removing its
  // rows or lines.
  bool Has(std::int64_t trial) const { return left_over_ || marks_.count(trial) != 0; }
  bool empty() const { return !left_over_ && marks_.empty(); }
  // Moves all entries, in its own transaction. Blocks the store for about 2 us for each row.
  void Settle();
  // Moves only the oldest entries, enough that is_full() becomes false, and a few more.
  void SettleOldest();
  // For a full disk, where settling fails: until Settle() succeeds, views named `reports` and
  // `lines` show the waiting entries too.
  void ShowAll();
  bool shows_all() const { return shows_all_; }

 private:
  static constexpr std::size_t kMostBytes = 4 << 20;

  // Last row and line of a trial that has entries here.
  struct Mark {
    std::int64_t row = 0;
    int attempt = 0;
    std::int64_t line = 0;  // Last line of that attempt.
    std::size_t waiting = 0;
  };
  using Marks = std::unordered_map<std::int64_t, Mark>;
  // A row of `recent`.
  struct Waiting {
    std::int64_t rowid = 0;
    std::int64_t trial = 0;
    int attempt = 0;
    std::int64_t line = 0;
    std::size_t bytes = 0;
  };

  Mark& MarkOf(std::int64_t trial);
  // Returns AlreadyExists, or makes the entry's numbers the last ones.
  absl::Status Note(const Entry& entry);
  void BindRow(const ResultRow& row);
  std::size_t CountOldest() const;
  // Moves those of the first `count` answers that may be requested again.
  void SettleLines(std::size_t count);
  void ForgetLines(std::int64_t trial, const Mark& mark);

  SQLite::Database& database_;
  runtime::PreparedTransaction* const transaction_;
  const Limits limits_;
  SQLite::Statement insert_, last_row_, last_line_;
  SQLite::Statement settle_rows_, settle_few_rows_, settle_lines_, settle_line_, forget_lines_,
      clear_;
  bool left_over_ = true;  // An earlier process may have left entries.
  bool shows_all_ = false;
  Marks marks_;
  std::deque<Waiting> waiting_;  // In order. Excludes those of an earlier process.
  std::size_t bytes_ = 0;
  // The same, including the open transaction.
  Marks draft_;
  std::vector<Waiting> draft_waiting_;
};

}  // namespace trainer

#endif  // TRAINER_STORE_RECENT_REPORTS_H_

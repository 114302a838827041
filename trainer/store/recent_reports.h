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

// The part of the store that takes reports and answers in the order in which they come, whatever
// trial they are of. A transaction that appends to the one table `recent` writes a page or two; one
// that writes to `reports` and `lines`, in which each trial has a place of its own, writes two a
// trial, and pays with the time of every report. So what is new waits in `recent`, and is moved to
// its places: all of it by Settle(), before anybody reads it and before anything else is done with
// its trials; the oldest of it by SettleOldest(), a few rows at a time, so that nobody's answer
// waits for long, when there is much. At a start Settle() is the first thing to do.
//
// `recent` has no key. That no row and no line is there twice is seen here: both have rising
// numbers, and the last ones of each trial that writes are known. (The tables behind have their
// keys.)
//
// Part of TrialStore, whose thread, transactions and exceptions (SQLite::Exception) these are.
class RecentReports {
 public:
  // The SQL that makes the table.
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
  // The columns that its next version adds.
  static constexpr char kColumnsSince5[] =
      "ALTER TABLE recent ADD COLUMN monotonic_us INTEGER DEFAULT -1;";
  // Answers that are kept for each attempt.
  static constexpr std::int64_t kAnswersKept = 256;

  struct Limits {
    // So many rows wait at most. More than the answers kept of several trials, so that few of those
    // are moved.
    std::size_t most_rows = 3072;
    // So many at least are moved at a time, if there are. Each time costs a page or two of every
    // trial among them.
    std::size_t few_rows = 64;
  };
  // Neither is owned, both outlive it; the database has the table. Entries left by an earlier
  // process wait.
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
  // A transaction begins, which adds entries: AlreadyExists for a row or line that is there, and it
  // is not to be committed. Committed() once they stand.
  void Begin();
  absl::Status Add(const Entry& entry);
  void Committed();

  // So much waits that it is time to settle.
  bool is_full() const { return waiting_.size() >= limits_.most_rows || bytes_ >= kMostBytes; }
  // Before rows or lines of this trial (or of any) are read or removed.
  bool Has(std::int64_t trial) const { return left_over_ || marks_.count(trial) != 0; }
  bool empty() const { return !left_over_ && marks_.empty(); }
  // In a transaction of its own. It stops everything for a moment: some 2 us a row.
  void Settle();
  // The same for those that have waited longest: so many that nothing is full any more, and a few.
  void SettleOldest();
  // Where there is no room for that: until it is done, `reports` and `lines` are, for all who read
  // them, views that have what waits, too.
  void ShowAll();
  bool shows_all() const { return shows_all_; }

 private:
  static constexpr std::size_t kMostBytes = 4 << 20;

  // The last row and line of a trial that has something here.
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
  // AlreadyExists, or the entry's numbers are the last ones.
  absl::Status Note(const Entry& entry);
  void BindRow(const ResultRow& row);
  std::size_t CountOldest() const;
  // Moves those answers of the first `count` that may be asked for again.
  void SettleLines(std::size_t count);
  void ForgetLines(std::int64_t trial, const Mark& mark);

  SQLite::Database& database_;
  runtime::PreparedTransaction* const transaction_;
  const Limits limits_;
  SQLite::Statement insert_, last_row_, last_line_;
  SQLite::Statement settle_rows_, settle_few_rows_, settle_lines_, settle_line_, forget_lines_,
      clear_;
  bool left_over_ = true;  // An earlier process may have left something.
  bool shows_all_ = false;
  Marks marks_;
  std::deque<Waiting> waiting_;  // In their order. Not those of an earlier process.
  std::size_t bytes_ = 0;
  // With what is being added.
  Marks draft_;
  std::vector<Waiting> draft_waiting_;
};

}  // namespace trainer

#endif  // TRAINER_STORE_RECENT_REPORTS_H_

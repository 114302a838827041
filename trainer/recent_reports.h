#ifndef TRAINER_RECENT_REPORTS_H_
#define TRAINER_RECENT_REPORTS_H_

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "absl/status/status.h"
#include "trainer/result_row.h"

namespace trainer {

// The part of the store that takes reports and answers in the order in which they come, whatever
// trial they are of. A transaction that appends to the one table `recent` writes a page or two; one
// that writes to `reports` and `lines`, in which each trial has a place of its own, writes two a
// trial, and pays with the time of every report. So what is new waits in `recent`, and Settle()
// moves it to its places: a few thousand rows at a time, in one transaction, before anybody reads
// them and before anything else is done with their trials. At a start it is the first thing to do.
//
// `recent` has no key. That no row and no line is there twice is seen here: both have rising
// numbers, and the last ones of each trial that writes are known. (The tables behind have their
// keys.)
//
// Part of Store, whose thread, transactions and exceptions (SQLite::Exception) these are.
class RecentReports {
 public:
  // What makes the table.
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
  // Answers that are kept for each attempt.
  static constexpr std::int64_t kAnswersKept = 256;

  // `database` is not owned, outlives it and has the table. What an earlier process left waits.
  explicit RecentReports(SQLite::Database& database);

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
  bool is_full() const { return rows_ >= kMostRows || bytes_ >= kMostBytes; }
  // Before rows or lines of this trial (or of any) are read or removed.
  bool Has(std::int64_t trial) const { return left_over_ || marks_.count(trial) != 0; }
  bool empty() const { return !left_over_ && marks_.empty(); }
  // In a transaction of its own. It stops everything for a moment: some 2 us a row.
  void Settle();
  // Where there is no room for that: until it is done, `reports` and `lines` are, for all who read
  // them, views that have what waits, too.
  void ShowAll();
  bool shows_all() const { return shows_all_; }

 private:
  static constexpr std::size_t kMostRows = 4096;
  static constexpr std::size_t kMostBytes = 4 << 20;

  // The last row and line of a trial that has something here.
  struct Mark {
    std::int64_t row = 0;
    int attempt = 0;
    std::int64_t line = 0;  // Of that attempt.
  };
  using Marks = std::unordered_map<std::int64_t, Mark>;

  Mark& MarkOf(std::int64_t trial);
  // AlreadyExists, or the entry's numbers are the last ones.
  absl::Status Note(const Entry& entry);
  void BindRow(const ResultRow& row);

  SQLite::Database& database_;
  SQLite::Statement insert_, last_row_, last_line_;
  SQLite::Statement settle_rows_, settle_lines_, forget_lines_, clear_;
  bool left_over_ = true;  // An earlier process may have left something.
  bool shows_all_ = false;
  Marks marks_;
  std::size_t rows_ = 0, bytes_ = 0;
  // With what is being added.
  Marks draft_;
  std::size_t draft_rows_ = 0, draft_bytes_ = 0;
};

}  // namespace trainer

#endif  // TRAINER_RECENT_REPORTS_H_

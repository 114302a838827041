#include "trainer/recent_reports.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "trainer/statement_columns.h"

namespace trainer {
namespace {

// Sorted as the tables are, so that each of their pages is written once.
constexpr char kSettleRows[] = R"sql(
  INSERT OR IGNORE INTO main.reports
    SELECT trial, row, attempt, wall_time_us, utc_offset_s, training_iteration, step,
      time_this_iter_us, time_total_us, done, metrics, result_json_end, progress_csv_end,
      event_file_end, iterations_since_restore, time_since_restore_us, timesteps_since_restore,
      timesteps_total, episodes_total, pid
    FROM recent WHERE row IS NOT NULL ORDER BY trial, row)sql";
// Those that may come again.
constexpr char kSettleLines[] = R"sql(
  INSERT OR IGNORE INTO main.lines
    SELECT trial, attempt, line, answer FROM recent JOIN
      (SELECT trial AS of_trial, attempt AS of_attempt, max(line) AS newest FROM recent
       GROUP BY trial, attempt) ON trial = of_trial AND attempt = of_attempt
    WHERE line > newest - ? ORDER BY trial, attempt, line)sql";

// Go before the tables of the same names.
constexpr char kViews[] = R"sql(
  CREATE TEMP VIEW reports AS
    SELECT trial, row, attempt, wall_time_us, utc_offset_s, training_iteration, step,
      time_this_iter_us, time_total_us, done, metrics, result_json_end, progress_csv_end,
      event_file_end, iterations_since_restore, time_since_restore_us, timesteps_since_restore,
      timesteps_total, episodes_total, pid FROM main.reports
    UNION ALL
    SELECT trial, row, attempt, wall_time_us, utc_offset_s, training_iteration, step,
      time_this_iter_us, time_total_us, done, metrics, result_json_end, progress_csv_end,
      event_file_end, iterations_since_restore, time_since_restore_us, timesteps_since_restore,
      timesteps_total, episodes_total, pid FROM main.recent WHERE row IS NOT NULL;
  CREATE TEMP VIEW lines AS
    SELECT trial, attempt, number, answer FROM main.lines
    UNION ALL
    SELECT trial, attempt, line, answer FROM main.recent WHERE line IS NOT NULL;
)sql";

}  // namespace

RecentReports::RecentReports(SQLite::Database& database)
    : database_(database),
      insert_(database,
              "INSERT INTO recent VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
              "?, ?, ?, ?)"),
      last_row_(database, "SELECT max(row) FROM reports WHERE trial = ?"),
      last_line_(database, "SELECT max(number) FROM lines WHERE trial = ? AND attempt = ?"),
      settle_rows_(database, kSettleRows),
      settle_lines_(database, kSettleLines),
      forget_lines_(database,
                    "DELETE FROM main.lines WHERE trial = ? AND attempt = ? AND number <= ?"),
      clear_(database, "DELETE FROM recent") {}

RecentReports::Mark& RecentReports::MarkOf(std::int64_t trial) {
  const auto [place, is_new] = draft_.try_emplace(trial);
  Mark& mark = place->second;
  if (!is_new) return mark;
  if (const auto known = marks_.find(trial); known != marks_.end()) return mark = known->second;
  last_row_.tryReset();
  Binder(last_row_) << trial;
  last_row_.executeStep();
  mark.row = last_row_.getColumn(0).getInt64();
  last_row_.tryReset();
  return mark;
}

absl::Status RecentReports::Note(const Entry& entry) {
  const auto exists = [&](absl::string_view what, std::int64_t number) {
    return absl::AlreadyExistsError(
        absl::StrCat("trial number ", entry.trial, " has ", what, " ", number, " already"));
  };
  Mark& mark = MarkOf(entry.trial);
  if (entry.row != nullptr) {
    if (entry.row->row <= mark.row) return exists("row", entry.row->row);
    mark.row = entry.row->row;
  }
  if (entry.line == 0) return absl::OkStatus();
  if (mark.attempt != entry.attempt) {
    last_line_.tryReset();
    Binder(last_line_) << entry.trial << entry.attempt;
    last_line_.executeStep();
    mark.attempt = entry.attempt;
    mark.line = last_line_.getColumn(0).getInt64();
    last_line_.tryReset();
  }
  if (entry.line <= mark.line) return exists("line", entry.line);
  mark.line = entry.line;
  return absl::OkStatus();
}

void RecentReports::BindRow(const ResultRow& row) {
  int column = 5;
  for (const std::int64_t number :
       {row.row, row.wall_time_us, row.utc_offset_s, row.training_iteration, row.step,
        row.time_this_iter_us, row.time_total_us, std::int64_t{row.done}}) {
    insert_.bind(column++, number);
  }
  insert_.bindNoCopy(column++, row.metrics);
  for (const std::int64_t end : row.ends) insert_.bind(column++, end);
  for (const std::int64_t number :
       {row.iterations_since_restore, row.time_since_restore_us, row.timesteps_since_restore,
        row.timesteps_total, row.episodes_total, row.pid}) {
    insert_.bind(column++, number);
  }
}

void RecentReports::Begin() {
  draft_.clear();
  draft_rows_ = draft_bytes_ = 0;
}

absl::Status RecentReports::Add(const Entry& entry) {
  if (auto status = Note(entry); !status.ok()) return status;
  insert_.tryReset();
  insert_.clearBindings();
  insert_.bind(1, entry.trial);
  insert_.bind(2, entry.attempt);
  if (entry.line != 0) {
    insert_.bind(3, entry.line);
    insert_.bindNoCopy(4, *entry.answer);
    draft_bytes_ += entry.answer->size();
  }
  if (entry.row != nullptr) {
    BindRow(*entry.row);
    draft_bytes_ += entry.row->metrics.size();
  }
  insert_.exec();
  ++draft_rows_;
  return absl::OkStatus();
}

void RecentReports::Committed() {
  for (auto& [trial, mark] : draft_) marks_[trial] = mark;
  rows_ += draft_rows_;
  bytes_ += draft_bytes_;
  Begin();
}

void RecentReports::Settle() {
  if (empty()) return;
  for (SQLite::Statement* const statement :
       {&settle_rows_, &settle_lines_, &forget_lines_, &clear_}) {
    statement->tryReset();
  }
  SQLite::Transaction transaction(database_, SQLite::TransactionBehavior::IMMEDIATE);
  settle_rows_.exec();
  settle_lines_.bind(1, kAnswersKept);
  settle_lines_.exec();
  for (const auto& [trial, mark] : marks_) {
    forget_lines_.tryReset();
    Binder(forget_lines_) << trial << mark.attempt << mark.line - kAnswersKept;
    forget_lines_.exec();
  }
  clear_.exec();
  transaction.commit();
  left_over_ = false;
  marks_.clear();
  rows_ = bytes_ = 0;
  if (std::exchange(shows_all_, false)) {
    database_.exec("DROP VIEW temp.reports; DROP VIEW temp.lines");
  }
}

void RecentReports::ShowAll() {
  if (!std::exchange(shows_all_, true)) database_.exec(kViews);
}

}  // namespace trainer

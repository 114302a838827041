#include "trainer/store/recent_reports.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/sqlite/statement_columns.h"

namespace trainer {
namespace {

// Columns of `reports`, in table order.
constexpr absl::string_view kColumns =
    "trial, row, attempt, wall_time_us, utc_offset_s, training_iteration, step, time_this_iter_us, "
    "time_total_us, done, metrics, result_json_end, progress_csv_end, event_file_end, "
    "iterations_since_restore, time_since_restore_us, timesteps_since_restore, timesteps_total, "
    "episodes_total, pid, monotonic_us";

// SQL that moves the rows up to a row of `recent`, or all rows. The latter are sorted in table
// order, so that each page is written once; for a few rows sorting costs more than it saves.
std::string SettleFewRows() {
  return absl::StrCat("INSERT OR IGNORE INTO main.reports SELECT ", kColumns,
                      " FROM recent WHERE row IS NOT NULL AND rowid <= ?");
}
std::string SettleAllRows() {
  return absl::StrCat("INSERT OR IGNORE INTO main.reports SELECT ", kColumns,
                      " FROM recent WHERE row IS NOT NULL ORDER BY trial, row");
}
// Moves the lines that may be sent again. (A join with the newest line of each attempt would be
// quadratic in the attempts.)
constexpr char kSettleLines[] = R"sql(
  INSERT OR IGNORE INTO main.lines
    SELECT trial, attempt, line, answer FROM
      (SELECT trial, attempt, line, answer,
              max(line) OVER (PARTITION BY trial, attempt) AS newest FROM recent)
    WHERE line > newest - ? ORDER BY trial, attempt, line)sql";
constexpr char kSettleLine[] =
    "INSERT OR IGNORE INTO main.lines SELECT trial, attempt, line, answer FROM recent "
    "WHERE rowid = ?";
constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();

// Temporary views, which take precedence over tables of the same names.
std::string Views() {
  return absl::StrCat(
      "CREATE TEMP VIEW reports AS SELECT ", kColumns, " FROM main.reports UNION ALL SELECT ",
      kColumns, " FROM main.recent WHERE row IS NOT NULL;",
      "CREATE TEMP VIEW lines AS SELECT trial, attempt, number, answer FROM main.lines UNION ALL "
      "SELECT trial, attempt, line, answer FROM main.recent WHERE line IS NOT NULL;");
}

}  // namespace

RecentReports::RecentReports(SQLite::Database& database, runtime::PreparedTransaction* transaction,
                             Limits limits)
    : database_(database),
      transaction_(transaction),
      limits_(limits),
      insert_(database,
              "INSERT INTO recent VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
              "?, ?, ?, ?, ?)"),
      last_row_(database, "SELECT max(row) FROM reports WHERE trial = ?"),
      last_line_(database, "SELECT max(number) FROM lines WHERE trial = ? AND attempt = ?"),
      settle_rows_(database, SettleAllRows()),
      settle_few_rows_(database, SettleFewRows()),
      settle_lines_(database, kSettleLines),
      settle_line_(database, kSettleLine),
      forget_lines_(database,
                    "DELETE FROM main.lines WHERE trial = ? AND attempt = ? AND number <= ?"),
      clear_(database, "DELETE FROM recent WHERE rowid <= ?") {}

RecentReports::Mark& RecentReports::MarkOf(std::int64_t trial) {
  const auto [place, is_new] = draft_.try_emplace(trial);
  Mark& mark = place->second;
  if (!is_new) return mark;
  if (const auto known = marks_.find(trial); known != marks_.end()) return mark = known->second;
  last_row_.tryReset();
  runtime::Binder(last_row_) << trial;
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
    runtime::Binder(last_line_) << entry.trial << entry.attempt;
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
        row.timesteps_total, row.episodes_total, row.pid, row.monotonic_us}) {
    insert_.bind(column++, number);
  }
}

void RecentReports::Begin() {
  draft_.clear();
  draft_waiting_.clear();
}

absl::Status RecentReports::Add(const Entry& entry) {
  if (auto status = Note(entry); !status.ok()) return status;
  Waiting waiting = {0, entry.trial, entry.attempt, entry.line, 0};
  insert_.tryReset();
  insert_.clearBindings();
  insert_.bind(1, entry.trial);
  insert_.bind(2, entry.attempt);
  if (entry.line != 0) {
    insert_.bind(3, entry.line);
    insert_.bindNoCopy(4, *entry.answer);
    waiting.bytes += entry.answer->size();
  }
  if (entry.row != nullptr) {
    BindRow(*entry.row);
    waiting.bytes += entry.row->metrics.size();
  }
  insert_.exec();
  waiting.rowid = database_.getLastInsertRowid();
  draft_waiting_.push_back(waiting);
  return absl::OkStatus();
}

void RecentReports::Committed() {
  for (auto& [trial, mark] : draft_) marks_[trial] = mark;
  for (const Waiting& waiting : draft_waiting_) {
    ++marks_[waiting.trial].waiting;
    bytes_ += waiting.bytes;
    waiting_.push_back(waiting);
  }
  Begin();
}

void RecentReports::Settle() {
  if (empty()) return;
  runtime::PreparedTransaction::Run run(transaction_);
  settle_rows_.tryReset();
  settle_rows_.exec();
  settle_lines_.tryReset();
  settle_lines_.bind(1, kAnswersKept);
  settle_lines_.exec();
  for (const auto& [trial, mark] : marks_) ForgetLines(trial, mark);
  clear_.tryReset();
  clear_.bind(1, kAll);
  clear_.exec();
  run.Commit();
  left_over_ = false;
  marks_.clear();
  waiting_.clear();
  bytes_ = 0;
  if (std::exchange(shows_all_, false)) {
    database_.exec("DROP VIEW temp.reports; DROP VIEW temp.lines");
  }
}

std::size_t RecentReports::CountOldest() const {
  std::size_t count = 0;
  std::size_t bytes = bytes_;
  while (count < waiting_.size() &&
         (count < limits_.few_rows || waiting_.size() - count >= limits_.most_rows ||
          bytes >= kMostBytes)) {
    bytes -= waiting_[count++].bytes;
  }
  return count;
}

void RecentReports::SettleOldest() {
  const std::size_t count = CountOldest();
  if (left_over_ || shows_all_ || count == waiting_.size()) return Settle();
  const std::int64_t last = waiting_[count - 1].rowid;
  runtime::PreparedTransaction::Run run(transaction_);
  settle_few_rows_.tryReset();
  settle_few_rows_.bind(1, last);
  settle_few_rows_.exec();
  SettleLines(count);
  clear_.tryReset();
  clear_.bind(1, last);
  clear_.exec();
  run.Commit();
  for (std::size_t i = 0; i < count; ++i) {
    const Waiting& settled = waiting_.front();
    bytes_ -= settled.bytes;
    const auto mark = marks_.find(settled.trial);
    if (--mark->second.waiting == 0) marks_.erase(mark);
    waiting_.pop_front();
  }
}

void RecentReports::ForgetLines(std::int64_t trial, const Mark& mark) {
  forget_lines_.tryReset();
  runtime::Binder(forget_lines_) << trial << mark.attempt << mark.line - kAnswersKept;
  forget_lines_.exec();
}

// Skips lines of trials that report often: newer lines of theirs wait here.
void RecentReports::SettleLines(std::size_t count) {
  std::set<std::int64_t> trials;
  for (std::size_t i = 0; i < count; ++i) {
    const Waiting& waiting = waiting_[i];
    const Mark& mark = marks_.at(waiting.trial);
    const bool may_come_again = waiting.line != 0 && waiting.attempt == mark.attempt &&
                                waiting.line > mark.line - kAnswersKept;
    if (!may_come_again) continue;
    settle_line_.tryReset();
    settle_line_.bind(1, waiting.rowid);
    settle_line_.exec();
    trials.insert(waiting.trial);
  }
  for (const std::int64_t trial : trials) ForgetLines(trial, marks_.at(trial));
}

void RecentReports::ShowAll() {
  if (!std::exchange(shows_all_, true)) database_.exec(Views());
}

}  // namespace trainer

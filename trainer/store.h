#ifndef TRAINER_STORE_H_
#define TRAINER_STORE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/result_row.h"
#include "trainer/trial_record.h"

namespace trainer {

// A line of an attempt and the answer it got.
struct AnsweredLine {
  std::int64_t trial = 0;  // TrialRecord::number.
  int attempt = 0;
  std::int64_t number = 0;
  std::string answer;  // Empty: acknowledged without one.
};

// What one transaction writes.
struct StoreBatch {
  struct Row {
    std::int64_t trial = 0;
    ResultRow row;
  };
  struct Log {
    std::int64_t trial = 0;
    std::int64_t wall_time_us = 0;
    std::string text;
  };
  std::vector<TrialRecord> trials;  // Known ones, changed.
  std::vector<Row> rows;
  std::vector<AnsweredLine> lines;
  std::vector<Log> logs;
};

// The truth about trials and acknowledged reports: one SQLite file, mode 0600, in WAL mode with
// synchronous=NORMAL, so that it survives the kill of any process (power loss may cost the last
// second). Every method is one transaction and blocks for it. One thread.
class Store {
 public:
  // Answers kept for each attempt, so that a line that is sent again gets the same one. The shim
  // has at most 64 lines under way.
  static constexpr std::int64_t kAnswersKept = 256;

  // Makes the file if it is missing, brings that of an older version up to date. FailedPrecondition
  // if a newer version of this program wrote it, naming both versions.
  static absl::StatusOr<std::unique_ptr<Store>> Open(const std::string& path);
  virtual ~Store() = default;

  // Oldest first.
  virtual absl::StatusOr<std::vector<TrialRecord>> LoadTrials() = 0;
  // Returns its number. AlreadyExists if the id or the request id is taken.
  virtual absl::StatusOr<std::int64_t> Insert(const TrialRecord& trial) = 0;
  // All or nothing. AlreadyExists for a row or line that is there; ResourceExhausted: disk full.
  virtual absl::Status Write(const StoreBatch& batch) = 0;

  // Row 0 if the trial has none.
  virtual absl::StatusOr<ResultRow> LastRow(std::int64_t trial) = 0;
  virtual absl::StatusOr<ResultRow> LastRowThatFits(std::int64_t trial, ResultFile file,
                                                    std::int64_t size) = 0;
  // Rows after `row`, oldest first; at most `limit`, and no more after 256 KiB of metrics.
  virtual absl::StatusOr<std::vector<ResultRow>> RowsAfter(std::int64_t trial, std::int64_t row,
                                                           int limit) = 0;
  // 0 if there is none.
  virtual absl::StatusOr<std::int64_t> LastLine(std::int64_t trial, int attempt) = 0;
  // Nothing if the line is not known (any more).
  virtual absl::StatusOr<std::optional<std::string>> AnswerTo(std::int64_t trial, int attempt,
                                                              std::int64_t number) = 0;
  // Forgets the lines of trials that ended before that moment (microseconds since 1970), and of
  // attempts that are over.
  virtual absl::Status ForgetOldLines(std::int64_t ended_before_us) = 0;
};

}  // namespace trainer

#endif  // TRAINER_STORE_H_

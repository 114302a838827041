#ifndef TRAINER_RUN_RUN_FILES_H_
#define TRAINER_RUN_RUN_FILES_H_

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/file/file.h"
#include "runtime/file/unique_fd.h"
#include "trainer/report/result_row.h"
#include "trainer/run/result_files.h"

namespace trainer {

// The growing files of one run on disk. They are derived from the stored rows, and only this class
// writes them, so every row has one place in each file and writing it twice changes nothing. A file
// that another program has changed, or created under its name, is renamed, and written anew. A row
// that adds a name makes progress.csv a new file with wider rows. The row ends in that new file are
// known only from this row on, so the file is repaired from its newest widening on, or as a whole.
// Not thread-safe; every method blocks for the disk.
class RunFiles {
 public:
  struct Options {
    std::string directory;
    RunIdentity run;
    runtime::FileMode directory_mode = 0755;
    // Called at each named point between two writes, where a test may kill the process.
    std::function<void(std::string_view point)> fault = {};
  };
  // Source of the rows.
  class Rows {
   public:
    virtual ~Rows() = default;
    // Returns the newest row whose end in `file` is at most `size`; row 0 if no row fits.
    virtual absl::StatusOr<ResultRow> LastThatFits(ResultFile file, std::int64_t size) = 0;
    // Returns a bounded number of rows after `row`, oldest first; empty at the end.
    virtual absl::StatusOr<std::vector<ResultRow>> After(std::int64_t row) = 0;
    // Returns the widenings in order.
    virtual absl::StatusOr<std::vector<CsvWidening>> Widenings() = 0;
  };

  explicit RunFiles(Options options);

  // Fills in the row's `ends` from those of the previous row. Returns the columns that the row adds
  // to the table. If there are any, progress.csv becomes a new file, and the ends of earlier rows
  // refer to the old one. Keeps the row's text for each file until it is written. Touches no file.
  std::vector<std::string> Place(const FileEnds& before, const RowMetrics& metrics, ResultRow& row);
  // Forgets the placed rows after `row`, which were not stored.
  void ForgetPlacesAfter(std::int64_t row);
  // Returns the ends before the first row.
  FileEnds Beginning() const;

  // Makes the files match the rows: creates missing files, truncates torn or unknown text, and
  // appends missing rows. Call it first, and again after an error of Append(). ResourceExhausted if
  // the disk is full; a retry may succeed.
  absl::Status Repair(Rows& rows);
  // Returns, as sentences, the changes by other programs that Repair() found since the last call.
  std::vector<std::string> TakeNotices() { return std::exchange(notices_, {}); }
  // Returns true if Repair() has created the run's directory since the last call.
  bool TakeMadeDirectory() { return std::exchange(made_directory_, false); }
  // Appends rows in order, with one write for each file. For a row that adds columns, first writes
  // a new table beside the old one and then replaces it atomically. Opens the files if they are
  // closed. After an error (a full disk) the files are behind the rows: call Repair(). DataLoss if
  // another program has changed or removed a file since the last write.
  absl::Status Append(std::span<const ResultRow> rows);
  absl::Status Append(const ResultRow& row) { return Append(std::span(&row, 1)); }
  void Close();
  // Performs the check that Append() does before it writes, if the last row ends at `ends`. Returns
  // false if the files are behind.
  bool AreAsWritten(const FileEnds& ends);
  bool behind() const { return behind_; }
  // Returns true if an existing file ends before `ends`.
  bool AreShorterThan(const FileEnds& ends) const;

 private:
  absl::Status Open();
  absl::Status OpenFile(ResultFile file);
  // Returns whether the trainer wrote the content of the file, as far as can be told.
  absl::StatusOr<bool> IsOurs(ResultFile file, std::int64_t size, Rows& rows);
  absl::StatusOr<bool> BeginsAsOurs(ResultFile file, std::int64_t size, Rows& rows);
  absl::StatusOr<std::string> Read(ResultFile file, std::int64_t offset, std::int64_t size);
  // Renames the file, and creates a new one.
  absl::Status PutAside(ResultFile file);
  absl::Status RepairFile(ResultFile file, Rows& rows);
  // Returns the row up to which the file matches the rows; row 0 if it does not match.
  absl::StatusOr<ResultRow> LastWritten(ResultFile file, std::int64_t size, Rows& rows);
  absl::Status AppendTogether(std::span<const ResultRow> rows);
  FileTexts TextsOf(const ResultRow& row);
  absl::Status AppendAfter(ResultFile file, std::int64_t row, std::int64_t end, Rows& rows);
  absl::Status WidenTable(const ResultRow& row);
  absl::Status OpenNewTable();
  absl::Status ReplaceTable();
  std::string NewTablePath() const;
  absl::Status Write(ResultFile file, std::string_view text, std::int64_t offset);
  absl::Status Error(ResultFile file, std::string_view what) const;
  // Returns ResourceExhausted for a lack of room or descriptors.
  absl::Status ErrnoError(ResultFile file) const;
  void Fault(std::string_view point);

  const Options options_;
  ResultFiles files_;
  struct Placed {
    std::int64_t row = 0;
    FileTexts texts;
  };
  std::deque<Placed> placed_;  // Rows not written yet, in order.
  std::array<runtime::UniqueFd, kResultFiles> fds_;
  runtime::UniqueFd new_table_;  // Open while the table is rewritten.
  bool behind_ = true;
  FileEnds written_ = {};  // File sizes, unless behind; valid even if changed_.
  bool changed_ = false;   // By another program.
  bool made_directory_ = false;
  std::vector<std::string> notices_;
};

}  // namespace trainer

#endif  // TRAINER_RUN_RUN_FILES_H_

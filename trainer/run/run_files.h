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

// The growing files of one run on disk. They are derived from the stored rows and nobody else is to
// write them, so every row has one place in each file: writing a row twice changes nothing. A file
// that somebody else has changed, or made under its name, is put aside, and is made anew. A row
// with a name that no row before it had makes progress.csv another file, with wider rows: where
// those before it end there is not kept, so that file is repaired from its newest widening on, or
// as a whole. One thread; every method blocks for the disk.
class RunFiles {
 public:
  struct Options {
    std::string directory;
    RunIdentity run;
    runtime::FileMode directory_mode = 0755;
    // Called at each named point between two writes: a test kills itself there.
    std::function<void(std::string_view point)> fault = {};
  };
  // Where the rows come from.
  class Rows {
   public:
    virtual ~Rows() = default;
    // The newest row whose end in `file` is at most `size`; row 0 if no row fits.
    virtual absl::StatusOr<ResultRow> LastThatFits(ResultFile file, std::int64_t size) = 0;
    // Rows after `row`, oldest first; a bounded number, none at the end.
    virtual absl::StatusOr<std::vector<ResultRow>> After(std::int64_t row) = 0;
    // In their order.
    virtual absl::StatusOr<std::vector<CsvWidening>> Widenings() = 0;
  };

  explicit RunFiles(Options options);

  // Fills in the row's `ends`, given those of the row before it. Returns the columns that it adds
  // to the table: progress.csv is then another file from its first byte on, and the ends of the
  // rows before are those of the old one. Touches no file.
  // The text of the row in each file is kept until it is written.
  std::vector<std::string> Place(const FileEnds& before, const RowMetrics& metrics, ResultRow& row);
  // Rows after `row` were placed but do not count.
  void ForgetPlacesAfter(std::int64_t row);
  // Ends before the first row.
  FileEnds Beginning() const;

  // Makes the files agree with the rows: makes what is missing, cuts off what belongs to no row or
  // is torn, appends what is not there. Call it first, and again after an error of Append().
  // ResourceExhausted: the disk is full; it may be tried again.
  absl::Status Repair(Rows& rows);
  // The changes by somebody else that Repair() has found since the last call; in sentences.
  std::vector<std::string> TakeNotices() { return std::exchange(notices_, {}); }
  // Repair() has made the run's directory since the last time.
  bool TakeMadeDirectory() { return std::exchange(made_directory_, false); }
  // Writes rows, in their order, behind the last one, each file once; a row that adds columns is
  // written after the whole table was written anew beside the old one, which it replaces in one
  // step. Opens the files if they are closed. An error (a full disk) leaves the files behind the
  // rows: Repair(). DataLoss: somebody else has changed or removed one since it was written.
  absl::Status Append(std::span<const ResultRow> rows);
  absl::Status Append(const ResultRow& row) { return Append(std::span(&row, 1)); }
  void Close();
  // As Append() does before it writes, where the last row ends so. False: the files are behind.
  bool AreAsWritten(const FileEnds& ends);
  bool behind() const { return behind_; }
  // True if a file that exists ends before `ends`.
  bool AreShorterThan(const FileEnds& ends) const;

 private:
  absl::Status Open();
  absl::Status OpenFile(ResultFile file);
  // Whether the trainer wrote what is in the file, as far as that can be known.
  absl::StatusOr<bool> IsOurs(ResultFile file, std::int64_t size, Rows& rows);
  absl::StatusOr<bool> BeginsAsOurs(ResultFile file, std::int64_t size, Rows& rows);
  absl::StatusOr<std::string> Read(ResultFile file, std::int64_t offset, std::int64_t size);
  // Gives it another name, and makes a new one.
  absl::Status PutAside(ResultFile file);
  absl::Status RepairFile(ResultFile file, Rows& rows);
  // The row up to which the file agrees with the rows; row 0: it does not.
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
  // ResourceExhausted for a lack of room or descriptors.
  absl::Status ErrnoError(ResultFile file) const;
  void Fault(std::string_view point);

  const Options options_;
  ResultFiles files_;
  struct Placed {
    std::int64_t row = 0;
    FileTexts texts;
  };
  std::deque<Placed> placed_;  // In the order of rows; not written yet.
  std::array<runtime::UniqueFd, kResultFiles> fds_;
  runtime::UniqueFd new_table_;  // While the table is written anew.
  bool behind_ = true;
  FileEnds written_ = {};  // Their sizes, unless they are behind; also if they are changed.
  bool changed_ = false;   // By somebody else.
  bool made_directory_ = false;
  std::vector<std::string> notices_;
};

}  // namespace trainer

#endif  // TRAINER_RUN_RUN_FILES_H_

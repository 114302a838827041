#include "trainer/run/run_files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/file/own_directory.h"
#include "runtime/text/string_view.h"
#include "trainer/run/csv_widening.h"

namespace trainer {
namespace {

constexpr ResultFile kAllFiles[] = {kResultJson, kProgressCsv, kEventFile};
// Stands for the newest columns.
constexpr std::int64_t kNewest = std::numeric_limits<std::int64_t>::max();

absl::Status WriteAt(int fd, std::string_view text, std::int64_t offset) {
  while (!text.empty()) {
    const ssize_t count = pwrite(fd, text.data(), text.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const std::string reason = strerror(errno);
      return errno == ENOSPC || errno == EDQUOT ? absl::ResourceExhaustedError(reason)
                                                : absl::InternalError(reason);
    }
    text.remove_prefix(static_cast<std::size_t>(count));
    offset += count;
  }
  return absl::OkStatus();
}

}  // namespace

RunFiles::RunFiles(Options options) : options_(std::move(options)), files_(options_.run) {}

std::vector<std::string> RunFiles::Place(const FileEnds& before, const RowMetrics& metrics,
                                         ResultRow& row) {
  std::vector<std::string> added;
  FileTexts texts = files_.RenderNext(row, metrics, added);
  for (const ResultFile file : kAllFiles) {
    row.ends[file] = before[file] + static_cast<std::int64_t>(texts[file].size());
  }
  if (!added.empty()) {
    // The header grows, and each earlier row gets an empty cell for each new column.
    row.ends[kProgressCsv] += static_cast<std::int64_t>(files_.CsvHeader(row.row).size() -
                                                        files_.CsvHeader(row.row - 1).size()) +
                              (row.row - 1) * static_cast<std::int64_t>(added.size());
  }
  placed_.push_back({row.row, std::move(texts)});
  return added;
}

void RunFiles::ForgetPlacesAfter(std::int64_t row) {
  while (!placed_.empty() && placed_.back().row > row) placed_.pop_back();
  files_.ForgetWideningsAfter(row);
}

FileEnds RunFiles::Beginning() const {
  const FileTexts texts = files_.Beginning();
  FileEnds ends;
  for (const ResultFile file : kAllFiles)
    ends[file] = static_cast<std::int64_t>(texts[file].size());
  return ends;
}

absl::Status RunFiles::Repair(Rows& rows) {
  behind_ = true;
  Close();
  placed_.clear();
  struct stat about {};
  if (stat(options_.directory.c_str(), &about) != 0 && errno == ENOENT) made_directory_ = true;
  if (auto status = Open(); !status.ok()) return status;
  auto first = rows.After(0);
  if (!first.ok()) return first.status();
  auto widenings = rows.Widenings();
  if (!widenings.ok()) return widenings.status();
  if (!first->empty()) {
    files_.SetColumns(ResultFiles::ColumnsFor(options_.run, first->front()), *std::move(widenings));
  }
  for (const ResultFile file : kAllFiles) {
    if (auto status = RepairFile(file, rows); !status.ok()) return status;
    if (fstat(fds_[file].get(), &about) != 0) return ErrnoError(file);
    written_[file] = about.st_size;
  }
  behind_ = changed_ = false;
  return absl::OkStatus();
}

absl::StatusOr<std::string> RunFiles::Read(ResultFile file, std::int64_t offset,
                                           std::int64_t size) {
  std::string text(static_cast<std::size_t>(size), '\0');
  const ssize_t count = pread(fds_[file].get(), text.data(), text.size(), offset);
  if (count < 0) return ErrnoError(file);
  text.resize(static_cast<std::size_t>(count));
  return text;
}

absl::StatusOr<bool> RunFiles::IsOurs(ResultFile file, std::int64_t size, Rows& rows) {
  if (size == 0) return true;
  if (changed_ && size != written_[file]) return false;
  if (file == kProgressCsv) return BeginsAsOurs(file, size, rows);
  const auto last = rows.LastThatFits(file, size);
  if (!last.ok()) return last.status();
  if (last->row == 0) return BeginsAsOurs(file, size, rows);
  const std::string text = files_.Render(*last, kNewest)[file];
  const auto found = Read(file, last->ends[file] - static_cast<std::int64_t>(text.size()),
                          static_cast<std::int64_t>(text.size()));
  if (!found.ok()) return found.status();
  return *found == text;
}

// The file may hold rows that the store lost in a power failure.
absl::StatusOr<bool> RunFiles::BeginsAsOurs(ResultFile file, std::int64_t size, Rows& rows) {
  constexpr std::int64_t kMostOfALine = 1 << 20;
  auto found = Read(file, 0, std::min(size, kMostOfALine));
  if (!found.ok()) return found.status();
  const auto first = rows.After(0);
  if (!first.ok()) return first.status();
  std::string expected = files_.Beginning()[file];
  if (file == kProgressCsv && !first->empty()) expected = files_.CsvHeader(kNewest);
  if (file == kResultJson && !first->empty()) expected = files_.Render(first->front(), 1)[file];
  if (expected.empty()) return found->find(options_.run.trial_id) != found->npos;
  // The table may lack its last columns, be torn, or have columns of lost rows.
  if (file == kProgressCsv) expected.pop_back();
  const std::string_view begins =
      file == kProgressCsv ? std::string_view(*found).substr(0, found->find('\n')) : *found;
  const std::size_t length = std::min(begins.size(), expected.size());
  return begins.substr(0, length) == std::string_view(expected).substr(0, length);
}

absl::Status RunFiles::PutAside(ResultFile file) {
  // Avoids a name that a reader would take for an event file.
  const std::string name = file == kEventFile ? "event_file" : files_.Name(file);
  const std::string path = absl::StrCat(options_.directory, "/", files_.Name(file));
  std::string aside = absl::StrCat(name, ".put_aside");
  struct stat about {};
  for (int i = 2; lstat(absl::StrCat(options_.directory, "/", aside).c_str(), &about) == 0; ++i) {
    aside = absl::StrCat(name, ".put_aside.", i);
  }
  if (rename(path.c_str(), absl::StrCat(options_.directory, "/", aside).c_str()) != 0) {
    return ErrnoError(file);
  }
  notices_.push_back(absl::StrCat(files_.Name(file), " was changed by another program: what was ",
                                  "there is in ", aside, ", and it is made anew"));
  return OpenFile(file);
}

absl::Status RunFiles::RepairFile(ResultFile file, Rows& rows) {
  struct stat about {};
  if (fstat(fds_[file].get(), &about) != 0) return ErrnoError(file);
  const auto is_ours = IsOurs(file, about.st_size, rows);
  if (!is_ours.ok()) return is_ours.status();
  if (!*is_ours) {
    if (auto status = PutAside(file); !status.ok()) return status;
    about.st_size = 0;
  } else if (changed_ && about.st_size == 0 && written_[file] > 0) {
    notices_.push_back(absl::StrCat(files_.Name(file), " was removed: it is made anew"));
  }
  auto last = LastWritten(file, about.st_size, rows);
  if (!last.ok()) return last.status();
  if (last->row == 0 && file == kProgressCsv && about.st_size > 0) {
    // Readers see the old table until the new one is complete.
    if (auto status = OpenNewTable(); !status.ok()) return status;
    std::swap(fds_[file], new_table_);
    if (auto status = AppendAfter(file, 0, 0, rows); !status.ok()) return status;
    return ReplaceTable();
  }
  std::int64_t end = last->row == 0 ? 0 : last->ends[file];
  if (about.st_size > end && ftruncate(fds_[file].get(), end) != 0) {
    return ErrnoError(file);
  }
  if (last->row == 0) {
    const FileTexts beginning = files_.Beginning();
    if (auto status = Write(file, beginning[file], 0); !status.ok()) return status;
    end = static_cast<std::int64_t>(beginning[file].size());
  }
  return AppendAfter(file, last->row, end, rows);
}

absl::StatusOr<ResultRow> RunFiles::LastWritten(ResultFile file, std::int64_t size, Rows& rows) {
  auto last = rows.LastThatFits(file, size);
  if (!last.ok() || file != kProgressCsv || last->row == 0) return last;
  // The ends of rows before the last widening refer to the old file, which should be gone; if it is
  // still there, it must not be taken for the wider one.
  const std::string header = files_.CsvHeader(kNewest);
  std::string found(header.size(), '\0');
  const ssize_t count = pread(fds_[file].get(), found.data(), found.size(), 0);
  if (count < 0) return ErrnoError(file);
  found.resize(static_cast<std::size_t>(count));
  if (last->row < files_.LastWidening() || found != header) return ResultRow();
  return last;
}

absl::Status RunFiles::AppendAfter(ResultFile file, std::int64_t row, std::int64_t end,
                                   Rows& rows) {
  for (;;) {
    auto more = rows.After(row);
    if (!more.ok()) return more.status();
    if (more->empty()) return absl::OkStatus();
    std::string text;
    for (const ResultRow& next : *more) text += files_.Render(next, kNewest)[file];
    if (auto status = Write(file, text, end); !status.ok()) return status;
    end += static_cast<std::int64_t>(text.size());
    row = more->back().row;
  }
}

absl::Status RunFiles::Append(std::span<const ResultRow> rows) {
  if (behind_) return absl::FailedPreconditionError("the files are behind: repair them first");
  if (rows.empty()) return absl::OkStatus();
  if (!fds_[kResultJson].valid()) {
    if (auto status = Open(); !status.ok()) return status;
  }
  if (!AreAsWritten(written_)) {
    return absl::DataLossError(
        absl::StrCat("the files in ", options_.directory, " are not as they were written"));
  }
  behind_ = true;
  while (!rows.empty()) {
    // Takes rows up to the next one that widens the table.
    std::size_t count = 1;
    while (count < rows.size() && files_.AddedAt(rows[count].row) == 0) ++count;
    if (files_.AddedAt(rows.front().row) > 0) {
      if (auto status = WidenTable(rows.front()); !status.ok()) return status;
    }
    if (auto status = AppendTogether(rows.first(count)); !status.ok()) return status;
    written_ = rows[count - 1].ends;
    rows = rows.subspan(count);
  }
  behind_ = false;
  return absl::OkStatus();
}

absl::Status RunFiles::AppendTogether(std::span<const ResultRow> rows) {
  FileTexts together;
  for (const ResultRow& row : rows) {
    FileTexts texts = TextsOf(row);
    for (const ResultFile file : kAllFiles) together[file] += texts[file];
  }
  for (const ResultFile file : kAllFiles) {
    const auto size = static_cast<std::int64_t>(together[file].size());
    const absl::Status written = Write(file, together[file], rows.back().ends[file] - size);
    if (!written.ok()) return written;
    Fault("between files");
  }
  return absl::OkStatus();
}

FileTexts RunFiles::TextsOf(const ResultRow& row) {
  while (!placed_.empty() && placed_.front().row < row.row) placed_.pop_front();
  if (placed_.empty() || placed_.front().row != row.row) return files_.Render(row, row.row);
  FileTexts texts = std::move(placed_.front().texts);
  placed_.pop_front();
  return texts;
}

absl::Status RunFiles::WidenTable(const ResultRow& row) {
  if (auto status = OpenNewTable(); !status.ok()) return status;
  const absl::Status copied =
      CopyWidened(fds_[kProgressCsv].get(), new_table_.get(), files_.CsvHeader(row.row - 1),
                  files_.CsvHeader(row.row), files_.AddedAt(row.row));
  if (!copied.ok()) {
    return absl::Status(copied.code(),
                        Error(kProgressCsv, runtime::Std(copied.message())).message());
  }
  Fault("before the wider table");
  std::swap(fds_[kProgressCsv], new_table_);
  if (auto status = ReplaceTable(); !status.ok()) return status;
  Fault("after the wider table");
  return absl::OkStatus();
}

absl::Status RunFiles::OpenNewTable() {
  const std::string path = NewTablePath();
  // Removes a file, or a symbolic link, left by a killed trainer.
  unlink(path.c_str());
  const auto mode = runtime::FileMode::OfFileIn(options_.directory);
  new_table_ = runtime::UniqueFd(
      open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode.mode()));
  if (!new_table_.valid()) return ErrnoError(kProgressCsv);
  mode.Settle(new_table_.get());
  return absl::OkStatus();
}

absl::Status RunFiles::ReplaceTable() {
  new_table_.reset();
  const std::string path = absl::StrCat(options_.directory, "/", files_.Name(kProgressCsv));
  if (rename(NewTablePath().c_str(), path.c_str()) == 0) return absl::OkStatus();
  return ErrnoError(kProgressCsv);
}

bool RunFiles::AreAsWritten(const FileEnds& ends) {
  for (const ResultFile file : kAllFiles) {
    const std::string path = absl::StrCat(options_.directory, "/", files_.Name(file));
    struct stat there {
    }, ours{};
    const bool is_ours =
        lstat(path.c_str(), &there) == 0 && there.st_size == ends[file] &&
        (!fds_[file].valid() || (fstat(fds_[file].get(), &ours) == 0 &&
                                 there.st_ino == ours.st_ino && there.st_dev == ours.st_dev));
    if (is_ours) continue;
    behind_ = changed_ = true;
    return false;
  }
  return true;
}

bool RunFiles::AreShorterThan(const FileEnds& ends) const {
  for (const ResultFile file : kAllFiles) {
    const std::string path = absl::StrCat(options_.directory, "/", files_.Name(file));
    struct stat about {};
    if (stat(path.c_str(), &about) == 0 && about.st_size < ends[file]) return true;
  }
  return false;
}

std::string RunFiles::NewTablePath() const {
  return absl::StrCat(options_.directory, "/", files_.Name(kProgressCsv), ".new");
}

void RunFiles::Close() {
  new_table_.reset();
  for (runtime::UniqueFd& fd : fds_) fd.reset();
}

absl::Status RunFiles::Open() {
  if (auto status = runtime::MakeOwnDirectory(options_.directory, options_.directory_mode);
      !status.ok())
    return status;
  unlink(NewTablePath().c_str());
  for (const ResultFile file : kAllFiles) {
    if (auto status = OpenFile(file); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status RunFiles::OpenFile(ResultFile file) {
  const std::string path = absl::StrCat(options_.directory, "/", files_.Name(file));
  fds_[file] = runtime::OpenOrMake(path, O_RDWR | O_NOFOLLOW,
                                   runtime::FileMode::OfFileIn(options_.directory));
  return fds_[file].valid() ? absl::OkStatus() : ErrnoError(file);
}

absl::Status RunFiles::Write(ResultFile file, std::string_view text, std::int64_t offset) {
  if (text.empty()) return absl::OkStatus();
  const int fd = fds_[file].get();
  absl::Status status;
  if (options_.fault) {
    status = WriteAt(fd, text.substr(0, text.size() / 2), offset);
    Fault("inside a file");
  }
  if (status.ok()) status = WriteAt(fd, text, offset);
  if (status.ok()) return status;
  return absl::Status(status.code(), Error(file, runtime::Std(status.message())).message());
}

absl::Status RunFiles::Error(ResultFile file, std::string_view what) const {
  return absl::InternalError(absl::StrCat("cannot write ", options_.directory, "/",
                                          files_.Name(file), ": ", runtime::Absl(what)));
}

absl::Status RunFiles::ErrnoError(ResultFile file) const {
  const int error = errno;
  const absl::Status status = Error(file, strerror(error));
  const bool is_lack = absl::ErrnoToStatusCode(error) == absl::StatusCode::kResourceExhausted;
  return is_lack ? absl::ResourceExhaustedError(status.message()) : status;
}

void RunFiles::Fault(std::string_view point) {
  if (options_.fault) options_.fault(point);
}

}  // namespace trainer

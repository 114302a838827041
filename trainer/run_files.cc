#include "trainer/run_files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/file.h"
#include "runtime/string_view.h"

namespace trainer {
namespace {

constexpr ResultFile kAllFiles[] = {kResultJson, kProgressCsv, kEventFile};

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

void RunFiles::Place(const FileEnds& before, ResultRow& row) {
  const FileTexts texts = files_.Render(row);
  for (const ResultFile file : kAllFiles) {
    row.ends[file] = before[file] + static_cast<std::int64_t>(texts[file].size());
  }
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
  if (auto status = Open(); !status.ok()) return status;
  auto first = rows.After(0);
  if (!first.ok()) return first.status();
  if (!first->empty()) files_.SetColumns(ResultFiles::ColumnsFor(options_.run, first->front()));
  for (const ResultFile file : kAllFiles) {
    if (auto status = RepairFile(file, rows); !status.ok()) return status;
  }
  behind_ = false;
  return absl::OkStatus();
}

absl::Status RunFiles::RepairFile(ResultFile file, Rows& rows) {
  struct stat about {};
  if (fstat(fds_[file].get(), &about) != 0) return Error(file, strerror(errno));
  auto last = rows.LastThatFits(file, about.st_size);
  if (!last.ok()) return last.status();
  std::int64_t end = last->row == 0 ? 0 : last->ends[file];
  if (about.st_size > end && ftruncate(fds_[file].get(), end) != 0) {
    return Error(file, strerror(errno));
  }
  if (last->row == 0) {
    const FileTexts beginning = files_.Beginning();
    if (auto status = Write(file, beginning[file], 0); !status.ok()) return status;
    end = static_cast<std::int64_t>(beginning[file].size());
  }
  for (std::int64_t row = last->row;;) {
    auto more = rows.After(row);
    if (!more.ok()) return more.status();
    if (more->empty()) return absl::OkStatus();
    std::string text;
    for (const ResultRow& next : *more) text += files_.Render(next)[file];
    if (auto status = Write(file, text, end); !status.ok()) return status;
    end += static_cast<std::int64_t>(text.size());
    row = more->back().row;
  }
}

absl::Status RunFiles::Append(const ResultRow& row) {
  if (behind_) return absl::FailedPreconditionError("the files are behind: repair them first");
  behind_ = true;
  if (!fds_[kResultJson].valid()) {
    if (auto status = Open(); !status.ok()) return status;
  }
  const FileTexts texts = files_.Render(row);
  for (const ResultFile file : kAllFiles) {
    const auto size = static_cast<std::int64_t>(texts[file].size());
    if (auto status = Write(file, texts[file], row.ends[file] - size); !status.ok()) return status;
    Fault("between files");
  }
  behind_ = false;
  return absl::OkStatus();
}

void RunFiles::Close() {
  for (runtime::UniqueFd& fd : fds_) fd.reset();
}

absl::Status RunFiles::Open() {
  if (auto status = runtime::MakeDirectories(options_.directory); !status.ok()) return status;
  for (const ResultFile file : kAllFiles) {
    const std::string path = absl::StrCat(options_.directory, "/", files_.Name(file));
    fds_[file] =
        runtime::UniqueFd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (!fds_[file].valid()) return Error(file, strerror(errno));
  }
  return absl::OkStatus();
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

void RunFiles::Fault(std::string_view point) {
  if (options_.fault) options_.fault(point);
}

}  // namespace trainer

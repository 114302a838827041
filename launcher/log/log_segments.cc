#include "launcher/log/log_segments.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace launcher {
namespace {

constexpr int kMaxTries = 20;

absl::Status Missing(const std::string& path) {
  return absl::NotFoundError(absl::StrCat("there is no log file ", path));
}

}  // namespace

LogSegments::LogSegments(std::string path) : path_(std::move(path)) {}

absl::StatusOr<LogSegments::Extent> LogSegments::Look() const {
  const LogFiles files = FindLogFiles(path_);
  if (files.empty()) return Missing(path_);
  return Extent{files.begin(), files.current_end};
}

absl::Status LogSegments::OpenAt(std::uint64_t offset) {
  // If a file is removed between the search and the open, the search is repeated.
  for (int i = 0; i < kMaxTries; ++i) {
    LogFiles files = FindLogFiles(path_);
    if (files.empty()) return Missing(path_);
    const auto segment = std::find_if(files.segments.begin(), files.segments.end(),
                                      [&](const auto& file) { return offset < file.end; });
    const bool is_current = segment == files.segments.end();
    const std::uint64_t begin = is_current ? files.current_begin : segment->begin;
    if (offset < begin) {
      first_left_ = begin;
      return absl::OutOfRangeError(absl::StrCat("the log ", path_, " has been rotated: byte ",
                                                offset, " is gone, the first one left is ", begin));
    }
    runtime::UniqueFd file = is_current ? std::move(files.current) : OpenLogFile(segment->path);
    if (!file.valid()) {
      if (is_current) return absl::OkStatus();
      continue;
    }
    file_ = std::move(file);
    file_begin_ = begin;
    return absl::OkStatus();
  }
  return absl::UnavailableError(absl::StrCat("the log ", path_, " is rotated too fast to be read"));
}

bool LogSegments::IsCurrent() const {
  struct stat ours = {}, current = {};
  return fstat(file_.get(), &ours) == 0 && stat(path_.c_str(), &current) == 0 &&
         ours.st_dev == current.st_dev && ours.st_ino == current.st_ino;
}

std::string LogSegments::ReadFile(std::uint64_t offset, std::size_t size) const {
  if (!file_.valid() || offset < file_begin_) return {};
  std::string bytes(size, '\0');
  const ssize_t got =
      pread(file_.get(), bytes.data(), size, static_cast<off_t>(offset - file_begin_));
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return bytes;
}

absl::StatusOr<std::string> LogSegments::Read(std::uint64_t offset, std::size_t size) {
  std::string bytes = ReadFile(offset, size);
  while (bytes.size() < size) {
    const std::uint64_t at = offset + bytes.size();
    // The end of the current file is the end of the log. Whether the file is current is checked
    // before the last read, because the file may grow and be rotated right after that read.
    const bool is_end = file_.valid() && at >= file_begin_ && IsCurrent();
    std::string more = ReadFile(at, size - bytes.size());
    if (more.empty() && !is_end) {
      if (auto opened = OpenAt(at); !opened.ok()) {
        if (!bytes.empty()) break;
        return opened;
      }
      more = ReadFile(at, size - bytes.size());
    }
    if (more.empty()) break;
    bytes += more;
  }
  return bytes;
}

}  // namespace launcher

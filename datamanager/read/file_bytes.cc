#include "datamanager/read/file_bytes.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "eventlog/crc32c.h"
#include "runtime/file/unique_fd.h"

namespace datamanager {
namespace {

constexpr std::size_t kCheckedAtOnce = std::size_t{1} << 20;

absl::Status OpenError(const std::string& path, int error) {
  const std::string message = absl::StrCat("cannot open ", path, ": ", std::strerror(error));
  return error == ENOENT || error == ENOTDIR ? absl::NotFoundError(message)
                                             : absl::UnavailableError(message);
}

absl::Status NotThere(const std::string& path, const FileRange& range) {
  return absl::DataLossError(absl::StrCat(path, " does not hold the value of ", range.length,
                                          " bytes at ", range.offset,
                                          " any more; ask for the run's values again"));
}

absl::Status CheckLength(const FileRange& range) {
  if (range.length <= kMaxRangeBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a value of ", range.length, " bytes: none is longer than ", kMaxRangeBytes));
}

// Reads `size` bytes at offset `first` of the range.
absl::StatusOr<std::string> ReadPart(const std::string& path, const FileRange& range,
                                     std::uint64_t first, std::size_t size,
                                     eventlog::OpenFileBound* open_files) {
  // No file is that long, and off_t is signed.
  if (range.offset > (std::uint64_t{1} << 62)) return NotThere(path, range);
  const eventlog::OpenFileBound::Slot place(open_files);
  // O_NONBLOCK: opening a named pipe would otherwise block.
  const runtime::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return OpenError(path, errno);
  std::string bytes;
  // The range may be longer than the file, so memory is allocated only as bytes arrive.
  while (bytes.size() < size) {
    const std::size_t before = bytes.size();
    bytes.resize(std::min(size, before + kCheckedAtOnce));
    const ssize_t got = pread(file.get(), bytes.data() + before, bytes.size() - before,
                              static_cast<off_t>(range.offset + first + before));
    if (got < 0 && errno != EINTR) {
      return absl::UnavailableError(absl::StrCat("cannot read ", path, ": ", std::strerror(errno)));
    }
    if (got == 0) return NotThere(path, range);
    bytes.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  }
  return bytes;
}

}  // namespace

absl::StatusOr<std::string> ReadFileRange(const std::string& path, const FileRange& range,
                                          eventlog::OpenFileBound* open_files) {
  if (absl::Status good = CheckLength(range); !good.ok()) return good;
  auto bytes = ReadPart(path, range, 0, range.length, open_files);
  if (bytes.ok() && eventlog::Crc32c(*bytes) != range.crc) return NotThere(path, range);
  return bytes;
}

FileRangeReader::FileRangeReader(std::string path, const FileRange& range,
                                 eventlog::OpenFileBound* open_files)
    : path_(std::move(path)), range_(range), open_files_(open_files) {}

absl::StatusOr<FileRangeReader> FileRangeReader::Open(std::string path, const FileRange& range,
                                                      eventlog::OpenFileBound* open_files) {
  if (absl::Status good = CheckLength(range); !good.ok()) return good;
  FileRangeReader check(path, range, open_files);
  do {
    const auto bytes = check.Next(kCheckedAtOnce);
    if (!bytes.ok()) return bytes.status();
  } while (check.done_ < range.length);
  return FileRangeReader(std::move(path), range, open_files);
}

absl::StatusOr<std::string> FileRangeReader::Next(std::size_t limit) {
  const auto size = std::min<std::uint64_t>(limit, range_.length - done_);
  auto bytes = ReadPart(path_, range_, done_, size, open_files_);
  if (!bytes.ok()) return bytes;
  done_ += size;
  crc_ = eventlog::ExtendCrc32c(crc_, *bytes);
  if (done_ == range_.length && crc_ != range_.crc) return NotThere(path_, range_);
  return bytes;
}

}  // namespace datamanager

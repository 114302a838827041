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

absl::Status NotThere(const std::string& path, const FileStretch& stretch) {
  return absl::DataLossError(absl::StrCat(path, " does not hold the value of ", stretch.length,
                                          " bytes at ", stretch.offset,
                                          " any more; ask for the run's values again"));
}

absl::Status CheckLength(const FileStretch& stretch) {
  if (stretch.length <= kMaxStretchBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a value of ", stretch.length,
                                                 " bytes: none is longer than ", kMaxStretchBytes));
}

// `size` bytes at the offset `first` of the stretch.
absl::StatusOr<std::string> ReadPart(const std::string& path, const FileStretch& stretch,
                                     std::uint64_t first, std::size_t size,
                                     eventlog::OpenFileBound* open_files) {
  // No file reaches as far, and off_t is signed.
  if (stretch.offset > (std::uint64_t{1} << 62)) return NotThere(path, stretch);
  const eventlog::OpenFileBound::Place place(open_files);
  // Not to wait for a writer if somebody has put a FIFO there.
  const runtime::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return OpenError(path, errno);
  std::string bytes;
  // The caller may ask for more than there is: memory is taken only as bytes are seen.
  while (bytes.size() < size) {
    const std::size_t before = bytes.size();
    bytes.resize(std::min(size, before + kCheckedAtOnce));
    const ssize_t got = pread(file.get(), bytes.data() + before, bytes.size() - before,
                              static_cast<off_t>(stretch.offset + first + before));
    if (got < 0 && errno != EINTR) {
      return absl::UnavailableError(absl::StrCat("cannot read ", path, ": ", std::strerror(errno)));
    }
    if (got == 0) return NotThere(path, stretch);
    bytes.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  }
  return bytes;
}

}  // namespace

absl::StatusOr<std::string> ReadStretch(const std::string& path, const FileStretch& stretch,
                                        eventlog::OpenFileBound* open_files) {
  if (absl::Status good = CheckLength(stretch); !good.ok()) return good;
  auto bytes = ReadPart(path, stretch, 0, stretch.length, open_files);
  if (bytes.ok() && eventlog::Crc32c(*bytes) != stretch.crc) return NotThere(path, stretch);
  return bytes;
}

StretchReader::StretchReader(std::string path, const FileStretch& stretch,
                             eventlog::OpenFileBound* open_files)
    : path_(std::move(path)), stretch_(stretch), open_files_(open_files) {}

absl::StatusOr<StretchReader> StretchReader::Open(std::string path, const FileStretch& stretch,
                                                  eventlog::OpenFileBound* open_files) {
  if (absl::Status good = CheckLength(stretch); !good.ok()) return good;
  StretchReader check(path, stretch, open_files);
  do {
    const auto bytes = check.Next(kCheckedAtOnce);
    if (!bytes.ok()) return bytes.status();
  } while (check.done_ < stretch.length);
  return StretchReader(std::move(path), stretch, open_files);
}

absl::StatusOr<std::string> StretchReader::Next(std::size_t limit) {
  const auto size = std::min<std::uint64_t>(limit, stretch_.length - done_);
  auto bytes = ReadPart(path_, stretch_, done_, size, open_files_);
  if (!bytes.ok()) return bytes;
  done_ += size;
  crc_ = eventlog::ExtendCrc32c(crc_, *bytes);
  if (done_ == stretch_.length && crc_ != stretch_.crc) return NotThere(path_, stretch_);
  return bytes;
}

}  // namespace datamanager

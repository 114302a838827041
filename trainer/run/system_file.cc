#include "trainer/run/system_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "eventlog/record.h"
#include "runtime/file/file.h"
#include "runtime/file/unique_fd.h"
#include "runtime/text/string_view.h"

namespace trainer {
namespace {

constexpr std::string_view kPrefix = "events.out.tfevents.";
constexpr std::size_t kPiece = 1 << 20;
// No measurement is this long.
constexpr std::uint64_t kMaxPayload = kPiece / 2;

// Returns the end of the last valid record; -1, with errno, if the file cannot be read. A damaged
// record between valid ones is kept: readers skip it.
std::int64_t SoundSize(int fd) {
  std::string bytes;
  std::int64_t begin = 0, sound = 0;  // Place of `bytes`; end of the last valid record.
  std::size_t at = 0;
  while (true) {
    const auto record = eventlog::ParseRecord(std::string_view(bytes).substr(at), kMaxPayload);
    using State = eventlog::ParsedRecord::State;
    if (record.state == State::kBadHeader) return sound;
    if (record.state != State::kNeedMore) {
      at += record.size;
      if (record.state == State::kRecord) sound = begin + static_cast<std::int64_t>(at);
      continue;
    }
    bytes.erase(0, at);
    begin += static_cast<std::int64_t>(at);
    at = 0;
    const std::size_t have = bytes.size();
    bytes.resize(have + kPiece);
    const ssize_t got =
        pread(fd, bytes.data() + have, kPiece, begin + static_cast<std::int64_t>(have));
    if (got < 0) return -1;
    if (got == 0) return sound;
    bytes.resize(have + static_cast<std::size_t>(got));
  }
}

bool WriteAll(int fd, std::string_view text, std::int64_t offset) {
  while (!text.empty()) {
    const ssize_t count = pwrite(fd, text.data(), text.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
    offset += count;
  }
  return true;
}

}  // namespace

SystemFile::SystemFile(std::string run_directory, const RunIdentity& run)
    : directory_(std::move(run_directory)),
      path_(absl::StrCat(directory_, "/", NameFor(run.event_file))),
      header_(eventlog::RenderFileHeader(static_cast<double>(run.created_us) / 1e6)) {}

std::string SystemFile::NameFor(std::string_view event_file) {
  std::size_t place = event_file.starts_with(kPrefix) ? kPrefix.size() : 0;
  while (place < event_file.size() && event_file[place] >= '0' && event_file[place] <= '9') ++place;
  return absl::StrCat(runtime::Absl(event_file.substr(0, place)), "-sys",
                      runtime::Absl(event_file.substr(place)));
}

absl::Status SystemFile::Repair() {
  const runtime::UniqueFd fd(open(path_.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) return errno == ENOENT ? absl::OkStatus() : Error("open", errno);
  struct stat about {};
  if (fstat(fd.get(), &about) != 0) return Error("look at", errno);
  bool is_put_aside = false;
  return RepairOpened(fd.get(), about.st_size, &is_put_aside);
}

absl::Status SystemFile::RepairOpened(int fd, std::int64_t size, bool* is_put_aside) {
  struct stat about {};
  if (fstat(fd, &about) != 0) return Error("look at", errno);
  if (!S_ISREG(about.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(path_, " is no regular file"));
  }
  const std::int64_t sound = SoundSize(fd);
  if (sound < 0) return Error("read", errno);
  std::string begin(std::min(header_.size(), static_cast<std::size_t>(size)), '\0');
  if (pread(fd, begin.data(), begin.size(), 0) < 0) return Error("read", errno);
  // (Our header may be torn.)
  if (sound == 0 && size > 0 && !header_.starts_with(begin)) {
    *is_put_aside = true;
    return PutAside();
  }
  if (sound < size && ftruncate(fd, sound) != 0) return Error("cut", errno);
  size_ = sound;
  return absl::OkStatus();
}

absl::Status SystemFile::PutAside() {
  // Avoids a name that a reader would take for an event file.
  std::string aside = "system_file.put_aside";
  struct stat about {};
  for (int i = 2; lstat(absl::StrCat(directory_, "/", aside).c_str(), &about) == 0; ++i) {
    aside = absl::StrCat("system_file.put_aside.", i);
  }
  if (rename(path_.c_str(), absl::StrCat(directory_, "/", aside).c_str()) != 0) {
    return Error("put aside", errno);
  }
  size_ = 0;
  notices_.push_back(absl::StrCat(path_.substr(directory_.size() + 1),
                                  " was no event file: what was there is in ", aside,
                                  ", and it is made anew"));
  return absl::OkStatus();
}

absl::Status SystemFile::Append(double wall_time, std::int64_t step,
                                std::span<const eventlog::Scalar> scalars) {
  constexpr int kFlags = O_RDWR | O_NOFOLLOW | O_NONBLOCK;
  const auto mode = [this] { return runtime::FileMode::OfFileIn(directory_); };
  runtime::UniqueFd fd = runtime::OpenOrMake(path_, kFlags, mode());
  if (!fd.valid()) return Error("open", errno);
  struct stat about {};
  if (fstat(fd.get(), &about) != 0) return Error("look at", errno);
  if (about.st_size != size_) {
    bool is_put_aside = false;
    if (auto status = RepairOpened(fd.get(), about.st_size, &is_put_aside); !status.ok()) {
      return status;
    }
    if (is_put_aside) fd = runtime::OpenOrMake(path_, kFlags, mode());
    if (!fd.valid()) return Error("open", errno);
  }
  std::string bytes = size_ == 0 ? header_ : std::string();
  bytes += eventlog::RenderScalars(wall_time, step, scalars, eventlog::ScalarWidth::kDouble);
  if (!WriteAll(fd.get(), bytes, size_)) {
    const int error = errno;
    // (If the rest cannot be truncated now, that happens before the next record.)
    const bool is_cut = ftruncate(fd.get(), size_) == 0;
    if (!is_cut) size_ = -1;
    return Error("append to", error);
  }
  size_ += static_cast<std::int64_t>(bytes.size());
  return absl::OkStatus();
}

std::vector<std::string> SystemFile::TakeNotices() { return std::exchange(notices_, {}); }

absl::Status SystemFile::Error(std::string_view what, int error) const {
  return absl::ErrnoToStatus(error, absl::StrCat("cannot ", runtime::Absl(what), " ", path_));
}

}  // namespace trainer

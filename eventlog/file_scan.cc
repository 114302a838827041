#include "eventlog/file_scan.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "eventlog/crc32c.h"
#include "eventlog/record.h"
#include "runtime/file/unique_fd.h"

namespace eventlog {
namespace {

// Sizes of the parts of a file by whose CRCs it is recognised. The head is not longer than the
// tail, so that while the head grows, the bytes that are read again for the tail begin at the
// file's start.
constexpr std::size_t kHeadBytes = 1 << 10;
constexpr std::size_t kTailBytes = 4 << 10;
// Bytes read after limits.end, for the record that begins before it.
constexpr std::uint64_t kBehindEnd = 4 << 10;
// Longest damaged record that is checked again.
constexpr std::size_t kMostLookedAtAgain = 64 << 20;

std::int64_t Nanoseconds(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

FaultKind FaultOf(ScanOutcome outcome) {
  switch (outcome) {
    case ScanOutcome::kShrunk:
      return FaultKind::kShrunk;
    case ScanOutcome::kReplaced:
      return FaultKind::kReplaced;
    case ScanOutcome::kRewritten:
      return FaultKind::kRewritten;
    case ScanOutcome::kGone:
      return FaultKind::kVanished;
    case ScanOutcome::kNoDescriptor:
      return FaultKind::kNoDescriptor;
    default:
      return FaultKind::kUnreadable;
  }
}

ScanOutcome OutcomeOf(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return ScanOutcome::kGone;
    case EMFILE:
    case ENFILE:
      return ScanOutcome::kNoDescriptor;
    default:
      return ScanOutcome::kUnreadable;
  }
}

// One call of ScanFile(). The buffer contains `held_` bytes of the file from `start_` on; start_ <=
// position->record.offset <= start_ + held_ <= size.
class Scan {
 public:
  Scan(const std::string& path, const FileScanOptions& options, FilePosition* position,
       ReadBuffer* buffer, FileFaults* faults, const ChunkReader& read)
      : path_(path),
        options_(options),
        position_(*position),
        buffer_(*buffer),
        faults_(*faults),
        read_(read) {}

  FileScanResult Run() {
    const OpenFileBound::Slot place(options_.open_files);
    result_.outcome = Read();
    if (result_.outcome != ScanOutcome::kRead && result_.outcome != ScanOutcome::kUnchanged) {
      faults_.Count(FaultOf(result_.outcome), position_.record.offset);
    }
    fd_.reset();  // Before the slot is released.
    buffer_.Trim();
    return std::move(result_);
  }

 private:
  ScanOutcome Read() {
    // O_NONBLOCK: opening a named pipe of that name must not block until a process writes to it.
    fd_ = runtime::UniqueFd(open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!fd_.valid()) return Failed("open");
    // Reads the clock of ctimes before the file's ctime.
    timespec now{};
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    struct stat info;
    if (fstat(fd_.get(), &info) != 0) return Failed("look at");
    if (!S_ISREG(info.st_mode)) {
      result_.status = absl::InvalidArgumentError(absl::StrCat(path_, " is not a regular file"));
      return ScanOutcome::kUnreadable;
    }
    size_ = result_.size = static_cast<std::uint64_t>(info.st_size);
    result_.modified_ns = Nanoseconds(info.st_mtim);
    same_ = position_.device == info.st_dev && position_.inode == info.st_ino;
    const bool known = position_.inode != 0;
    const std::int64_t change_ns = Nanoseconds(info.st_ctim);
    const bool untouched = same_ && position_.change_ns == change_ns && position_.size == size_;
    if (untouched && size_ > 0) return ScanOutcome::kUnchanged;
    if (size_ < position_.record.offset) return Lost(ScanOutcome::kShrunk);
    start_ = position_.record.offset - position_.tail_bytes;
    if (!Fill(0)) return Failed("read");
    if (start_ + held_ < position_.record.offset) return Lost(ScanOutcome::kShrunk);
    if (known) {
      const ScanOutcome verdict = Recognize();
      if (verdict != ScanOutcome::kRead) return verdict;
      if (IsMended()) return Lost(ScanOutcome::kRewritten);
    }
    position_.device = info.st_dev;
    position_.inode = info.st_ino;
    // A change within the same tick would not change the ctime: make the next call compare the
    // contents.
    position_.change_ns = change_ns < Nanoseconds(now) ? change_ns : 0;
    position_.size = 0;
    const ScanOutcome outcome = ReadOn();
    Finish();
    return outcome;
  }

  // Checks that the bytes that were read are still there.
  ScanOutcome Recognize() {
    const std::string_view tail(buffer_.data(), position_.tail_bytes);
    if (Crc32c(tail) != position_.tail_crc) return Lost(ScanOutcome::kRewritten);
    std::array<char, kHeadBytes> bytes;
    std::string_view head(buffer_.data(), position_.head_bytes);
    if (start_ > 0) {
      const ssize_t count = ReadAt(bytes.data(), position_.head_bytes, 0);
      if (count < 0) return Failed("read");
      head = {bytes.data(), static_cast<std::size_t>(count)};
    }
    const bool equal = head.size() == position_.head_bytes && Crc32c(head) == position_.head_crc;
    return equal ? ScanOutcome::kRead : Lost(ScanOutcome::kRewritten);
  }

  // Checks whether records that were skipped as damaged are intact by now: a hole of a copied file
  // may have been filled, which changes neither the size nor the bytes by which the file is
  // recognised. Checks only the first and the last fault of each kind.
  bool IsMended() {
    for (const FaultKind kind :
         {FaultKind::kBadPayload, FaultKind::kBadLength, FaultKind::kTooLong}) {
      const Fault fault = faults_.Of(kind);
      if (fault.count == 0 || position_.record.offset == 0) continue;
      if (IsRecordAt(fault.first_offset)) return true;
      if (fault.last_offset != fault.first_offset && IsRecordAt(fault.last_offset)) return true;
    }
    return false;
  }

  bool IsRecordAt(std::uint64_t offset) {
    std::string bytes(kRecordHeaderBytes, '\0');
    const std::uint64_t most = options_.limits.max_payload_bytes;
    for (int part = 0; part < 2; ++part) {
      const ssize_t count = ReadAt(bytes.data(), bytes.size(), offset);
      if (count < 0 || static_cast<std::size_t>(count) < bytes.size()) return false;
      const ParsedRecord record = ParseRecord(bytes, most);
      if (record.state != ParsedRecord::State::kNeedMore || record.needed > kMostLookedAtAgain) {
        return record.state == ParsedRecord::State::kRecord;
      }
      bytes.resize(record.needed);
    }
    return false;
  }

  // A file with another inode and other contents is another file.
  ScanOutcome Lost(ScanOutcome outcome) const {
    return same_ || position_.inode == 0 ? outcome : ScanOutcome::kReplaced;
  }

  ScanOutcome ReadOn() {
    const std::uint64_t began = position_.record.offset;
    // This fault was set because the file did not begin with a record.
    if (began == 0) faults_.Clear(FaultKind::kBadLength);
    std::size_t needed = 0;
    for (;;) {
      const std::uint64_t offset = position_.record.offset;
      const std::size_t before = static_cast<std::size_t>(offset - start_);
      const std::string_view data(buffer_.data() + before, held_ - before);
      needed = read_({data, size_ - offset}, options_.limits, &position_.record, &faults_);
      KeepHead();
      if (needed == 0) {
        result_.more = true;
        return ScanOutcome::kRead;
      }
      if (needed > size_ - position_.record.offset) break;
      if (position_.record.offset - began >= options_.step_bytes) {
        result_.more = true;
        return ScanOutcome::kRead;
      }
      if (IsSearching() && needed == kRecordHeaderBytes) SkipHole();
      if (needed > size_ - position_.record.offset) break;
      if (!Fill(needed)) return Failed("read");
    }
    position_.size = size_;
    const std::uint64_t rest = size_ - position_.record.offset;
    if (rest > 0 && needed != kNoRecords && !IsSearching()) {
      faults_.Set(FaultKind::kUnfinishedTail, position_.record.offset, rest);
    } else {
      faults_.Clear(FaultKind::kUnfinishedTail);
    }
    return ScanOutcome::kRead;
  }

  // True while searching for the next header.
  bool IsSearching() const { return position_.record.state != RecordPosition::State::kAtRecord; }

  // Skips a hole in the file, which cannot contain a header. (But a header may begin with the zeros
  // at its end.)
  void SkipHole() {
    const off_t data = lseek(fd_.get(), static_cast<off_t>(start_ + held_), SEEK_DATA);
    if (data < 0 && errno != ENXIO) return;
    const std::uint64_t end = data < 0 ? size_ : std::min(size_, static_cast<std::uint64_t>(data));
    constexpr std::uint64_t kZeros = kRecordHeaderBytes - 1;
    const std::uint64_t offset = position_.record.offset;
    if (end < offset + kZeros || end - kZeros < start_ + held_) return;
    PassOver(end - kZeros - offset, &position_.record, &faults_);
    start_ = position_.record.offset;
    held_ = 0;
  }

  // Returns the offset after which nothing is read unless a record requires it: another scan reads
  // the part after limits.end. A search for a header may read to the end of the file.
  std::uint64_t EndOfReading() const {
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
    if (IsSearching()) return kMost;
    const std::uint64_t end = options_.limits.end;
    return end > kMost - kBehindEnd ? kMost : end + kBehindEnd;
  }

  // Drops the buffered bytes before the tail and reads on, so that `needed` bytes follow the
  // position if the file has them. The file may have become shorter meanwhile; reading then ends
  // there.
  bool Fill(std::size_t needed) {
    const std::uint64_t offset = position_.record.offset;
    const std::uint64_t keep =
        std::max(start_, offset - std::min<std::uint64_t>(offset, kTailBytes));
    const auto dropped = static_cast<std::size_t>(keep - start_);
    if (dropped > 0) std::memmove(buffer_.data(), buffer_.data() + dropped, held_ - dropped);
    start_ = keep;
    held_ -= dropped;
    const std::size_t room = static_cast<std::size_t>(offset - start_) + needed;
    buffer_.Reserve(std::max(room, ReadBuffer::kBytes), held_);
    const std::uint64_t wanted = std::max(EndOfReading(), offset + needed);
    while (held_ < room || needed == 0) {
      const std::uint64_t end = std::min(size_, wanted);
      const std::uint64_t left =
          std::min<std::uint64_t>(buffer_.capacity() - held_, end - std::min(end, start_ + held_));
      if (left == 0) return true;
      const ssize_t count =
          ReadAt(buffer_.data() + held_, static_cast<std::size_t>(left), start_ + held_);
      if (count < 0) return false;
      held_ += static_cast<std::size_t>(count);
      if (count == 0) size_ = start_ + held_;
    }
    return true;
  }

  // Returns -1 and sets errno on an error; returns fewer bytes at the end of the file.
  ssize_t ReadAt(char* to, std::size_t bytes, std::uint64_t offset) {
    ssize_t count;
    do {
      count = pread(fd_.get(), to, bytes, static_cast<off_t>(offset));
    } while (count < 0 && errno == EINTR);
    if (count > 0) result_.read_bytes += static_cast<std::uint64_t>(count);
    return count;
  }

  // Extends the head up to its full size while the buffer still begins with it.
  void KeepHead() {
    const auto bytes =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(position_.record.offset, kHeadBytes));
    if (start_ != 0 || bytes <= position_.head_bytes) return;
    position_.head_bytes = bytes;
    position_.head_crc = Crc32c({buffer_.data(), bytes});
  }

  void Finish() {
    const auto read = static_cast<std::size_t>(position_.record.offset - start_);
    const std::size_t bytes = std::min(read, kTailBytes);
    position_.tail_bytes = static_cast<std::uint32_t>(bytes);
    position_.tail_crc = Crc32c({buffer_.data() + (read - bytes), bytes});
  }

  ScanOutcome Failed(const char* what) {
    const int error = errno;
    result_.status = absl::ErrnoToStatus(error, absl::StrCat("cannot ", what, " ", path_));
    // (InvalidArgument would mean that it is not a regular file.)
    if (absl::IsInvalidArgument(result_.status)) {
      result_.status = absl::UnavailableError(result_.status.message());
    }
    return OutcomeOf(error);
  }

  const std::string& path_;
  const FileScanOptions& options_;
  FilePosition& position_;
  ReadBuffer& buffer_;
  FileFaults& faults_;
  const ChunkReader& read_;
  runtime::UniqueFd fd_;
  FileScanResult result_;
  bool same_ = false;
  std::uint64_t size_ = 0;
  std::uint64_t start_ = 0;
  std::size_t held_ = 0;
};

}  // namespace

bool IsSound(const FilePosition& position) {
  const std::uint64_t offset = position.record.offset;
  return position.head_bytes <= std::min<std::uint64_t>(offset, kHeadBytes) &&
         position.tail_bytes <= std::min<std::uint64_t>(offset, kTailBytes) &&
         (offset == 0 || position.inode != 0);
}

FilePosition SeekPosition(std::uint64_t offset) {
  FilePosition position;
  position.record = RecordPosition::Seek(offset);
  return position;
}

std::optional<FilePosition> JoinPositions(const FilePosition& first, const FilePosition& second) {
  const bool fits = first.record.state == RecordPosition::State::kAtRecord &&
                    second.record.state != RecordPosition::State::kSeeking &&
                    first.record.offset == second.record.began && first.device == second.device &&
                    first.inode == second.inode;
  if (!fits) return std::nullopt;
  FilePosition joined = second;
  joined.record.began = first.record.began;
  joined.head_bytes = first.head_bytes;
  joined.head_crc = first.head_crc;
  return joined;
}

void ReadBuffer::Reserve(std::size_t bytes, std::size_t kept) {
  if (bytes <= capacity_) return;
  auto larger = std::make_unique_for_overwrite<char[]>(bytes);
  if (kept > 0) std::memcpy(larger.get(), data_.get(), kept);
  data_ = std::move(larger);
  capacity_ = bytes;
}

void ReadBuffer::Trim() {
  if (capacity_ <= kBytes) return;
  data_.reset();
  capacity_ = 0;
}

FileScanResult ScanFile(const std::string& path, const FileScanOptions& options,
                        FilePosition* position, ReadBuffer* buffer, FileFaults* faults,
                        const ChunkReader& read) {
  return Scan(path, options, position, buffer, faults, read).Run();
}

}  // namespace eventlog

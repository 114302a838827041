#include "launcher/shim/output_pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <utility>

#include "launcher/process/process_table.h"
#include "launcher/wire/log_files.h"

namespace launcher {
namespace {

constexpr std::size_t kChunk = 64 * 1024;
// Maximum number of chunks that are read before the poller serves other descriptors.
constexpr std::size_t kChunksARound = 16;
constexpr std::int64_t kSilenceUs = 50'000;
// Waking the shim for each of many small writes costs the task more than the writes do. So when
// small reads follow each other soon, Gather() waits for a moment before each read. If that nearly
// fills the pipe, it skips the wait a number of times, and twice as many times if the same happened
// last time.
constexpr std::size_t kSmall = kChunk / 8;
constexpr std::size_t kNearlyFull = kChunk / 4 * 3;
constexpr std::int64_t kSoonNs = 1'000'000;
constexpr std::int64_t kMomentNs = 200'000;
constexpr int kLeastWithout = 8, kMostWithout = 1024;

runtime::UniqueFd OpenToAppend(const std::string& path) {
  return runtime::UniqueFd(
      open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0666));
}

std::int64_t WallMicros() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1'000'000LL + now.tv_nsec / 1000;
}

std::int64_t MonotonicNanos() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

// Returns the number of bytes of [data, data + size) up to and including the last newline; 0
// without a newline.
std::size_t ThroughLastNewline(const char* data, std::size_t size) {
  const auto* found = static_cast<const char*>(memrchr(data, '\n', size));
  return found == nullptr ? 0 : static_cast<std::size_t>(found - data) + 1;
}

std::size_t ThroughFirstNewline(const char* data, std::size_t size) {
  const auto* found = static_cast<const char*>(memchr(data, '\n', size));
  return found == nullptr ? 0 : static_cast<std::size_t>(found - data) + 1;
}

}  // namespace

// Always true on disk after OpenFile(): each segment begins where the one before it ends, and the
// current file begins where the last segment ends (or is missing, in Rotate()).

bool OutputPipe::OpenFile(const std::string& path) {
  path_ = path;
  file_ = OpenToAppend(path);
  struct stat status = {};
  if (!file_.valid() || fstat(file_.get(), &status) != 0) return false;
  if (!S_ISREG(status.st_mode)) bounds_.rotate_bytes = 0;
  // (No search for segments if there can be none: listing the folder of many tasks is slow.)
  const bool is_first = bounds_.is_own && status.st_size == 0 && bounds_.rotate_bytes == 0;
  LogFiles files = is_first ? LogFiles() : FindLogFiles(path);
  file_begin_ = files.current_begin;
  begin_ = end_ = file_begin_ + static_cast<std::uint64_t>(status.st_size);
  for (auto& segment : files.segments) segments_.push_back(std::move(segment.path));
  char last = '\n';
  if (files.current.valid() && status.st_size > 0 &&
      pread(files.current.get(), &last, 1, status.st_size - 1) == 1) {
    at_line_end_ = last == '\n';
  }
  if (bounds_.rotate_bytes != 0) RemoveOldSegments();
  return true;
}

bool OutputPipe::MakePipe(std::string* error) {
  if (read_end_.valid()) return true;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    *error = std::string("cannot make a pipe: ") + strerror(errno);
    return false;
  }
  read_end_ = runtime::UniqueFd(ends[0]);
  write_end_ = runtime::UniqueFd(ends[1]);
  // Only our end is non-blocking: the task expects its end to block.
  fcntl(read_end_.get(), F_SETFL, O_NONBLOCK);
  return true;
}

bool OutputPipe::Open(const std::string& path, const Bounds& bounds, std::function<void()> changed,
                      std::string* error) {
  changed_ = std::move(changed);
  bounds_ = bounds;
  if (!OpenFile(path)) {
    *error = "cannot open the log file " + path + ": " + strerror(errno);
    return false;
  }
  if (!MakePipe(error)) return false;
  poller_->Watch(read_end_.get(), EPOLLIN, [this](std::uint32_t events) { OnReady(events); });
  return true;
}

void OutputPipe::OnReady(std::uint32_t events) {
  if ((events & EPOLLHUP) == 0) Gather();
  taken_ = 0;
  // (A short read has emptied the pipe. If more arrives, OnReady() is called again.)
  for (std::size_t i = 1; i <= kChunksARound && ReadOnce() && taken_ == i * kChunk; ++i) {
  }
  if (gathers_) {
    const bool was_full = taken_ >= kNearlyFull;
    if (was_full) without_gathering_ = next_without_;
    next_without_ = was_full ? std::min(2 * next_without_, kMostWithout) : kLeastWithout;
  }
  changed_();
}

void OutputPipe::Gather() {
  const std::int64_t now = MonotonicNanos();
  const bool is_soon = now - std::exchange(ready_ns_, now) < kSoonNs;
  gathers_ = is_soon && (gathers_ || taken_ <= kSmall) && without_gathering_ == 0;
  without_gathering_ = std::max(without_gathering_ - 1, 0);
  if (!gathers_) return;
  const timespec moment = {.tv_sec = 0, .tv_nsec = kMomentNs};
  nanosleep(&moment, nullptr);
}

void OutputPipe::Drain() {
  while (ReadOnce()) {
  }
}

void OutputPipe::Close() {
  if (!read_end_.valid()) return;
  poller_->Forget(read_end_.get());
  read_end_.reset();
  if (times_) times_->NoteEnd(WallMicros(), end_);
}

std::string OutputPipe::name() const { return OpenFileName(read_end_.get()); }

bool OutputPipe::ReadOnce() {
  if (!read_end_.valid()) return false;
  char chunk[kChunk];
  const ssize_t got = read(read_end_.get(), chunk, sizeof chunk);
  if (got > 0) {
    taken_ += static_cast<std::size_t>(got);
    const std::int64_t now = WallMicros();
    if (now > read_us_ + kSilenceUs) spoke_us_ = now;
    read_us_ = now;
    Append(chunk, static_cast<std::size_t>(got));
    return true;
  }
  if (got < 0 && errno == EINTR) return true;
  if (got == 0 || errno != EAGAIN) Close();
  return false;
}

std::size_t OutputPipe::Room(std::size_t size) const {
  if (bounds_.limit == 0) return size;
  return end_ >= bounds_.limit ? 0 : std::min<std::uint64_t>(size, bounds_.limit - end_);
}

std::size_t OutputPipe::Fitting(const char* data, std::size_t size) const {
  const std::uint64_t used = end_ - file_begin_;
  const std::uint64_t most = bounds_.rotate_bytes;
  if (most == 0 || used + size <= most) return size;
  const std::uint64_t room = used < most ? most - used : 0;
  if (const std::size_t lines = ThroughLastNewline(data, room); lines > 0) return lines;
  if (at_line_end_ && used > 0) return 0;
  // The line has begun in this file, or is longer than a file may be.
  const std::uint64_t spare = used / 2 < most ? std::min<std::uint64_t>(size, 2 * most - used) : 0;
  const std::size_t rest = ThroughFirstNewline(data, spare);
  return rest > 0 ? rest : spare;
}

void OutputPipe::Append(const char* data, std::size_t size) {
  const std::size_t room = Room(size);
  over_limit_ += size - room;
  size = room;
  if (times_ && size > 0) times_->Note(read_us_, end_);
  while (size > 0) {
    const std::size_t part = Fitting(data, size);
    if (part == 0) {
      Rotate();
      continue;
    }
    const std::uint64_t before = end_;
    if (!Write(data, part)) {
      dropped_ += size - (end_ - before);
      return;
    }
    data += part;
    size -= part;
  }
}

// Writes to the file and counts what was written; returns false if the disk accepts no more.
bool OutputPipe::Write(const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t written = write(file_.get(), data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    data += written;
    size -= static_cast<std::size_t>(written);
    end_ += static_cast<std::uint64_t>(written);
    at_line_end_ = data[-1] == '\n';
  }
  return true;
}

// The rename is the atomic step. If the shim is killed before it, nothing has changed; if it is
// killed after it, the next shim that opens the log creates the file and removes old segments.
void OutputPipe::Rotate() {
  const std::string segment = LogSegmentPath(path_, file_begin_);
  runtime::UniqueFd next;
  if (rename(path_.c_str(), segment.c_str()) == 0) {
    next = OpenToAppend(path_);
    if (!next.valid()) {
      rotation_error_ = errno;
      rename(segment.c_str(), path_.c_str());
    }
  } else {
    rotation_error_ = errno;
  }
  if (!next.valid()) {
    bounds_.rotate_bytes = 0;
    return;
  }
  file_ = std::move(next);
  file_begin_ = end_;
  at_line_end_ = true;
  segments_.push_back(segment);
  RemoveOldSegments();
}

void OutputPipe::RemoveOldSegments() {
  while (segments_.size() > std::max<std::uint64_t>(bounds_.rotate_files, 1)) {
    unlink(segments_.front().c_str());
    segments_.pop_front();
  }
}

}  // namespace launcher

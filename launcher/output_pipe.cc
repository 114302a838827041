#include "launcher/output_pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include <algorithm>

namespace launcher {
namespace {

constexpr std::size_t kChunk = 64 * 1024;
// Chunks taken before the poller looks at other descriptors again.
constexpr int kChunksARound = 16;

}  // namespace

bool OutputPipe::Open(const std::string& path, std::uint64_t limit, std::function<void()> changed,
                      std::string* error) {
  changed_ = std::move(changed);
  limit_ = limit;
  file_ = runtime::UniqueFd(
      open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0644));
  struct stat status = {};
  if (!file_.valid() || fstat(file_.get(), &status) != 0) {
    *error = "cannot open the log file " + path + ": " + strerror(errno);
    return false;
  }
  begin_ = end_ = static_cast<std::uint64_t>(status.st_size);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    *error = std::string("cannot make a pipe: ") + strerror(errno);
    return false;
  }
  read_end_ = runtime::UniqueFd(ends[0]);
  write_end_ = runtime::UniqueFd(ends[1]);
  // Only our end: the task's must block as it expects.
  fcntl(read_end_.get(), F_SETFL, O_NONBLOCK);
  poller_->Watch(read_end_.get(), EPOLLIN, [this](std::uint32_t) {
    for (int i = 0; i < kChunksARound && ReadOnce(); ++i) {
    }
    changed_();
  });
  return true;
}

void OutputPipe::Drain() {
  while (ReadOnce()) {
  }
}

void OutputPipe::Close() {
  if (!read_end_.valid()) return;
  poller_->Forget(read_end_.get());
  read_end_.reset();
}

bool OutputPipe::ReadOnce() {
  if (!read_end_.valid()) return false;
  char chunk[kChunk];
  const ssize_t got = read(read_end_.get(), chunk, sizeof chunk);
  if (got > 0) {
    Append(chunk, static_cast<std::size_t>(got));
    return true;
  }
  if (got < 0 && errno == EINTR) return true;
  if (got == 0 || errno != EAGAIN) Close();
  return false;
}

std::size_t OutputPipe::Room(std::size_t size) const {
  if (limit_ == 0) return size;
  return end_ >= limit_ ? 0 : std::min<std::uint64_t>(size, limit_ - end_);
}

void OutputPipe::Append(const char* data, std::size_t size) {
  const std::size_t room = Room(size);
  over_limit_ += size - room;
  size = room;
  while (size > 0) {
    const ssize_t written = write(file_.get(), data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      dropped_ += size;
      return;
    }
    data += written;
    size -= static_cast<std::size_t>(written);
    end_ += static_cast<std::uint64_t>(written);
  }
}

}  // namespace launcher

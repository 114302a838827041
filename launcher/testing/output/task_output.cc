#include "launcher/testing/output/task_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "launcher/process/process_table.h"

namespace launcher::testing {
namespace {

constexpr std::size_t kChunk = 64 * 1024;
// Maximum number of chunks that are read before other descriptors get their turn.
constexpr int kChunksARound = 16;
// A child that has ended leaves at most a full pipe, but another process that holds the pipe may
// write for ever.
constexpr int kDrainRounds = 64;

}  // namespace

TaskOutput::TaskOutput(runtime::EventLoop* loop, const std::string& task,
                       std::function<void(std::string_view lines)> lines,
                       std::function<void()> at_end)
    : loop_(loop), lines_(std::move(lines)), at_end_(std::move(at_end)), prefixer_(task) {}

absl::Status TaskOutput::Open() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "making a pipe");
  read_end_ = runtime::UniqueFd(ends[0]);
  write_end_ = runtime::UniqueFd(ends[1]);
  fcntl(read_end_.get(), F_SETFL, O_NONBLOCK);
  watch_ =
      loop_->Watch(read_end_.get(), runtime::EventLoop::Readiness::kReadable, [this] { Read(); });
  return absl::OkStatus();
}

std::string TaskOutput::name() const {
  return OpenFileName("/proc/self/fd/" + std::to_string(read_end_.get()));
}

void TaskOutput::Read() {
  static thread_local std::array<char, kChunk> chunk;
  bool ended = false;
  complete_.clear();
  for (int i = 0; i < kChunksARound && read_end_.valid(); ++i) {
    const ssize_t got = read(read_end_.get(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    ended = got == 0 || (got < 0 && errno != EAGAIN);
    if (got <= 0) break;
    prefixer_.Add(std::string_view(chunk.data(), static_cast<std::size_t>(got)), &complete_);
    if (static_cast<std::size_t>(got) < chunk.size() / 2) break;
  }
  if (ended) return Finish();
  if (!complete_.empty()) lines_(complete_);
}

void TaskOutput::Finish() {
  loop_->Unwatch(std::exchange(watch_, 0));
  read_end_.reset();
  prefixer_.Finish(&complete_);
  if (!complete_.empty()) lines_(complete_);
  at_end_();
}

void TaskOutput::Drain() {
  for (int i = 0; i < kDrainRounds && read_end_.valid(); ++i) {
    Read();
    if (complete_.empty()) break;
  }
}

void TaskOutput::Close() {
  if (!read_end_.valid()) return;
  complete_.clear();
  Finish();
}

}  // namespace launcher::testing

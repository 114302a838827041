#include "tools/yard/at/captured.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/subprocess.h"

namespace yard {
namespace {

// One output stream of the program, read until its end.
class Stream {
 public:
  absl::StatusOr<runtime::UniqueFd> Open() {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "cannot make a pipe");
    reader_ = runtime::UniqueFd(fds[0]);
    return runtime::UniqueFd(fds[1]);
  }
  bool is_open() const { return reader_.valid(); }
  int fd() const { return reader_.valid() ? reader_.get() : -1; }
  // Call when poll() reports data. Closes the descriptor at the end of the stream. Returns false if
  // the output has exceeded `limit`.
  bool Read(std::string* text, std::size_t limit) {
    char buffer[16 << 10];
    const ssize_t count = read(reader_.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) return true;
    if (count <= 0) {
      reader_.reset();
      return true;
    }
    const std::size_t room = limit - std::min(limit, text->size());
    text->append(buffer, std::min(static_cast<std::size_t>(count), room));
    return static_cast<std::size_t>(count) <= room;
  }

 private:
  runtime::UniqueFd reader_;
};

}  // namespace

absl::StatusOr<Captured> Capture(const std::vector<std::string>& argv,
                                 const CaptureOptions& options) {
  Stream out, err;
  auto out_writer = out.Open();
  if (!out_writer.ok()) return out_writer.status();
  std::vector<std::pair<int, int>> streams = {{out_writer->get(), STDOUT_FILENO}};
  absl::StatusOr<runtime::UniqueFd> err_writer = runtime::UniqueFd();
  if (options.keeps_stderr) {
    err_writer = err.Open();
    if (!err_writer.ok()) return err_writer.status();
    streams.emplace_back(err_writer->get(), STDERR_FILENO);
  } else if (options.shows_stderr) {
    streams.emplace_back(STDERR_FILENO, STDERR_FILENO);
  }
  if (options.input >= 0) streams.emplace_back(options.input, STDIN_FILENO);
  auto child = runtime::Subprocess::Start({.argv = argv,
                                           .environment = options.environment,
                                           .working_directory = options.working_directory,
                                           .fds = std::move(streams),
                                           .new_session = options.new_session});
  if (!child.ok()) return child.status();
  out_writer->reset();
  err_writer->reset();
  Captured captured;
  const absl::Time until = absl::Now() + options.timeout;
  bool is_cancelled = false;
  const auto wait = [&](int last) {
    const auto left = absl::ToInt64Milliseconds(until - absl::Now());
    std::array<pollfd, 4> ready = {{{.fd = out.fd(), .events = POLLIN, .revents = 0},
                                    {.fd = err.fd(), .events = POLLIN, .revents = 0},
                                    {.fd = options.cancel, .events = POLLIN, .revents = 0},
                                    {.fd = last, .events = POLLIN, .revents = 0}}};
    const int answer = left <= 0 ? 0 : poll(ready.data(), ready.size(), static_cast<int>(left) + 1);
    if (answer < 0) return errno == EINTR;
    if (answer == 0) return false;
    if (ready[0].revents != 0 && !out.Read(&captured.text, options.limit)) {
      captured.is_cut = options.ends_at_limit;
    }
    if (ready[1].revents != 0) (void)err.Read(&captured.errors, options.limit);
    is_cancelled = ready[2].revents != 0;
    return !is_cancelled && !captured.is_cut && ready[3].revents == 0;
  };
  while ((out.is_open() || err.is_open()) && wait(-1)) {
  }
  if (!is_cancelled && !captured.is_cut && !out.is_open() && !err.is_open()) {
    while (wait(child->pidfd())) {
    }
  }
  auto ended = child->Wait(absl::ZeroDuration());
  if (!ended.ok()) {
    (void)(options.new_session ? child->SignalGroup(SIGKILL) : child->Signal(SIGKILL));
    (void)child->Wait(absl::Seconds(1));
    if (captured.is_cut) return captured;
    if (is_cancelled) return absl::CancelledError(absl::StrCat(argv[0], " was ended"));
    return absl::DeadlineExceededError(
        absl::StrCat(argv[0], " has not ended after ", absl::FormatDuration(options.timeout)));
  }
  captured.code = ended->signal != 0 ? 128 + ended->signal : ended->code;
  return captured;
}

}  // namespace yard

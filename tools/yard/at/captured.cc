#include "tools/yard/at/captured.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/subprocess.h"

namespace yard {

absl::StatusOr<Captured> Capture(const std::vector<std::string>& argv,
                                 const CaptureOptions& options) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "cannot make a pipe");
  const runtime::UniqueFd reader(fds[0]);
  runtime::UniqueFd writer(fds[1]);
  std::vector<std::pair<int, int>> streams = {{writer.get(), STDOUT_FILENO}};
  if (options.shows_stderr) streams.emplace_back(STDERR_FILENO, STDERR_FILENO);
  auto child = runtime::Subprocess::Start({.argv = argv,
                                           .environment = options.environment,
                                           .fds = std::move(streams),
                                           .new_session = options.new_session});
  if (!child.ok()) return child.status();
  writer.reset();
  Captured captured;
  const absl::Time until = absl::Now() + options.timeout;
  for (;;) {
    const auto left = absl::ToInt64Milliseconds(until - absl::Now());
    pollfd ready = {.fd = reader.get(), .events = POLLIN, .revents = 0};
    const int answer = left <= 0 ? 0 : poll(&ready, 1, static_cast<int>(left));
    if (answer < 0 && errno == EINTR) continue;
    if (answer <= 0) break;
    char buffer[16 << 10];
    const ssize_t count = read(reader.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    const std::size_t room = options.limit - std::min(options.limit, captured.text.size());
    captured.text.append(buffer, std::min(static_cast<std::size_t>(count), room));
  }
  auto ended = child->Wait(std::max(until - absl::Now(), absl::ZeroDuration()));
  if (!ended.ok()) {
    (void)child->Signal(SIGKILL);
    (void)child->Wait(absl::Seconds(1));
    return absl::DeadlineExceededError(
        absl::StrCat(argv[0], " has not ended after ", absl::FormatDuration(options.timeout)));
  }
  captured.code = ended->signal != 0 ? 128 + ended->signal : ended->code;
  return captured;
}

}  // namespace yard

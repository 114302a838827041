#include "tools/yard/follow/program_output.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

#include "absl/time/clock.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/subprocess.h"

namespace yard {

ProgramOutput ReadProgram(const std::vector<std::string>& argv, const std::string& directory,
                          const std::vector<std::string>& environment, std::size_t limit,
                          absl::Duration deadline) {
  ProgramOutput output;
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return output;
  const runtime::UniqueFd reader(fds[0]);
  runtime::UniqueFd writer(fds[1]);
  auto child = runtime::Subprocess::Start({.argv = argv,
                                           .environment = environment,
                                           .working_directory = directory,
                                           .fds = {{writer.get(), 1}},
                                           .new_session = true});
  if (!child.ok()) return output;
  writer.reset();
  const absl::Time until = absl::Now() + deadline;
  bool ended = false;
  while (!ended && !output.is_cut) {
    const auto left = absl::ToInt64Milliseconds(until - absl::Now());
    pollfd ready = {.fd = reader.get(), .events = POLLIN, .revents = 0};
    const int answer = left <= 0 ? 0 : poll(&ready, 1, static_cast<int>(left));
    if (answer < 0 && errno == EINTR) continue;
    if (answer <= 0) break;
    char buffer[16 << 10];
    const ssize_t count = read(reader.get(), buffer, sizeof buffer);
    if (count < 0 && errno != EINTR) break;
    ended = count == 0;
    if (count > 0) output.text.append(buffer, static_cast<std::size_t>(count));
    output.is_cut = output.text.size() > limit;
  }
  if (!ended) (void)child->SignalGroup(SIGKILL);
  const auto status = child->Wait(ended ? until - absl::Now() : absl::Seconds(1));
  if (!status.ok()) {
    (void)child->SignalGroup(SIGKILL);
    (void)child->Wait(absl::Seconds(1));
  }
  output.ok = output.is_cut || (ended && status.ok() && status->ok());
  if (!output.ok) output.text.clear();
  if (output.is_cut) output.text.resize(limit);
  return output;
}

}  // namespace yard

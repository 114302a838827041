#include "tools/yard/state/processes.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "runtime/file/file.h"
#include "runtime/text/string_view.h"

namespace yard {
namespace {

constexpr std::size_t kSmallFile = 64 << 10;
constexpr std::uint64_t kKilled = std::uint64_t{1} << (SIGKILL - 1);

// Returns 'R', 'S', 'T', 'Z', ...; 0 if the process does not exist.
char StateOf(pid_t pid) {
  const auto stat = runtime::ReadFile(absl::StrCat("/proc/", pid, "/stat"), kSmallFile);
  if (!stat.ok()) return 0;
  const std::size_t name_end = stat->rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= stat->size()) return 0;
  return (*stat)[name_end + 2];
}

bool KillIsPending(pid_t pid) {
  const auto status = runtime::ReadFile(absl::StrCat("/proc/", pid, "/status"), kSmallFile);
  if (!status.ok()) return false;
  for (absl::string_view line : absl::StrSplit(*status, '\n')) {
    if (!absl::ConsumePrefix(&line, "SigPnd:") && !absl::ConsumePrefix(&line, "ShdPnd:")) continue;
    std::uint64_t pending = 0;
    if (absl::SimpleHexAtoi(absl::StripAsciiWhitespace(line), &pending) &&
        (pending & kKilled) != 0) {
      return true;
    }
  }
  return false;
}

}  // namespace

Listening Probe(const std::string& path, int type, pid_t* peer) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return Listening::kUnknown;
  memcpy(address.sun_path, path.c_str(), path.size());
  const runtime::UniqueFd fd(socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return Listening::kUnknown;
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return errno == ECONNREFUSED || errno == ENOENT ? Listening::kNo : Listening::kUnknown;
  }
  ucred credentials = {};
  socklen_t size = sizeof credentials;
  if (peer != nullptr && getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0) {
    *peer = credentials.pid;
  }
  return Listening::kYes;
}

bool IsSuspended(pid_t pid) { return StateOf(pid) == 'T'; }

bool IsEnding(pid_t pid) {
  const char state = StateOf(pid);
  return state == 0 || state == 'Z' || state == 'X' || KillIsPending(pid);
}

absl::StatusOr<ServicePlace> PlaceOf(pid_t pid, std::string_view service,
                                     const std::string& state_directory) {
  constexpr std::string_view kGone = " (deleted)";
  const std::string lock = absl::StrCat("/", runtime::Absl(service), ".lock");
  std::error_code error;
  std::filesystem::directory_iterator files(absl::StrCat("/proc/", pid, "/fd"), error);
  for (; !error && files != std::filesystem::end(files); files.increment(error)) {
    std::error_code closed;
    std::string path = std::filesystem::read_symlink(files->path(), closed).string();
    const bool gone = path.ends_with(kGone);
    if (gone) path.resize(path.size() - kGone.size());
    if (!path.ends_with(lock)) continue;
    path.resize(path.size() - lock.size());
    if (path != state_directory) return ServicePlace{std::move(path), gone};
  }
  return absl::NotFoundError(
      absl::StrCat("nothing tells where the sockets of process ", pid, " are"));
}

std::optional<OwnProcess> OwnProcess::Hold(pid_t pid, const std::function<bool(pid_t)>& is_it) {
  if (pid <= 0 || pid == getpid()) return std::nullopt;
  runtime::UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  // Checked after the pidfd is open: the kernel cannot reuse the id of a process that has not
  // ended.
  if (!pidfd.valid() || !is_it(pid)) return std::nullopt;
  return OwnProcess(pid, std::move(pidfd));
}

void OwnProcess::Signal(int signal) const {
  (void)syscall(SYS_pidfd_send_signal, pidfd_.get(), signal, nullptr, 0);
}

bool OwnProcess::AwaitEnd(absl::Duration timeout) const {
  pollfd ended = {.fd = pidfd_.get(), .events = POLLIN, .revents = 0};
  const auto milliseconds = std::max<std::int64_t>(absl::ToInt64Milliseconds(timeout), 0);
  return poll(&ended, 1, static_cast<int>(std::min<std::int64_t>(milliseconds, 1 << 30))) > 0;
}

}  // namespace yard

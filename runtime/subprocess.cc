#include "runtime/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"

namespace runtime {
namespace {

std::vector<char*> Pointers(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// posix_spawn's two argument objects.
struct SpawnArguments {
  SpawnArguments() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnArguments() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

void SetAttributes(const Subprocess::Options& options, posix_spawnattr_t* attributes) {
  short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(attributes, &all);
  posix_spawnattr_setsigmask(attributes, &none);
  if (options.new_session) flags |= POSIX_SPAWN_SETSID;
  posix_spawnattr_setflags(attributes, flags);
}

// The child's numbers may be our numbers of other descriptors, so each is first copied above all
// of them, and only then to its place. `copies` holds the copies until the child has started.
absl::Status MapDescriptors(const Subprocess::Options& options, posix_spawn_file_actions_t* actions,
                            std::vector<UniqueFd>* copies) {
  int highest = 2;
  for (const auto& [ours, theirs] : options.fds) highest = std::max({highest, ours, theirs});
  for (int fd = 0; fd <= 2; ++fd) {
    const bool named = std::any_of(options.fds.begin(), options.fds.end(),
                                   [fd](const auto& pair) { return pair.second == fd; });
    if (!named) {
      posix_spawn_file_actions_addopen(actions, fd, "/dev/null", fd == 0 ? O_RDONLY : O_WRONLY, 0);
    }
  }
  int last = 2;
  for (const auto& [ours, theirs] : options.fds) {
    copies->emplace_back(fcntl(ours, F_DUPFD_CLOEXEC, highest + 1));
    if (!copies->back().valid()) {
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot pass descriptor ", ours));
    }
    posix_spawn_file_actions_adddup2(actions, copies->back().get(), theirs);
    last = std::max(last, theirs);
  }
  for (int fd = 3; fd <= last; ++fd) {
    const bool named = std::any_of(options.fds.begin(), options.fds.end(),
                                   [fd](const auto& pair) { return pair.second == fd; });
    if (!named) posix_spawn_file_actions_addclose(actions, fd);
  }
  posix_spawn_file_actions_addclosefrom_np(actions, last + 1);
  return absl::OkStatus();
}

bool IsExecutableFile(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

absl::Status SpawnError(int error, const std::string& program, const std::string& directory) {
  const std::string what = absl::StrCat("cannot start ", program);
  if (error == ENOENT && !directory.empty() && access(directory.c_str(), X_OK) != 0) {
    return absl::NotFoundError(absl::StrCat(what, ": no directory ", directory));
  }
  return absl::ErrnoToStatus(error, what);
}

std::string PathOf(const std::vector<std::string>& environment) {
  for (const std::string& entry : environment) {
    if (absl::StartsWith(entry, "PATH=")) return entry.substr(5);
  }
  return "/usr/local/bin:/usr/bin:/bin";
}

}  // namespace

std::string ExitStatus::ToString() const {
  if (signal == 0) return absl::StrCat("exit code ", code);
  return absl::StrCat("signal ", signal, " (", strsignal(signal),
                      core_dumped ? ", core dumped)" : ")");
}

absl::StatusOr<std::string> FindProgram(const std::string& program, const std::string& path,
                                        const std::string& working_directory) {
  if (program.empty()) return absl::InvalidArgumentError("the program's name is empty");
  const auto resolve = [&](const std::string& name) {
    return name[0] == '/' || working_directory.empty() ? name
                                                       : absl::StrCat(working_directory, "/", name);
  };
  if (absl::StrContains(program, '/')) {
    const std::string full = resolve(program);
    struct stat info;
    if (stat(full.c_str(), &info) != 0) return absl::NotFoundError("no program " + full);
    if (!IsExecutableFile(full)) return absl::PermissionDeniedError(full + " is not executable");
    return full;
  }
  for (const absl::string_view directory : absl::StrSplit(path, ':')) {
    const std::string full =
        resolve(absl::StrCat(directory.empty() ? "." : directory, "/", program));
    if (IsExecutableFile(full)) return full;
  }
  return absl::NotFoundError(absl::StrCat("program not found: ", program, " (PATH is ", path, ")"));
}

absl::StatusOr<Subprocess> Subprocess::Start(const Options& options) {
  if (options.argv.empty()) return absl::InvalidArgumentError("no program to start: argv is empty");
  std::string program = options.program;
  if (program.empty()) {
    auto found =
        FindProgram(options.argv[0], PathOf(options.environment), options.working_directory);
    if (!found.ok()) return found.status();
    program = *std::move(found);
  }
  SpawnArguments spawn;
  SetAttributes(options, &spawn.attributes);
  std::vector<UniqueFd> copies;
  const absl::Status mapped = MapDescriptors(options, &spawn.actions, &copies);
  if (!mapped.ok()) return mapped;
  if (!options.working_directory.empty()) {
    posix_spawn_file_actions_addchdir_np(&spawn.actions, options.working_directory.c_str());
  }
  auto argv = Pointers(options.argv), environment = Pointers(options.environment);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, program.c_str(), &spawn.actions, &spawn.attributes,
                                argv.data(), environment.data());
  if (error != 0) return SpawnError(error, program, options.working_directory);
  // The child is not reaped yet, so its pid cannot be a stranger's.
  UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd.valid()) {
    const int failed = errno;
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    return absl::ErrnoToStatus(failed, absl::StrCat("cannot open a pidfd of ", program));
  }
  return Subprocess(pid, std::move(pidfd));
}

absl::StatusOr<ExitStatus> Subprocess::Wait(absl::Duration timeout) {
  if (reaped_) return status_;
  const absl::Time deadline = absl::Now() + timeout;
  for (;;) {
    const absl::Duration left = std::max(deadline - absl::Now(), absl::ZeroDuration());
    const int milliseconds = static_cast<int>(std::min<std::int64_t>(
        absl::ToInt64Milliseconds(absl::Ceil(left, absl::Milliseconds(1))), 1'000'000));
    pollfd ready = {.fd = pidfd_.get(), .events = POLLIN, .revents = 0};
    const int count = poll(&ready, 1, milliseconds);
    if (count > 0) break;
    if (count < 0 && errno != EINTR) return absl::ErrnoToStatus(errno, "cannot wait for a child");
    if (absl::Now() >= deadline) {
      return absl::DeadlineExceededError(absl::StrCat("process ", pid_, " still runs"));
    }
  }
  siginfo_t info = {};
  if (waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd_.get()), &info, WEXITED) !=
      0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot reap process ", pid_));
  }
  reaped_ = true;
  if (info.si_code == CLD_EXITED) {
    status_.code = info.si_status;
  } else {
    status_.signal = info.si_status;
    status_.core_dumped = info.si_code == CLD_DUMPED;
  }
  return status_;
}

absl::Status Subprocess::Signal(int signal) const {
  if (reaped_) return absl::NotFoundError(absl::StrCat("process ", pid_, " has ended"));
  if (syscall(SYS_pidfd_send_signal, pidfd_.get(), signal, nullptr, 0) == 0) {
    return absl::OkStatus();
  }
  if (errno == ESRCH) return absl::NotFoundError(absl::StrCat("process ", pid_, " has ended"));
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot signal process ", pid_));
}

absl::Status Subprocess::SignalGroup(int signal) const {
  if (kill(-pid_, signal) == 0) return absl::OkStatus();
  if (errno == ESRCH) return absl::NotFoundError(absl::StrCat("process group ", pid_, " is empty"));
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot signal process group ", pid_));
}

}  // namespace runtime

#include "runtime/process/subprocess.h"

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
#include <chrono>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace runtime {
namespace {

constexpr int kFdLimit = 1024;
constexpr char kDefaultPath[] = "/bin:/usr/bin";

absl::Status SystemError(int error, const std::string& what) {
  return absl::ErrnoToStatus(error, what);
}

// Direct system calls: glibc has these functions since 2.36, and installed programs run with 2.35.
int PidfdOpen(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

int PidfdSendSignal(int pidfd, int signal) {
  return static_cast<int>(syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0));
}

class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

class Attributes {
 public:
  explicit Attributes(bool new_session) {
    posix_spawnattr_init(&attributes_);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes_, &signals);
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&attributes_, &signals);
    const int session = new_session ? POSIX_SPAWN_SETSID : 0;
    posix_spawnattr_setflags(
        &attributes_, static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | session));
  }
  ~Attributes() { posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

bool HasNul(const std::string& text) { return text.find('\0') != std::string::npos; }

absl::Status CheckOptions(const Subprocess::Options& options) {
  if (options.argv.empty()) return absl::InvalidArgumentError("starting a program without argv");
  const std::string& name = options.argv[0];
  if (std::any_of(options.argv.begin(), options.argv.end(), HasNul) ||
      std::any_of(options.environment.begin(), options.environment.end(), HasNul) ||
      HasNul(options.program) || HasNul(options.working_directory)) {
    return absl::InvalidArgumentError(
        absl::StrCat("starting ", name, ": an argument or a variable holds a NUL byte"));
  }
  std::set<int> targets;
  for (const auto& [source, target] : options.fds) {
    if (target < 0 || target >= kFdLimit) {
      return absl::InvalidArgumentError(
          absl::StrCat("starting ", name, ": cannot give it descriptor number ", target));
    }
    if (!targets.insert(target).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("starting ", name, ": two descriptors for number ", target));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckDirectory(const Subprocess::Options& options) {
  if (options.working_directory.empty()) return absl::OkStatus();
  const std::string what =
      absl::StrCat("starting ", options.argv[0], " in the directory ", options.working_directory);
  struct stat about {};
  if (stat(options.working_directory.c_str(), &about) != 0) return SystemError(errno, what);
  return S_ISDIR(about.st_mode) ? absl::OkStatus() : SystemError(ENOTDIR, what);
}

std::string PathOf(const std::vector<std::string>& environment) {
  for (const std::string& variable : environment) {
    if (variable.rfind("PATH=", 0) == 0) return variable.substr(5);
  }
  return kDefaultPath;
}

absl::StatusOr<std::string> ProgramOf(const Subprocess::Options& options) {
  if (!options.program.empty()) return options.program;
  return FindProgram(options.argv[0], PathOf(options.environment), options.working_directory);
}

// Plans the child's descriptors. `high` receives copies of our descriptors, numbered above all of
// the child's, so that no dup2 overwrites one that is still to be copied.
absl::Status PlanFds(const Subprocess::Options& options, FileActions& actions,
                     std::vector<UniqueFd>& high) {
  std::set<int> named;
  int end = 3;  // The child's numbers from here on are free.
  for (const auto& [source, target] : options.fds) {
    named.insert(target);
    end = std::max(end, target + 1);
  }
  for (const auto& [source, target] : options.fds) {
    high.emplace_back(fcntl(source, F_DUPFD_CLOEXEC, end));
    if (!high.back().valid()) {
      return SystemError(
          errno, absl::StrCat("starting ", options.argv[0], ": copying descriptor ", source));
    }
    posix_spawn_file_actions_adddup2(actions.get(), high.back().get(), target);
  }
  for (int number = 0; number < end; ++number) {
    if (named.count(number) != 0) continue;
    if (number < 3) {
      posix_spawn_file_actions_addopen(actions.get(), number, "/dev/null", O_RDWR, 0);
    } else {
      posix_spawn_file_actions_addclose(actions.get(), number);
    }
  }
  posix_spawn_file_actions_addclosefrom_np(actions.get(), end);
  return absl::OkStatus();
}

absl::Status StartError(int error, const std::string& program) {
  const std::string what = absl::StrCat("starting ", program);
  if (error == ENOENT && access(program.c_str(), F_OK) == 0) {
    return absl::NotFoundError(absl::StrCat(what, ": its interpreter does not exist"));
  }
  if (error == ENOEXEC) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": neither a program of this machine nor a script with a #! line"));
  }
  return SystemError(error, what);
}

// Restores SIGCHLD's default disposition, because the kernel discards exit codes while it is
// ignored.
void KeepExitCodes() {
  struct sigaction action {};
  if (sigaction(SIGCHLD, nullptr, &action) != 0 || action.sa_handler != SIG_IGN) return;
  action.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &action, nullptr);
}

void KillAndReap(pid_t pid) {
  kill(pid, SIGKILL);
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) continue;
}

absl::Duration SteadyNow() {
  return absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

// Returns true if `fd` becomes readable in time.
bool AwaitReadable(int fd, absl::Duration timeout) {
  const absl::Duration deadline = SteadyNow() + timeout;
  for (;;) {
    const absl::Duration left = std::max(deadline - SteadyNow(), absl::ZeroDuration());
    const timespec wait = absl::ToTimespec(std::min(left, absl::Hours(24)));
    pollfd poll_fd = {.fd = fd, .events = POLLIN, .revents = 0};
    const int ready = ppoll(&poll_fd, 1, &wait, nullptr);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
    if (SteadyNow() >= deadline) return false;
  }
}

bool IsExecutableFile(const std::string& path) {
  return faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0;
}

bool IsRegularFile(const std::string& path) {
  struct stat about {};
  return stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode);
}

std::string From(const std::string& directory, const std::string& path) {
  if (path.rfind('/', 0) == 0 || directory.empty()) return path;
  return absl::StrCat(directory, "/", path);
}

}  // namespace

std::string ExitStatus::ToString() const {
  if (signal == 0) return absl::StrCat("exit code ", code);
  const char* name = strsignal(signal);
  return absl::StrCat("signal ", signal, " (", name != nullptr ? name : "unknown", ")",
                      core_dumped ? ", core dumped" : "");
}

absl::StatusOr<Subprocess> Subprocess::Start(const Options& options) {
  if (absl::Status status = CheckOptions(options); !status.ok()) return status;
  if (absl::Status status = CheckDirectory(options); !status.ok()) return status;
  const absl::StatusOr<std::string> program = ProgramOf(options);
  if (!program.ok()) return program.status();

  FileActions actions;
  std::vector<UniqueFd> high;
  if (absl::Status status = PlanFds(options, actions, high); !status.ok()) return status;
  if (!options.working_directory.empty()) {
    posix_spawn_file_actions_addchdir_np(actions.get(), options.working_directory.c_str());
  }
  KeepExitCodes();
  const Attributes attributes(options.new_session);
  pid_t pid = 0;
  const int error =
      posix_spawn(&pid, program->c_str(), actions.get(), attributes.get(),
                  Pointers(options.argv).data(), Pointers(options.environment).data());
  if (error != 0) return StartError(error, From(options.working_directory, *program));
  // Nobody else can reap the child, so this is the right process even if it has ended already.
  UniqueFd pidfd(PidfdOpen(pid));
  if (!pidfd.valid()) {
    const int open_error = errno;
    KillAndReap(pid);
    return SystemError(open_error, absl::StrCat("watching the started ", *program));
  }
  return Subprocess(pid, std::move(pidfd), options.new_session);
}

absl::StatusOr<ExitStatus> Subprocess::Wait(absl::Duration timeout) {
  if (reaped_) return status_;
  if (!AwaitReadable(pidfd_.get(), timeout)) {
    return absl::DeadlineExceededError(absl::StrCat("process ", pid_, " still runs"));
  }
  siginfo_t info{};
  while (waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &info, WEXITED) != 0) {
    if (errno != EINTR) return SystemError(errno, absl::StrCat("reaping process ", pid_));
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
  const std::string what = absl::StrCat("sending signal ", signal, " to process ", pid_);
  // A zombie accepts signals and ignores them, so check for the end first.
  if (reaped_ || AwaitReadable(pidfd_.get(), absl::ZeroDuration())) return SystemError(ESRCH, what);
  if (PidfdSendSignal(pidfd_.get(), signal) == 0) return absl::OkStatus();
  return SystemError(errno, what);
}

absl::Status Subprocess::SignalGroup(int signal) const {
  const std::string what = absl::StrCat("sending signal ", signal, " to process group ", pid_);
  if (!leads_group_) {
    return absl::FailedPreconditionError(absl::StrCat(what, ": it was started without one"));
  }
  return kill(-pid_, signal) == 0 ? absl::OkStatus() : SystemError(errno, what);
}

absl::StatusOr<std::string> FindProgram(const std::string& program, const std::string& path,
                                        const std::string& working_directory) {
  if (program.find('/') != std::string::npos) {
    const std::string place = From(working_directory, program);
    if (access(place.c_str(), F_OK) != 0) {
      return absl::NotFoundError(absl::StrCat("no program ", place, " exists"));
    }
    if (IsExecutableFile(place)) return program;
    return absl::PermissionDeniedError(absl::StrCat(place, " cannot be executed"));
  }
  std::string refused;
  for (const std::string& directory : std::vector<std::string>(absl::StrSplit(path, ':'))) {
    // An empty entry of PATH is the working directory.
    const std::string candidate = absl::StrCat(directory.empty() ? "." : directory, "/", program);
    const std::string place = From(working_directory, candidate);
    if (program.empty() || !IsRegularFile(place)) continue;
    if (IsExecutableFile(place)) return place;
    if (refused.empty()) refused = place;
  }
  if (!refused.empty()) {
    return absl::PermissionDeniedError(absl::StrCat(refused, " cannot be executed"));
  }
  return absl::NotFoundError(absl::StrCat("no program ", program, " on the PATH ", path));
}

}  // namespace runtime

#include "tools/yard/at/remote_run.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/subprocess.h"
#include "runtime/text/printable.h"
#include "runtime/text/shell_word.h"
#include "tools/yard/at/frames.h"
#include "tools/yard/at/remote_command.h"
#include "tools/yard/cli/verb_exit_code.h"

namespace yard {
namespace {

// Verbs that only call services and start no programs, so they need no login environment, which may
// take seconds to set up.
constexpr std::string_view kOnlyAsk[] = {
    "alerts", "call", "compare", "completion", "du",     "export",  "logs",
    "pause",  "plot", "ps",      "pub",        "resume", "restart", "rm",
    "runs",   "set",  "show",    "signal",     "status", "stop",    "sub",
    "tell",   "top",  "topic",   "trash",      "ui",     "wait",    "watch"};
constexpr int kInterruptsUntilTheEnd = 3;
constexpr int kProgramIsGone = 127;

// Returns this machine's time zone for "TZ=": $TZ, else the target of /etc/localtime.
std::string Zone() {
  const char* const variable = getenv("TZ");
  if (variable != nullptr) return variable;
  std::error_code error;
  const std::string target = std::filesystem::read_symlink("/etc/localtime", error).string();
  constexpr std::string_view kBefore = "zoneinfo/";
  const std::size_t at = target.rfind(kBefore);
  return error || at == std::string::npos ? "" : target.substr(at + kBefore.size());
}

bool WantsStdin(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "--") return false;
    if (word == "-" || word == "--stdin" || word.ends_with("=-")) return true;
  }
  return false;
}

// Also false for a background process, which may not read the terminal.
bool HasTerminal() {
  return isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 && isatty(STDERR_FILENO) == 1 &&
         tcgetpgrp(STDIN_FILENO) == getpgrp();
}

// Restores the terminal's mode: an ssh that was killed leaves the terminal raw.
class TerminalMode {
 public:
  TerminalMode() : known_(tcgetattr(STDIN_FILENO, &mode_) == 0) {}
  ~TerminalMode() {
    if (known_) tcsetattr(STDIN_FILENO, TCSADRAIN, &mode_);
  }
  TerminalMode(const TerminalMode&) = delete;
  TerminalMode& operator=(const TerminalMode&) = delete;

 private:
  termios mode_ = {};
  const bool known_;
};

// Counts the interrupts during a run; provides a descriptor for poll().
class Interrupts {
 public:
  explicit Interrupts(Interrupt* interrupt)
      : interrupt_(interrupt), event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    interrupt_->Handle([this] {
      const std::uint64_t one = 1;
      (void)!write(event_.get(), &one, sizeof one);
    });
  }
  ~Interrupts() { interrupt_->Handle({}); }
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  int fd() const { return event_.get(); }
  // Returns the number of interrupts since the last call.
  int Take() const {
    std::uint64_t count = 0;
    return read(event_.get(), &count, sizeof count) == sizeof count ? static_cast<int>(count) : 0;
  }

 private:
  Interrupt* const interrupt_;
  const runtime::UniqueFd event_;
};

// A running ssh session and the input that this process sends to it. One thread.
class Session {
 public:
  Session(runtime::Subprocess child, runtime::UniqueFd frames, bool wants_stdin,
          Interrupt* interrupt)
      : child_(std::move(child)), frames_(std::move(frames)), interrupts_(interrupt) {
    if (frames_.valid()) fcntl(frames_.get(), F_SETFL, O_NONBLOCK);
    reads_stdin_ = wants_stdin;
    if (!wants_stdin) unsent_ = FrameBytes(RemoteFrame::Kind::kEnd);
  }

  // Returns the exit code; nothing if it was interrupted too often.
  std::optional<int> Finish() {
    for (;;) {
      const bool sends = !unsent_.empty() && frames_.valid();
      const bool reads = reads_stdin_ && unsent_.empty();
      pollfd fds[] = {{.fd = child_.pidfd(), .events = POLLIN, .revents = 0},
                      {.fd = interrupts_.fd(), .events = POLLIN, .revents = 0},
                      {.fd = sends ? frames_.get() : -1, .events = POLLOUT, .revents = 0},
                      {.fd = reads ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0}};
      if (poll(fds, 4, -1) < 0 && errno != EINTR) return kFailed;
      if (fds[0].revents != 0) {
        const auto ended = child_.Wait(absl::ZeroDuration());
        if (!ended.ok()) continue;
        return ended->signal != 0 ? kNoConnection : ended->code;
      }
      if (fds[1].revents != 0 && !Interrupted()) return std::nullopt;
      if (fds[2].revents != 0) Send();
      if (fds[3].revents != 0) ReadStdin();
    }
  }

 private:
  // Returns false if this process must give up the session.
  bool Interrupted() {
    for (int count = interrupts_.Take(); count > 0; --count) {
      ++interrupted_;
      if (frames_.valid()) {
        unsent_ += FrameBytes(RemoteFrame::Kind::kInterrupt);
      } else {
        // In a terminal session, Ctrl-C reaches the verb as a key; this interrupt was a signal to
        // this process.
        (void)child_.Signal(SIGTERM);
      }
    }
    if (interrupted_ < kInterruptsUntilTheEnd) return true;
    (void)child_.Signal(SIGKILL);
    (void)child_.Wait(absl::Seconds(1));
    return false;
  }

  void Send() {
    const ssize_t count = write(frames_.get(), unsent_.data(), unsent_.size());
    if (count > 0) unsent_.erase(0, static_cast<std::size_t>(count));
    // The pipe is broken; the exit of ssh follows.
    if (count < 0 && errno != EAGAIN && errno != EINTR) {
      unsent_.clear();
      frames_.reset();
    }
  }

  void ReadStdin() {
    char buffer[kMaxFrameBytes];
    const ssize_t count = read(STDIN_FILENO, buffer, sizeof buffer);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (count > 0) {
      unsent_ = FrameBytes(RemoteFrame::Kind::kData, {buffer, static_cast<std::size_t>(count)});
    } else {
      reads_stdin_ = false;
      unsent_ = FrameBytes(RemoteFrame::Kind::kEnd);
    }
  }

  runtime::Subprocess child_;
  runtime::UniqueFd frames_;  // Stdin of ssh; invalid if that is the terminal.
  const Interrupts interrupts_;
  int interrupted_ = 0;
  bool reads_stdin_ = false;
  std::string unsent_;  // At most one data frame, and interrupts.
};

// Ends this process as SIGPIPE does after a write to a closed pipe.
[[noreturn]] void EndAsByBrokenPipe() {
  signal(SIGPIPE, SIG_DFL);
  raise(SIGPIPE);
  _exit(128 + SIGPIPE);
}

bool NobodyReadsStdout() {
  pollfd out = {.fd = STDOUT_FILENO, .events = 0, .revents = 0};
  return poll(&out, 1, 0) > 0 && (out.revents & (POLLERR | POLLHUP)) != 0;
}

int WithoutAnswer(const SshConnection& connection) {
  if (NobodyReadsStdout()) EndAsByBrokenPipe();
  const std::string host = runtime::Printable(connection.place().host);
  const std::string typed = runtime::Printable(runtime::ShellWord(connection.place().host));
  std::cerr << "yard: "
            << (connection.Answers() ? absl::StrCat("the yard on ", host, " was killed, or ", host,
                                                    " has refused one more session")
                                     : absl::StrCat("the connection to ", host, " broke"))
            << "; the command may have been done or not; next: yard --at " << typed << " status\n";
  return kNoConnection;
}

// For "not found" errors: the likeliest cause is a local path used in place of a remote one.
void HintAtFileOfHere(const SshConnection& connection, const std::vector<std::string>& words) {
  for (std::size_t i = 1; i < words.size() && words[i] != "--"; ++i) {
    std::error_code error;
    if (words[i].starts_with("-") || !std::filesystem::is_regular_file(words[i], error)) continue;
    std::cerr << "yard: paths are those of " << runtime::Printable(connection.place().host) << "; "
              << runtime::Printable(words[i]) << " is a file here: put - in its place and add < "
              << runtime::Printable(runtime::ShellWord(words[i])) << "\n";
    return;
  }
}

}  // namespace

RemoteRequest MakeRequest(const SshConnection& connection, std::vector<std::string> words,
                          const std::vector<std::string>& environment) {
  RemoteRequest request = {.locations = connection.greeting().locations, .words = std::move(words)};
  if (const std::string zone = Zone(); !zone.empty()) request.personal.push_back("TZ=" + zone);
  for (const std::string& entry : environment) {
    for (const std::string_view name : {"NO_COLOR=", "YARD_TRACE=", "YARD_VERBOSE="}) {
      if (entry.starts_with(name)) request.personal.push_back(entry);
    }
  }
  return request;
}

bool NeedsLogin(const std::vector<std::string>& words) {
  const std::string_view verb = words.empty() ? "status" : std::string_view(words.front());
  return std::find(std::begin(kOnlyAsk), std::end(kOnlyAsk), verb) == std::end(kOnlyAsk);
}

absl::StatusOr<Captured> CaptureThere(const SshConnection& connection,
                                      const std::vector<std::string>& words,
                                      const CaptureOptions& options) {
  RemoteRequest request = MakeRequest(connection, words, options.environment);
  // stdin is empty, and its end must not end the session, so no frames are used.
  request.in_terminal = true;
  const auto command = RunCommand(connection.greeting(), request, NeedsLogin(words));
  if (!command.ok()) return command.status();
  return Capture(connection.Ssh({"-T", "-n", "-o", "ControlMaster=no"}, *command), options);
}

int RunThere(const SshConnection& connection, const std::vector<std::string>& words,
             const std::vector<std::string>& environment, Interrupt* interrupt) {
  RemoteRequest request = MakeRequest(connection, words, environment);
  request.in_terminal = HasTerminal();
  const auto command = RunCommand(connection.greeting(), request, NeedsLogin(words));
  if (!command.ok()) {
    std::cerr << "yard: " << command.status().message() << "\n";
    return kUsage;
  }
  const std::vector<std::string> argv =
      connection.Ssh({request.in_terminal ? "-t" : "-T", "-o", "ControlMaster=no", "-o",
                      "ClearAllForwardings=yes", "-o", "LogLevel=ERROR"},
                     *command);
  runtime::UniqueFd reader, writer;
  if (!request.in_terminal) {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) {
      std::cerr << "yard: cannot make a pipe\n";
      return kFailed;
    }
    reader = runtime::UniqueFd(fds[0]);
    writer = runtime::UniqueFd(fds[1]);
  }
  signal(SIGPIPE, SIG_IGN);
  std::optional<TerminalMode> mode;
  if (request.in_terminal) mode.emplace();
  auto child = runtime::Subprocess::Start(
      {.argv = argv,
       .environment = environment,
       .fds = {{request.in_terminal ? STDIN_FILENO : reader.get(), STDIN_FILENO},
               {STDOUT_FILENO, STDOUT_FILENO},
               {STDERR_FILENO, STDERR_FILENO}},
       // Ctrl-C must reach the verb, not kill ssh. ssh needs no terminal: it has asked all its
       // questions.
       .new_session = !request.in_terminal});
  if (!child.ok()) {
    std::cerr << "yard: " << child.status().message() << "\n";
    return kNoConnection;
  }
  reader.reset();
  Session session(*std::move(child), std::move(writer), !request.in_terminal && WantsStdin(words),
                  interrupt);
  const std::optional<int> code = session.Finish();
  if (!code.has_value()) return kInterrupted;
  if (*code == kNoConnection) return WithoutAnswer(connection);
  if (*code == kProgramIsGone) connection.ForgetGreeting();
  if (*code == kUsage || *code == kNotFound) HintAtFileOfHere(connection, words);
  return *code;
}

}  // namespace yard

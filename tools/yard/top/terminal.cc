#include "tools/yard/top/terminal.h"

#include <errno.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <iterator>

#include "runtime/file/file.h"

namespace yard::top {
namespace {

// Switch to the alternate screen, hide the cursor, and disable wrapping at the right edge.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[0m\x1b[2J";
constexpr std::string_view kLeave = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";
// SIGTERM and SIGINT are missing, because they arrive as an Interrupt.
constexpr int kEnding[] = {SIGHUP, SIGQUIT, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

// State for the signal handlers, which use only async-signal-safe calls.
termios before;
std::atomic<int> entered_in = -1, entered_out = -1, size_changed = -1;
std::array<struct sigaction, std::size(kEnding)> ending_before;
struct sigaction size_before;

// A signal handler restores the terminal, because the dying process has no later chance.
void RestoreAndDie(int signal) {
  const int out = entered_out.exchange(-1);
  if (out >= 0) {
    [[maybe_unused]] const ssize_t ignored = write(out, kLeave.data(), kLeave.size());
    tcsetattr(entered_in, TCSADRAIN, &before);
  }
  // SA_RESETHAND has restored the default action, which now ends the process.
  raise(signal);
}

void TellSize(int) {
  const int saved = errno;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t ignored = write(size_changed, &one, sizeof one);
  errno = saved;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Terminal>> Terminal::Open(int in, int out, int changed) {
  if (isatty(in) != 1 || isatty(out) != 1 || tcgetattr(in, &before) != 0) {
    return absl::FailedPreconditionError("this is no terminal");
  }
  std::unique_ptr<Terminal> terminal(new Terminal(in, out));
  size_changed = changed;
  struct sigaction action = {};
  action.sa_handler = TellSize;
  action.sa_flags = SA_RESTART;
  sigaction(SIGWINCH, &action, &size_before);
  action.sa_handler = RestoreAndDie;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
  for (std::size_t i = 0; i < std::size(kEnding); ++i) {
    sigaction(kEnding[i], &action, &ending_before[i]);
  }
  terminal->Enter();
  return terminal;
}

Terminal::~Terminal() {
  Leave();
  for (std::size_t i = 0; i < std::size(kEnding); ++i) {
    sigaction(kEnding[i], &ending_before[i], nullptr);
  }
  sigaction(SIGWINCH, &size_before, nullptr);
  size_changed = -1;
}

void Terminal::Enter() {
  termios raw = before;
  raw.c_iflag &= ~static_cast<tcflag_t>(BRKINT | ICRNL | INPCK | ISTRIP | IXON);
  raw.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON | IEXTEN | ISIG);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  entered_in = in_;
  entered_out = out_;
  tcsetattr(in_, TCSADRAIN, &raw);
  (void)Write(kEnter);
}

void Terminal::Leave() {
  const int out = entered_out.exchange(-1);
  if (out < 0) return;
  (void)runtime::WriteAll(out, kLeave);
  tcsetattr(entered_in, TCSADRAIN, &before);
}

std::pair<int, int> Terminal::Size() const {
  winsize size = {};
  if (ioctl(out_, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {80, 24};
  return {size.ws_col, size.ws_row};
}

absl::Status Terminal::Write(std::string_view bytes) { return runtime::WriteAll(out_, bytes); }

void Terminal::Suspend() {
  Leave();
  raise(SIGSTOP);
  Enter();
}

}  // namespace yard::top

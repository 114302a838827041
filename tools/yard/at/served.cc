#include "tools/yard/at/served.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <iostream>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "tools/yard/at/frames.h"
#include "tools/yard/at/remote_command.h"
#include "tools/yard/cli/verb_exit_code.h"
#include "tools/yard/cli/yard_version.h"

extern char** environ;

namespace yard {
namespace {

// Variables with the locations of a yard and its configuration.
constexpr const char* kLocations[] = {"YARD_STATE",     "YARD_REGISTRY",   "XDG_RUNTIME_DIR",
                                      "XDG_STATE_HOME", "XDG_CONFIG_HOME", "TMPDIR"};
constexpr int kHungUp = 128 + SIGHUP;

void SetVariable(const std::string& entry) {
  const std::size_t equals = entry.find('=');
  if (equals == std::string::npos || equals == 0) return;
  setenv(entry.substr(0, equals).c_str(), entry.c_str() + equals + 1, 1);
}

// With a time zone unknown to this machine, all times would silently be UTC.
bool IsOfUse(const std::string& entry) {
  constexpr std::string_view kZone = "TZ=";
  absl::TimeZone zone;
  return !entry.starts_with(kZone) || absl::LoadTimeZone(entry.substr(kZone.size()), &zone);
}

ssize_t ReadSome(int fd, char* buffer, std::size_t size) {
  for (;;) {
    const ssize_t count = read(fd, buffer, size);
    if (count >= 0 || errno != EINTR) return count;
  }
}

}  // namespace

void PrintGreeting(const std::string& program, std::ostream& out) {
  Greeting greeting = {.version = kVersion, .program = program};
  for (const char* name : kLocations) {
    const char* const value = getenv(name);
    if (value != nullptr) greeting.locations.push_back(std::string(name) + "=" + value);
  }
  out << GreetingLine(greeting) << std::flush;
}

void HoldUntilStdinEnds() {
  char buffer[512];
  while (ReadSome(STDIN_FILENO, buffer, sizeof buffer) > 0) continue;
}

absl::StatusOr<ServedRequest> TakeRequest(std::string_view word) {
  auto request = ReadRequest(word);
  if (!request.ok()) return request.status();
  for (const std::string& entry : request->locations) SetVariable(entry);
  ServedRequest served = {.words = std::move(request->words), .in_terminal = request->in_terminal};
  for (char** entry = environ; *entry != nullptr; ++entry) served.environment.push_back(*entry);
  for (const std::string& entry : request->personal) {
    if (IsOfUse(entry)) SetVariable(entry);
  }
  return served;
}

absl::StatusOr<Caller*> Caller::Attend(Interrupt* interrupt) {
  runtime::UniqueFd frames(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
  int fds[2];
  if (!frames.valid() || pipe2(fds, O_CLOEXEC) != 0) {
    return absl::ErrnoToStatus(errno, "cannot take over stdin");
  }
  const runtime::UniqueFd reader(fds[0]);
  runtime::UniqueFd writer(fds[1]);
  fcntl(writer.get(), F_SETFL, O_NONBLOCK);
  if (dup2(reader.get(), STDIN_FILENO) < 0) {
    return absl::ErrnoToStatus(errno, "cannot take over stdin");
  }
  auto* const caller = new Caller(std::move(frames), std::move(writer), interrupt);
  std::thread([caller] { caller->Read(); }).detach();
  return caller;
}

void Caller::Read() {
  RemoteFrameReader reader;
  char buffer[kMaxFrameBytes];
  for (;;) {
    const ssize_t count = ReadSome(frames_.get(), buffer, sizeof buffer);
    if (count <= 0) return Gone();
    const auto frames = reader.Add({buffer, static_cast<std::size_t>(count)});
    if (!frames.ok()) {
      std::cerr << "yard: " << frames.status().message() << std::endl;
      _exit(kUsage);
    }
    for (const RemoteFrame& frame : *frames) {
      if (frame.kind == RemoteFrame::Kind::kInterrupt) interrupt_->Raise();
      if (frame.kind == RemoteFrame::Kind::kEnd) verbs_stdin_.reset();
      if (frame.kind == RemoteFrame::Kind::kData && !Write(frame.data)) return Gone();
    }
  }
}

void Caller::Gone() {
  if (!goes_on_) _exit(kHungUp);
  verbs_stdin_.reset();
}

bool Caller::Write(std::string_view data) {
  while (!data.empty() && verbs_stdin_.valid()) {
    pollfd fds[] = {{.fd = verbs_stdin_.get(), .events = POLLOUT, .revents = 0},
                    {.fd = frames_.get(), .events = POLLRDHUP, .revents = 0}};
    if (poll(fds, 2, -1) < 0 && errno != EINTR) return false;
    if ((fds[1].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) return false;
    const ssize_t count = write(verbs_stdin_.get(), data.data(), data.size());
    if (count > 0) data.remove_prefix(static_cast<std::size_t>(count));
    if (count < 0 && errno != EAGAIN && errno != EINTR) return true;
  }
  return true;
}

}  // namespace yard

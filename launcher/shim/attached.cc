#include "launcher/shim/attached.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "launcher/shim/poller.h"
#include "launcher/shim/report_relay.h"
#include "launcher/wire/relayed_line.h"
#include "launcher/wire/shim_protocol.h"
#include "runtime/report_channel/relay_protocol.h"

namespace launcher {
namespace {

using runtime::UniqueFd;

void Say(int channel, std::string line) {
  line.push_back('\n');
  (void)send(channel, line.data(), line.size(), MSG_NOSIGNAL);
}

using Clock = std::chrono::steady_clock;

// Waits for data on the channel. Returns false if none will come: the process has ended or the
// deadline has passed.
bool AwaitData(int channel, int process, Clock::time_point deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd fds[] = {{channel, POLLIN, 0}, {process, POLLIN, 0}};
    const int ready = poll(fds, std::size(fds), static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    return fds[0].revents != 0;  // The process may have sent data and then ended.
  }
}

// Reads the first line, without its newline, and nothing after it. Returns nullopt if the line is
// too long or does not arrive in time.
std::optional<std::string> FirstLine(int channel, int process, std::chrono::milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  std::string line;
  char chunk[4096];
  while (line.size() <= runtime::kMaxReportLine) {
    if (!AwaitData(channel, process, deadline)) return std::nullopt;
    const ssize_t there = recv(channel, chunk, sizeof chunk, MSG_PEEK);
    if (there < 0 && errno == EINTR) continue;
    if (there <= 0) return std::nullopt;
    const std::string_view seen(chunk, static_cast<std::size_t>(there));
    const std::size_t newline = seen.find('\n');
    const std::size_t taken = newline == seen.npos ? seen.size() : newline + 1;
    if (recv(channel, chunk, taken, 0) != static_cast<ssize_t>(taken)) return std::nullopt;
    line.append(chunk, newline == seen.npos ? taken : newline);
    if (newline != seen.npos) return line;
  }
  return std::nullopt;
}

std::optional<std::string> NewNonce() {
  unsigned char bytes[16];
  if (getrandom(bytes, sizeof bytes, 0) != static_cast<ssize_t>(sizeof bytes)) return std::nullopt;
  std::string nonce;
  for (const unsigned char byte : bytes) {
    nonce.push_back("0123456789abcdef"[byte >> 4]);
    nonce.push_back("0123456789abcdef"[byte & 15]);
  }
  return nonce;
}

// Detaches from the process that started us: from its terminal, session and working directory.
void BeOnOurOwn() {
  setsid();
  (void)chdir("/");
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null.get(), fd);
}

class Attached {
 public:
  Attached(AttachOptions options, UniqueFd process, std::string nonce, std::string request)
      : options_(std::move(options)),
        process_(std::move(process)),
        // A copy of the channel, kept open until the trial has ended: closing it signals that.
        channel_(fcntl(options_.channel.get(), F_DUPFD_CLOEXEC, 0)),
        relay_(&poller_, {.trainer_socket = options_.trainer_socket,
                          .nonce = std::move(nonce),
                          .attach = ReportRelay::Attach{static_cast<std::uint64_t>(options_.pid),
                                                        std::move(request)},
                          .on_finished = [this] { EndSoon(); }}) {}

  int Run() {
    poller_.Watch(process_.get(), EPOLLIN, [this](std::uint32_t) { OnProcessEnd(); });
    relay_.AddReporter(std::move(options_.channel));
    poller_.Run();
    if (relay_.finished()) Say(channel_.get(), R"({"t":"ok"})");
    return kShimDone;
  }

 private:
  void OnProcessEnd() {
    poller_.Forget(process_.get());
    relay_.ProcessGone();
    poller_.RunAfter(options_.trainer_limit, [this] { poller_.Stop(); });
    End();
  }
  // Called by the relay, which must not be ended from inside its own callback. A process that exits
  // closes its channel a moment before its pidfd becomes readable.
  void EndSoon() {
    poller_.RunAfter(relay_.finished() ? std::chrono::milliseconds(0) : options_.death_after_close,
                     [this] { End(); });
  }
  void End() {
    if (std::exchange(ends_, true)) return;
    relay_.TaskEnded([this] { poller_.Stop(); });
  }

  AttachOptions options_;
  Poller poller_;
  const UniqueFd process_;
  const UniqueFd channel_;
  ReportRelay relay_;
  bool ends_ = false;
};

}  // namespace

int RunAttached(AttachOptions options) {
  const int channel = options.channel.get();
  fcntl(channel, F_SETFD, FD_CLOEXEC);
  UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, options.pid, 0)));
  if (!process.valid()) {
    Say(channel, ErrorLine("ABORTED", std::string("cannot watch process ") +
                                          std::to_string(options.pid) + ": " + strerror(errno)));
    return kShimBadSpec;
  }
  const pid_t copy = fork();
  if (copy > 0) return kShimDone;
  if (copy < 0) {
    Say(channel, ErrorLine("ABORTED", std::string("cannot fork: ") + strerror(errno)));
    return kShimBadSpec;
  }
  BeOnOurOwn();
  auto request = FirstLine(channel, process.get(), options.request_limit);
  auto nonce = NewNonce();
  if (!request || !nonce) return kShimBadSpec;
  return Attached(std::move(options), std::move(process), *std::move(nonce), *std::move(request))
      .Run();
}

}  // namespace launcher

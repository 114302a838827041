#include "launcher/run/shim_spawner.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "launcher/wire/shim_packet.h"
#include "launcher/wire/shim_protocol.h"
#include "runtime/text/string_view.h"

namespace launcher {
namespace {

constexpr timeval kLongest = {.tv_sec = 10, .tv_usec = 0};
constexpr absl::Duration kToLeave = absl::Seconds(1);
// Room for the longest path of a folder in the arguments of a shim.
constexpr std::size_t kTitle = 4096 + 64;

absl::Status Errno(const std::string& what) {
  return absl::UnavailableError(absl::StrCat(what, ": ", strerror(errno)));
}

// Waits for the end of our child, and kills it if it does not end in time.
void AwaitEnd(const ShimSpawner::Shim& shim) {
  pollfd ended = {shim.pidfd.get(), POLLIN, 0};
  if (!shim.pidfd.valid() ||
      poll(&ended, 1, static_cast<int>(absl::ToInt64Milliseconds(kToLeave))) <= 0) {
    kill(shim.pid, SIGKILL);
  }
  (void)waitpid(shim.pid, nullptr, 0);
}

bool IsOffer(const ShimPacket& packet) { return packet.text.starts_with(kSpareOffer); }

}  // namespace

absl::Status ShimSpawner::Open() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return Errno("cannot make a socket pair for shims");
  }
  runtime::UniqueFd ours(ends[0]);
  const runtime::UniqueFd its(ends[1]);
  setsockopt(ours.get(), SOL_SOCKET, SO_RCVTIMEO, &kLongest, sizeof kLongest);
  runtime::Subprocess::Options options;
  options.argv = {"yard-shim", std::string(kServeShims), std::string(kTitle, ' ')};
  options.program = shim_path_;
  options.fds = {{its.get(), kShimServerFd}};
  options.new_session = true;
  auto server = runtime::Subprocess::Start(options);
  if (!server.ok()) return server.status();
  server_ = *std::move(server);
  socket_ = std::move(ours);
  return absl::OkStatus();
}

void ShimSpawner::Close() {
  if (!server_) return;
  shutdown(socket_.get(), SHUT_WR);
  if (!server_->Wait(kToLeave).ok()) {
    (void)server_->Signal(SIGKILL);
    (void)server_->Wait(kToLeave);
  }
  server_.reset();
  TakeOffer();
  socket_.reset();
  if (!spare_.socket.valid()) return;
  spare_.socket.reset();
  AwaitEnd(std::exchange(spare_.shim, {}));
}

absl::StatusOr<ShimSpawner::Shim> ShimSpawner::Start(const std::string& folder, int control,
                                                     int log, const std::vector<int>& locks) {
  std::vector<int> descriptors = {control, log};
  descriptors.insert(descriptors.end(), locks.begin(), locks.end());
  if (descriptors.size() > ShimPacket::kMaxDescriptors) {
    return absl::FailedPreconditionError(absl::StrCat("a task can have at most ",
                                                      ShimPacket::kMaxDescriptors - 2,
                                                      " members of resources that users share"));
  }
  if (auto spare = StartSpare(folder, descriptors)) return *std::move(spare);
  const bool is_new = !server_.has_value();
  if (is_new) {
    if (auto opened = Open(); !opened.ok()) return opened;
  }
  auto shim = Ask(folder, descriptors);
  if (shim.ok() || !absl::IsUnavailable(shim.status())) return shim;
  Close();
  if (is_new) return shim;
  return Start(folder, control, log, locks);
}

std::optional<ShimSpawner::Shim> ShimSpawner::StartSpare(const std::string& folder,
                                                         const std::vector<int>& descriptors) {
  TakeOffer();
  if (!spare_.socket.valid()) return std::nullopt;
  Spare spare = std::exchange(spare_, {});
  const bool is_told = ShimPacket::Send(spare.socket.get(), folder, descriptors);
  (void)ShimPacket::Send(socket_.get(), kSpareTaken);
  if (is_told) return std::move(spare.shim);
  AwaitEnd(spare.shim);  // The spare was killed before it got the attempt.
  return std::nullopt;
}

void ShimSpawner::TakeOffer() {
  if (!socket_.valid() || spare_.socket.valid()) return;
  ShimPacket packet = ShimPacket::Receive(socket_.get(), MSG_DONTWAIT);
  if (IsOffer(packet)) Keep(std::move(packet));
}

void ShimSpawner::Keep(ShimPacket offer) {
  const std::string_view pid = std::string_view(offer.text).substr(kSpareOffer.size());
  if (!absl::SimpleAtoi(runtime::Absl(pid), &spare_.shim.pid)) return;
  spare_.shim.pidfd = std::move(offer.first);
  spare_.socket = std::move(offer.second);
  if (spare_.socket.valid()) return;
  // The descriptors could not be received: too many open files.
  AwaitEnd(std::exchange(spare_.shim, {}));
  (void)ShimPacket::Send(socket_.get(), kSpareTaken);
}

// Asks the server for a shim. Unavailable if the server does not run.
absl::StatusOr<ShimSpawner::Shim> ShimSpawner::Ask(const std::string& folder,
                                                   const std::vector<int>& descriptors) {
  if (!ShimPacket::Send(socket_.get(), folder, descriptors)) return Errno("cannot ask for a shim");
  ShimPacket answer = ShimPacket::Receive(socket_.get());
  if (IsOffer(answer)) {
    Keep(std::move(answer));
    answer = ShimPacket::Receive(socket_.get());
  }
  if (answer.text.empty()) return Errno("no answer to a question for a shim");
  Shim shim;
  shim.pidfd = std::move(answer.first);
  if (!absl::SimpleAtoi(answer.text, &shim.pid)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot make a process for a shim: ", answer.text));
  }
  if (!shim.pidfd.valid()) {
    // The descriptor could not be received: too many open files. The pid remains our child's until
    // it is reaped.
    kill(shim.pid, SIGKILL);
    (void)waitpid(shim.pid, nullptr, 0);
    return absl::ResourceExhaustedError("too many open files to watch a shim");
  }
  return shim;
}

}  // namespace launcher

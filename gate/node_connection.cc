#include "gate/node_connection.h"

#include <sys/resource.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/process/unix_listener.h"
#include "runtime/text/printable.h"

namespace gate {
namespace {

using bus::ChannelMessage;
using Kind = bus::ChannelMessage::Kind;

// Descriptors that nodes leave for the gate's clients and its own work.
constexpr rlim_t kSpareDescriptors = 64;

// (The kernel assigns the lowest free descriptor.)
bool LeavesSpare(int fd) {
  rlimit limit = {};
  if (fd < 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0) return fd >= 0;
  return static_cast<rlim_t>(fd) + kSpareDescriptors < limit.rlim_cur;
}

}  // namespace

absl::Status NodeConnection::Receive(std::string_view bytes) {
  const auto message = ChannelMessage::Decode(bytes);
  absl::Status status = !message       ? absl::InvalidArgumentError("not a node's message")
                        : is_welcome() ? pipes_->Receive(*message)
                                       : Greet(*message);
  if (!status.ok()) Refuse({status.message().data(), status.message().size()});
  return status;
}

absl::Status NodeConnection::Greet(const ChannelMessage& message) {
  if (message.kind != Kind::kHello) {
    return absl::InvalidArgumentError("a node's first message is its hello");
  }
  const auto greeting = bus::NodeGreeting::Decode(message.text);
  if (!greeting) {
    return absl::InvalidArgumentError(
        "this gate does not know the node's version of the hello; next: take yard-node from the "
        "installation of the yard");
  }
  if (greeting->name != options_.key.name || greeting->nonce != options_.key.nonce) {
    return absl::PermissionDeniedError(absl::StrCat(
        "the key is that of node ", options_.key.name, ", and not of node ",
        runtime::Printable(greeting->name), " with that nonce; next: yard gate remove ",
        options_.key.name, " && yard gate allow ", options_.key.name, " --node"));
  }
  auto descriptors = options_.thread->Descriptors();
  if (!descriptors.ok()) return descriptors.status();
  pipes_ = std::make_unique<bus::ChannelPipes>(bus::ChannelPipes::Options{
      .thread = options_.thread,
      .descriptors = *descriptors,
      .end = bus::NodeChannels::End::kGate,
      .send = options_.send,
      .on_stuck = [on_stuck = options_.on_stuck] { on_stuck("it has gone, or does not read"); },
      .connect = [this](char where) { return Connect(where); }});
  pipes_->Send({Kind::kWelcome});
  return absl::OkStatus();
}

absl::StatusOr<runtime::UniqueFd> NodeConnection::Connect(char where) const {
  const bool to_launcher = where == bus::kToLauncher;
  const std::string path =
      options_.runtime_directory +
      (to_launcher ? "/nodes/" + options_.key.name : std::string("/trainer-relay"));
  const auto address = runtime::UnixAddress(path);
  if (!address.ok()) return address.status();
  runtime::UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!LeavesSpare(socket.get())) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the gate has too many open files for one more connection of a node; next: a higher ",
        "`ulimit -Hn` where the yard is started"));
  }
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) == 0) {
    return socket;
  }
  if (to_launcher && errno == ENOENT) {
    return absl::UnavailableError(absl::StrCat("the yard has no node ", options_.key.name,
                                               ", or its launcher does not run; next: yard pool"));
  }
  return absl::UnavailableError(absl::StrCat("the ", to_launcher ? "launcher" : "trainer",
                                             " does not answer: ", std::strerror(errno)));
}

void NodeConnection::Ping() {
  if (is_welcome()) pipes_->Send({Kind::kPing});
}

void NodeConnection::Refuse(std::string_view why) {
  const ChannelMessage message{Kind::kRefuse, 0, why};
  if (is_welcome()) return pipes_->Send(message);
  (void)options_.send(message.Encode());
}

}  // namespace gate

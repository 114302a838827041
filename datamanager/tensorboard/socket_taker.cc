// Everything except the check of a request runs on the loop's thread. Givers have numbers that are
// never reused, so a late result for a giver that has gone is dropped. A function posted to the
// loop checks alive_ there before it uses the taker, which is destroyed on the loop's thread.

#include "datamanager/tensorboard/socket_taker.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "datamanager/tensorboard/provider.h"
#include "datamanager/tensorboard/socket_packet.h"
#include "glog/logging.h"
#include "runtime/process/peer.h"

namespace datamanager::tensorboard {
namespace {

using runtime::EventLoop;
using runtime::UniqueFd;

// Pause after a failure to accept, for example without a free descriptor.
constexpr absl::Duration kRest = absl::Milliseconds(100);
// Generous, because a TensorBoard reads what it requests.
constexpr std::size_t kMostUnsent = std::size_t{256} << 20;

bool IsSameDirectory(const std::string& a, const std::string& b) {
  if (a == b) return true;
  struct stat of_a {
  }, of_b{};
  return stat(a.c_str(), &of_a) == 0 && stat(b.c_str(), &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
         of_a.st_ino == of_b.st_ino;
}

bool Listens(const UniqueFd& socket) {
  int listens = 0;
  socklen_t size = sizeof listens;
  return getsockopt(socket.get(), SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 &&
         listens == 1 && fcntl(socket.get(), F_SETFL, O_NONBLOCK) == 0;
}

absl::StatusOr<ServerFlags> FlagsOf(const SocketPacket& packet) {
  const auto words = WordsOf(packet.text);
  if (!words.ok()) return words.status();
  if (packet.sockets.empty()) return absl::InvalidArgumentError("there is no socket with it");
  for (const UniqueFd& socket : packet.sockets) {
    if (!Listens(socket)) return absl::InvalidArgumentError("a socket that does not listen");
  }
  return ParseServerFlags(*words);
}

// Checks whether a server with these flags would show the same runs. Examines directories.
absl::Status CheckFlags(const ServerFlags& flags, const std::string& root,
                        absl::Duration reload_interval, bool all_runs) {
  if (!IsSameDirectory(flags.logdir, root)) {
    return absl::FailedPreconditionError(absl::StrCat("the yard's runs are in ", root));
  }
  if (!all_runs) {
    return absl::FailedPreconditionError("the yard reads some of the runs (--include, --exclude)");
  }
  if (reload_interval == absl::ZeroDuration() || flags.reload < reload_interval) {
    return absl::FailedPreconditionError("the yard looks for new runs less often");
  }
  return absl::OkStatus();
}

}  // namespace

SocketTaker::SocketTaker(Options options) : options_(std::move(options)) {}

SocketTaker::~SocketTaker() { Stop(); }

absl::Status SocketTaker::ListenAgain() {
  auto listener = ListenForPackets(options_.path);
  if (!listener.ok()) return listener.status();
  ListenNoMore();
  listener_ = *std::move(listener);
  Listen();
  return absl::OkStatus();
}

void SocketTaker::Stop() {
  ListenNoMore();
  while (!givers_.empty()) Forget(givers_.begin()->first);
}

std::size_t SocketTaker::taken() const { return taken_; }

void SocketTaker::Listen() {
  accepts_ =
      options_.loop->Watch(listener_.get(), EventLoop::Readiness::kReadable, [this] { Accept(); });
}

void SocketTaker::ListenNoMore() {
  if (accepts_ != 0) options_.loop->Unwatch(std::exchange(accepts_, 0));
  rest_.Cancel();
  listener_.reset();
}

void SocketTaker::Accept() {
  UniqueFd connection(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!connection.valid()) {
    if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) Rest();
    return;
  }
  if (!runtime::IsOfOurUser(connection.get())) return;
  if (givers_.size() >= kMost) {
    (void)SendPacket(connection.get(), "the yard serves as many as it can");
    return;
  }
  const GiverId id = ++last_id_;
  Giver& giver = givers_[id];
  giver.watch = options_.loop->Watch(connection.get(), EventLoop::Readiness::kReadable,
                                     [this, id] { Read(id); });
  giver.patience.Start(options_.loop, options_.patience, [this, id] { Forget(id); });
  giver.connection = std::move(connection);
}

void SocketTaker::Rest() {
  options_.loop->Unwatch(std::exchange(accepts_, 0));
  rest_.Start(options_.loop, kRest, [this] { Listen(); });
}

void SocketTaker::Read(GiverId id) {
  Giver& giver = givers_.at(id);
  auto packet = ReceivePacket(giver.connection.get());
  if (!packet.has_value()) return GiverIsGone(id);
  if (!giver.patience.is_set()) return Forget(id);  // The giver may send only one packet.
  giver.patience.Cancel();
  auto flags = FlagsOf(*packet);
  if (!flags.ok()) return Refuse(id, flags.status());
  giver.sockets = std::move(packet->sockets);
  if (threads_ == nullptr) threads_ = std::make_unique<CallThreads>(options_.coordinator);
  const absl::Status asked =
      threads_->Run([this, alive = std::weak_ptr<bool>(alive_), loop = options_.loop, id,
                     flags = *std::move(flags), root = options_.catalog->root(),
                     interval = options_.reload_interval, all = options_.all_runs] {
        const absl::Status good = CheckFlags(flags, root, interval, all);
        loop->Post([this, alive, id, flags, good] {
          if (!alive.expired()) Decide(id, flags, good);
        });
      });
  if (!asked.ok()) Refuse(id, asked);
}

void SocketTaker::Decide(GiverId id, const ServerFlags& flags, const absl::Status& good) {
  const auto found = givers_.find(id);
  if (found == givers_.end()) return;
  if (!good.ok()) return Refuse(id, good);
  Giver& giver = found->second;
  if (!SendPacket(giver.connection.get(), kTaken)) return Forget(id);
  giver.server = std::make_unique<H2Server>(H2Server::Options{
      .loop = options_.loop,
      .listeners = std::move(giver.sockets),
      .on_call = threads_->AnswersOf(Provider::Create({.catalog = options_.catalog,
                                                       .logdir = flags.logdir,
                                                       .overlap = flags.overlap,
                                                       .samples = flags.samples})),
      .max_unsent_bytes = kMostUnsent});
  ++taken_;
  LOG(INFO) << "serves a TensorBoard";
}

void SocketTaker::Refuse(GiverId id, const absl::Status& why) {
  (void)SendPacket(givers_.at(id).connection.get(),
                   std::string_view(why.message().data(), why.message().size()));
  Forget(id);
}

// TensorBoard may still be connected although the process that gave its sockets has gone.
void SocketTaker::GiverIsGone(GiverId id) {
  Giver& giver = givers_.at(id);
  if (giver.server == nullptr) return Forget(id);
  options_.loop->Unwatch(std::exchange(giver.watch, 0));
  giver.connection.reset();
  giver.server->StopListening([this, id] { Forget(id); });
}

void SocketTaker::Forget(GiverId id) {
  const auto found = givers_.find(id);
  if (found == givers_.end()) return;
  Giver& giver = found->second;
  if (giver.watch != 0) options_.loop->Unwatch(giver.watch);
  if (giver.server != nullptr) --taken_;
  givers_.erase(found);
}

absl::StatusOr<std::unique_ptr<SocketTaker>> SocketTaker::Create(Options options) {
  std::unique_ptr<SocketTaker> taker(new SocketTaker(std::move(options)));
  if (absl::Status listens = taker->ListenAgain(); !listens.ok()) return listens;
  return taker;
}

}  // namespace datamanager::tensorboard

#include "datamanager/tensorboard/socket_taker.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "datamanager/tensorboard/call_threads.h"
#include "datamanager/tensorboard/h2_server.h"
#include "datamanager/tensorboard/provider.h"
#include "datamanager/tensorboard/server_flags.h"
#include "datamanager/tensorboard/socket_packet.h"
#include "glog/logging.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/peer.h"

// Everything but the check of a request happens on the loop's thread. A giver is known by a number
// that never comes again: what is found out late finds nobody.

namespace datamanager::tensorboard {
namespace {

using runtime::EventLoop;
using runtime::UniqueFd;

// After a failure to accept: there is no descriptor, say.
constexpr absl::Duration kRest = absl::Milliseconds(100);
// A TensorBoard reads what it asks for.
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

// Whether a server with these flags would show the same runs. Looks at directories.
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

class Taker : public SocketTaker, public std::enable_shared_from_this<Taker> {
 public:
  explicit Taker(Options options) : options_(std::move(options)) {}

  absl::Status ListenAgain() override {
    auto listener = ListenForPackets(options_.path);
    if (!listener.ok()) return listener.status();
    ListenNoMore();
    listener_ = *std::move(listener);
    Listen();
    return absl::OkStatus();
  }

  void Stop() override {
    ListenNoMore();
    while (!givers_.empty()) Forget(givers_.begin()->first);
  }

  std::size_t taken() const override { return taken_; }

 private:
  using GiverId = std::uint64_t;
  struct Giver {
    UniqueFd connection;  // Not valid: it is gone.
    EventLoop::WatchId watch = 0;
    EventLoop::TimerId patience = 0;
    std::vector<UniqueFd> sockets;  // Until they are served.
    std::unique_ptr<H2Server> server;
  };

  void Listen() {
    accepts_ = options_.loop->Watch(listener_.get(), EventLoop::Readiness::kReadable,
                                    [this] { Accept(); });
  }

  void ListenNoMore() {
    if (accepts_ != 0) options_.loop->Unwatch(std::exchange(accepts_, 0));
    if (rest_ != 0) options_.loop->Cancel(std::exchange(rest_, 0));
    listener_.reset();
  }

  void Accept() {
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
    giver.patience = options_.loop->RunAfter(options_.patience, [this, id] { Forget(id); });
    giver.connection = std::move(connection);
  }

  void Rest() {
    options_.loop->Unwatch(std::exchange(accepts_, 0));
    rest_ = options_.loop->RunAfter(kRest, [this] {
      rest_ = 0;
      Listen();
    });
  }

  void Read(GiverId id) {
    Giver& giver = givers_.at(id);
    auto packet = ReceivePacket(giver.connection.get());
    if (!packet.has_value()) return GiverIsGone(id);
    if (giver.patience == 0) return Forget(id);  // The giver may send only one packet.
    options_.loop->Cancel(std::exchange(giver.patience, 0));
    auto flags = FlagsOf(*packet);
    if (!flags.ok()) return Refuse(id, flags.status());
    giver.sockets = std::move(packet->sockets);
    if (threads_ == nullptr) threads_ = std::make_unique<CallThreads>(options_.coordinator);
    const absl::Status asked =
        threads_->Run([self = weak_from_this(), loop = options_.loop, id, flags = *std::move(flags),
                       root = options_.catalog->root(), interval = options_.reload_interval,
                       all = options_.all_runs] {
          const absl::Status good = CheckFlags(flags, root, interval, all);
          loop->Post([self, id, flags, good] {
            if (const auto taker = self.lock()) taker->Decide(id, flags, good);
          });
        });
    if (!asked.ok()) Refuse(id, asked);
  }

  void Decide(GiverId id, const ServerFlags& flags, const absl::Status& good) {
    const auto found = givers_.find(id);
    if (found == givers_.end()) return;
    if (!good.ok()) return Refuse(id, good);
    Giver& giver = found->second;
    if (!SendPacket(giver.connection.get(), kTaken)) return Forget(id);
    giver.server = H2Server::Create(
        {.loop = options_.loop,
         .listeners = std::move(giver.sockets),
         .on_call = threads_->AnswersOf(Provider::Create({.catalog = options_.catalog,
                                                          .logdir = flags.logdir,
                                                          .overlap = flags.overlap,
                                                          .samples = flags.samples})),
         .max_unsent_bytes = kMostUnsent});
    ++taken_;
    LOG(INFO) << "serves a TensorBoard";
  }

  void Refuse(GiverId id, const absl::Status& why) {
    (void)SendPacket(givers_.at(id).connection.get(),
                     std::string_view(why.message().data(), why.message().size()));
    Forget(id);
  }

  // TensorBoard may be there without the one who gave its sockets.
  void GiverIsGone(GiverId id) {
    Giver& giver = givers_.at(id);
    if (giver.server == nullptr) return Forget(id);
    options_.loop->Unwatch(std::exchange(giver.watch, 0));
    giver.connection.reset();
    giver.server->StopListening([this, id] { Forget(id); });
  }

  void Forget(GiverId id) {
    const auto found = givers_.find(id);
    if (found == givers_.end()) return;
    Giver& giver = found->second;
    if (giver.watch != 0) options_.loop->Unwatch(giver.watch);
    if (giver.patience != 0) options_.loop->Cancel(giver.patience);
    if (giver.server != nullptr) --taken_;
    givers_.erase(found);
  }

  const Options options_;
  UniqueFd listener_;
  EventLoop::WatchId accepts_ = 0;
  EventLoop::TimerId rest_ = 0;
  std::atomic<std::size_t> taken_ = 0;
  std::unique_ptr<CallThreads> threads_;
  std::map<GiverId, Giver> givers_;
  GiverId last_id_ = 0;
};

// A late finding may keep the taker for a moment, and nothing of the loop then.
class Owner : public SocketTaker {
 public:
  explicit Owner(std::shared_ptr<Taker> taker) : taker_(std::move(taker)) {}
  ~Owner() override { taker_->Stop(); }
  absl::Status ListenAgain() override { return taker_->ListenAgain(); }
  void Stop() override { taker_->Stop(); }
  std::size_t taken() const override { return taker_->taken(); }

 private:
  const std::shared_ptr<Taker> taker_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<SocketTaker>> SocketTaker::Create(Options options) {
  auto taker = std::make_shared<Taker>(std::move(options));
  if (absl::Status listens = taker->ListenAgain(); !listens.ok()) return listens;
  return std::make_unique<Owner>(std::move(taker));
}

}  // namespace datamanager::tensorboard

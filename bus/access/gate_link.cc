#include "bus/access/gate_link.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bus/access/access_file.h"
#include "bus/access/channel_pipes.h"
#include "bus/access/gate_connection.h"
#include "bus/access/key_folder.h"
#include "bus/access/node_channels.h"
#include "bus/thread/bus_thread.h"
#include "bus/thread/descriptor_watches.h"
#include "bus/thread/socket.h"
#include "bus/wire/frame.h"
#include "glog/logging.h"
#include "runtime/clock.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/peer.h"
#include "runtime/process/unix_listener.h"
#include "runtime/text/printable.h"

// Always true (everything belongs to the bus thread): either socket_ exists, or a timer for the
// next connection is set; pipes_ exists from the gate's welcome until the socket is closed; the
// listeners accept connections only during that time.

namespace bus {
namespace {

using Kind = ChannelMessage::Kind;

constexpr int kWaiting = 128;  // Backlog of connections that are not carried yet.
constexpr int kMessagesAtOnce = 256;
// Limit for a gate that accepts the connection and does not answer.
constexpr absl::Duration kToWelcome = absl::Seconds(10);
// A connection that lasts this long resets the pause.
constexpr absl::Duration kLasts = absl::Seconds(10);
constexpr absl::Duration kTellAgain = absl::Minutes(1);
// The gate sends a message every few seconds; ZeroMQ's heartbeats detect a host that has
// disappeared.

absl::StatusOr<runtime::UniqueFd> Listen(const std::string& path) {
  auto listener = runtime::ListenAtPath(path, kWaiting);
  if (!absl::IsInvalidArgument(listener.status())) return listener;
  return absl::InvalidArgumentError(
      absl::StrCat(listener.status().message(), "; next: take a shorter --folder"));
}

absl::StatusOr<AccessFile> ReadKey(const std::string& path) {
  auto access = ReadAccessFile(path);
  if (!access.ok()) return access.status();
  if (access->role != kNodeRole || access->nonce.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, " is no key of a node; next: yard gate allow NAME --node, on the yard's machine"));
  }
  return access;
}

struct Listener {
  char where = kToLauncher;
  runtime::UniqueFd fd;
  DescriptorWatches::Id watch = 0;
};

}  // namespace

class GateLink::Impl {
 public:
  Impl(Options options, std::unique_ptr<BusThread> thread)
      : options_(std::move(options)), thread_(std::move(thread)) {}
  ~Impl() {
    thread_->Run([this] { CloseAll(); });
  }
  absl::Status Open();
  std::string launcher_socket() const { return LauncherSocket(options_.folder); }
  std::string trainer_socket() const { return TrainerSocket(options_.folder); }

 private:
  static absl::Duration Now() { return runtime::Clock::Real()->Monotonic(); }
  void CloseAll();
  void Connect();
  absl::Status TryToConnect();
  void OnMessages();
  // Returns false if the connection has ended.
  bool OnMessage(std::string_view bytes);
  void OnWelcome();
  void OnMonitor();
  Socket::Sent Send(std::string_view bytes);
  void Accept(const Listener& listener);
  void WatchListeners(bool reads);
  void CloseConnection();
  // Ends the connection, or the attempt to connect, and schedules the next attempt.
  void End(const absl::Status& why);
  void TellFailures();

  const Options options_;
  const std::unique_ptr<BusThread> thread_;

  // Bus thread only.
  DescriptorWatches* descriptors_ = nullptr;
  std::array<Listener, 2> listeners_;
  std::unique_ptr<Socket> socket_;
  BusThread::WatchId watch_ = 0, monitor_watch_ = 0;
  BusTimer connect_timer_, welcome_timer_;
  std::unique_ptr<ChannelPipes> pipes_;
  std::string address_, name_;  // Address of the last connection; name of its key.
  std::size_t turn_ = 0;
  absl::Duration pause_ = absl::ZeroDuration();
  absl::Duration welcome_at_ = absl::ZeroDuration();
  absl::Duration away_since_ = Now(), told_at_ = -absl::InfiniteDuration();
  std::map<std::string, std::string>
      failures_;  // Why each address has failed since the last welcome.
};

absl::Status GateLink::Impl::Open() {
  absl::Status opened;
  thread_->Run([&] {
    auto descriptors = thread_->Descriptors();
    if (!descriptors.ok()) return (void)(opened = descriptors.status());
    descriptors_ = *descriptors;
    listeners_[0].where = kToLauncher;
    listeners_[1].where = kToTrainer;
    for (Listener& listener : listeners_) {
      auto fd = Listen(listener.where == kToLauncher ? launcher_socket() : trainer_socket());
      if (!fd.ok()) return (void)(opened = fd.status());
      listener.fd = *std::move(fd);
      listener.watch = descriptors_->Watch(listener.fd.get(),
                                           [this, &listener](bool, bool) { Accept(listener); });
    }
    pause_ = options_.first_pause;
    Connect();
  });
  return opened;
}

void GateLink::Impl::CloseAll() {
  connect_timer_.Cancel();
  CloseConnection();
  for (Listener& listener : listeners_) {
    if (!listener.fd.valid()) continue;
    descriptors_->Unwatch(listener.watch);
    listener.fd.reset();
  }
}

// ---- The connection

void GateLink::Impl::Connect() {
  if (const absl::Status begun = TryToConnect(); !begun.ok()) End(begun);
}

absl::Status GateLink::Impl::TryToConnect() {
  const auto access = ReadKey(options_.key_file);
  if (!access.ok()) {
    address_ = options_.key_file;
    return access.status();
  }
  name_ = access->name;
  address_ = options_.addresses.empty() ? access->address
                                        : options_.addresses[turn_++ % options_.addresses.size()];
  auto socket = Socket::Open(thread_->context(), Socket::Use::kCaller, &access->keys);
  if (!socket.ok()) return socket.status();
  if (absl::Status connected = (*socket)->Connect(address_); !connected.ok()) return connected;
  socket_ = *std::move(socket);
  watch_ = thread_->Watch(socket_->handle(), [this] { OnMessages(); });
  monitor_watch_ = thread_->Watch(
      socket_->monitor(), [this] { OnMonitor(); }, BusThread::UsedBy::kReadable);
  welcome_timer_.Start(thread_.get(), kToWelcome, [this] {
    End(absl::UnavailableError(absl::StrCat("nothing answers at ", address_, " as a gate does")));
  });
  // (ZeroMQ queues the greeting until the handshake is done.)
  const NodeGreeting greeting{.nonce = access->nonce, .name = access->name};
  (void)Send(ChannelMessage{Kind::kHello, 0, greeting.Encode()}.Encode());
  return absl::OkStatus();
}

Socket::Sent GateLink::Impl::Send(std::string_view bytes) {
  std::array<Frame, 2> frames = {Frame(kNodeOfGate), Frame(bytes)};
  return socket_->Send(frames);
}

void GateLink::Impl::OnMessages() {
  std::vector<Frame> frames;
  for (int i = 0; i < kMessagesAtOnce; ++i) {
    if (!socket_->Receive(frames)) return thread_->Drained(watch_);
    if (frames.size() == 1 && !OnMessage(frames[0].text())) return;
  }
}

bool GateLink::Impl::OnMessage(std::string_view bytes) {
  const auto message = ChannelMessage::Decode(bytes);
  if (!message) {
    End(absl::InvalidArgumentError(
        absl::StrCat("the gate at ", address_, " says what this node does not understand")));
    return false;
  }
  if (message->kind == Kind::kRefuse) {
    End(absl::PermissionDeniedError(
        absl::StrCat("the gate at ", address_, " says: ", runtime::Printable(message->text))));
    return false;
  }
  if (pipes_ == nullptr) {
    if (message->kind == Kind::kWelcome) OnWelcome();
    return true;
  }
  if (message->kind == Kind::kClose && !message->text.empty()) {
    LOG_EVERY_T(WARNING, 60) << "the gate at " << address_
                             << " has ended a connection: " << runtime::Printable(message->text);
  }
  const absl::Status good = pipes_->Receive(*message);
  if (!good.ok()) End(good);
  return good.ok();
}

void GateLink::Impl::OnWelcome() {
  welcome_timer_.Cancel();
  welcome_at_ = Now();
  LOG(INFO) << "the gate at " << address_ << " has let in node " << name_;
  failures_.clear();
  pipes_ = std::make_unique<ChannelPipes>(ChannelPipes::Options{
      .thread = thread_.get(),
      .descriptors = descriptors_,
      .end = NodeChannels::End::kNode,
      .send = [this](std::string_view bytes) { return Send(bytes); },
      .on_stuck =
          [this] {
            End(absl::UnavailableError(absl::StrCat("the gate at ", address_, " does not read")));
          }});
  WatchListeners(true);
}

void GateLink::Impl::OnMonitor() {
  if (!socket_->ReadConnectionLost()) return;
  // Reads the gate's last messages, which may have ended the connection.
  OnMessages();
  if (socket_ == nullptr) return;
  End(WhyGateIsLost(socket_->reached(), address_, name_));
}

void GateLink::Impl::CloseConnection() {
  WatchListeners(false);
  pipes_.reset();
  welcome_timer_.Cancel();
  thread_->Unwatch(std::exchange(watch_, 0));
  thread_->Unwatch(std::exchange(monitor_watch_, 0));
  socket_.reset();
}

void GateLink::Impl::End(const absl::Status& why) {
  const bool was_welcome = pipes_ != nullptr;
  CloseConnection();
  if (was_welcome) away_since_ = Now();
  if (was_welcome && Now() - welcome_at_ >= kLasts) pause_ = options_.first_pause;
  failures_[address_] = std::string(why.message());
  TellFailures();
  const bool is_refused = absl::IsPermissionDenied(why);
  const absl::Duration pause = is_refused ? std::max(options_.refused_pause, pause_) : pause_;
  pause_ = std::min(2 * pause_, options_.longest_pause);
  connect_timer_.Start(thread_.get(), pause, [this] { Connect(); });
}

void GateLink::Impl::TellFailures() {
  if (failures_.size() < std::max<std::size_t>(options_.addresses.size(), 1)) return;
  if (Now() - away_since_ < options_.told_after || Now() - told_at_ < kTellAgain) return;
  told_at_ = Now();
  LOG(ERROR) << "cannot reach the gate of the yard, and goes on trying: "
             << absl::StrJoin(failures_, "; ", [](std::string* out, const auto& failure) {
                  absl::StrAppend(out, failure.second);
                });
}

// ---- The node's connections

void GateLink::Impl::WatchListeners(bool reads) {
  for (const Listener& listener : listeners_) {
    if (listener.fd.valid()) descriptors_->SetInterest(listener.watch, reads, false);
  }
}

void GateLink::Impl::Accept(const Listener& listener) {
  runtime::UniqueFd socket(
      accept4(listener.fd.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.valid()) {
    LOG_IF_EVERY_N(ERROR, errno != EAGAIN && errno != EINTR && errno != ECONNABORTED, 100)
        << "cannot take a connection of the node: " << std::strerror(errno);
    return;
  }
  if (!runtime::IsOfOurUser(socket.get())) return;
  if (const absl::Status carried = pipes_->Carry(std::move(socket), listener.where);
      !carried.ok()) {
    LOG_EVERY_T(WARNING, 60) << "a connection of the node was closed: " << carried.message();
  }
}

GateLink::GateLink(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GateLink::~GateLink() = default;
std::string GateLink::launcher_socket() const { return impl_->launcher_socket(); }
std::string GateLink::trainer_socket() const { return impl_->trainer_socket(); }

absl::Status GateLink::CheckKey(const std::string& key_file) { return ReadKey(key_file).status(); }

absl::StatusOr<std::unique_ptr<GateLink>> GateLink::Start(Options options) {
  for (const std::string& address : options.addresses) {
    if (absl::Status good = CheckGateAddress(address); !good.ok()) return good;
  }
  auto thread = BusThread::Create(runtime::Clock::Real());
  if (!thread.ok()) return thread.status();
  auto impl = std::make_unique<Impl>(std::move(options), *std::move(thread));
  if (absl::Status opened = impl->Open(); !opened.ok()) return opened;
  return std::unique_ptr<GateLink>(new GateLink(std::move(impl)));
}

}  // namespace bus

// Accepts connections on one thread and passes them to connection.h.

#include "web/http/server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "boost/asio/executor_work_guard.hpp"
#include "boost/asio/io_context.hpp"
#include "boost/asio/posix/stream_descriptor.hpp"
#include "boost/asio/post.hpp"
#include "boost/asio/steady_timer.hpp"
#include "runtime/file/unique_fd.h"
#include "runtime/thread.h"
#include "web/http/connection.h"
#include "web/http/listener.h"
#include "web/http/message.h"

namespace web {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Core = ServerCore;

// Accepts on one listening socket.
class Acceptor : public std::enable_shared_from_this<Acceptor> {
 public:
  Acceptor(const std::shared_ptr<Core>& core, Door door, runtime::UniqueFd listener)
      : core_(core), door_(door), listener_(core->io, listener.release()), pause_(core->io) {}

  void Accept() {
    listener_.async_wait(asio::posix::stream_descriptor::wait_read,
                         [self = shared_from_this()](error_code error) {
                           if (!error) self->TakeAll();
                         });
  }
  void Close() {
    error_code ignored;
    listener_.close(ignored);
    pause_.cancel();
  }
  Door door() const { return door_; }

 private:
  void TakeAll() {
    while (true) {
      const int fd =
          accept4(listener_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (fd >= 0) {
        Take(runtime::UniqueFd(fd));
      } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
        return Pause();
      } else if (errno != EINTR && errno != ECONNABORTED) {
        return Accept();
      }
    }
  }

  void Take(runtime::UniqueFd fd) {
    const auto core = core_.lock();
    if (core == nullptr) return;
    if (core->connections >= core->options.max_connections ||
        (door_ == Door::kSocket && !IsOwnUser(fd.get()))) {
      ++core->turned_away;
      return;
    }
    int family = AF_UNIX;
    if (door_ == Door::kPort) {
      socklen_t length = sizeof family;
      getsockopt(fd.get(), SOL_SOCKET, SO_DOMAIN, &family, &length);
      // Without TCP_NODELAY, an answer of several writes would wait for the client's delayed ACK.
      const int on = 1;
      setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    StartConnection(core, door_, family, std::move(fd));
  }

  // Called if no file descriptor is free: retries later; the kernel keeps the connection pending.
  void Pause() {
    pause_.expires_after(std::chrono::milliseconds(100));
    pause_.async_wait([self = shared_from_this()](error_code error) {
      if (!error) self->Accept();
    });
  }

  const std::weak_ptr<Core> core_;
  const Door door_;
  asio::posix::stream_descriptor listener_;
  asio::steady_timer pause_;
};

}  // namespace

class HttpServer::Impl {
 public:
  explicit Impl(Options options)
      : core_(std::make_shared<Core>(std::move(options))), work_(core_->io.get_executor()) {}
  ~Impl() {
    asio::post(core_->io, [this] {
      for (const auto& acceptor : acceptors_) acceptor->Close();
      CloseConnections(core_.get());
      core_->io.stop();
    });
    if (thread_ != nullptr) thread_->Join();
    if (!core_->options.socket.empty() && thread_ != nullptr) unlink(core_->options.socket.c_str());
  }

  absl::Status Listen() {
    const Options& options = core_->options;
    if (!options.socket.empty()) {
      auto listener = ListenOnSocket(options.socket);
      if (!listener.ok()) return listener.status();
      Add(Door::kSocket, *std::move(listener));
    }
    for (const std::string& address : options.addresses) {
      auto listener = ListenOnPort(address, port_ == 0 ? options.port : port_);
      if (!listener.ok() && port_ != 0) continue;
      if (!listener.ok()) return listener.status();
      port_ = PortOf(*listener);
      Add(Door::kPort, *std::move(listener));
    }
    thread_ = std::make_unique<runtime::Thread>("web-http", [core = core_] { core->io.run(); });
    return absl::OkStatus();
  }

  int port() const { return port_; }
  Stats GetStats() const {
    return {.connections = core_->connections,
            .requests = core_->requests,
            .refused = core_->refused,
            .turned_away = core_->turned_away};
  }
  absl::Status BindAgain() {
    auto listener = ListenOnSocket(core_->options.socket);
    if (!listener.ok()) return listener.status();
    // Shared, because posted functions must be copyable.
    const auto fd = std::make_shared<runtime::UniqueFd>(*std::move(listener));
    asio::post(core_->io, [this, fd] {
      std::erase_if(acceptors_, [](const auto& acceptor) {
        if (acceptor->door() != Door::kSocket) return false;
        acceptor->Close();
        return true;
      });
      Add(Door::kSocket, std::move(*fd));
    });
    return absl::OkStatus();
  }

 private:
  void Add(Door door, runtime::UniqueFd listener) {
    acceptors_.push_back(std::make_shared<Acceptor>(core_, door, std::move(listener)));
    acceptors_.back()->Accept();
  }

  const std::shared_ptr<Core> core_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::vector<std::shared_ptr<Acceptor>> acceptors_;  // Only used on the thread once it runs.
  int port_ = 0;
  std::unique_ptr<runtime::Thread> thread_;
};

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(Options options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  if (auto listening = impl->Listen(); !listening.ok()) return listening;
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;
int HttpServer::port() const { return impl_->port(); }
HttpServer::Stats HttpServer::GetStats() const { return impl_->GetStats(); }
absl::Status HttpServer::BindAgain() { return impl_->BindAgain(); }

}  // namespace web

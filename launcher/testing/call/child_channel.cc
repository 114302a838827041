#include "launcher/testing/call/child_channel.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace launcher::testing {

using Readiness = runtime::EventLoop::Readiness;

ChildChannel::ChildChannel(runtime::EventLoop* loop, runtime::UniqueFd socket,
                           std::function<void(const Message& message)> received)
    : loop_(loop), received_(std::move(received)), socket_(std::move(socket)) {
  fcntl(socket_.get(), F_SETFL, O_NONBLOCK);
  reading_ = loop_->Watch(socket_.get(), Readiness::kReadable, [this] { ReadOnce(); });
}

void ChildChannel::Send(const Message& message) {
  if (!socket_.valid()) return;
  if (sent_ > unsent_.size() / 2) unsent_.erase(0, std::exchange(sent_, 0));
  unsent_ += Frame(message);
  if (writing_ == 0) Write();
}

void ChildChannel::Write() {
  while (sent_ < unsent_.size()) {
    const ssize_t sent =
        send(socket_.get(), unsent_.data() + sent_, unsent_.size() - sent_, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) break;
    // (A write error is ignored: the read side sees the close, after messages that are still to be
    // read.)
    sent_ = sent < 0 ? unsent_.size() : sent_ + static_cast<std::size_t>(sent);
  }
  if (sent_ == unsent_.size()) {
    sent_ = 0;
    unsent_ = {};
  }
  if (!unsent_.empty() && writing_ == 0) {
    writing_ = loop_->Watch(socket_.get(), Readiness::kWritable, [this] { Write(); });
  } else if (unsent_.empty() && writing_ != 0) {
    loop_->Unwatch(std::exchange(writing_, 0));
  }
}

bool ChildChannel::ReadOnce() {
  if (!socket_.valid()) return false;
  char chunk[65536];
  const ssize_t got = recv(socket_.get(), chunk, sizeof chunk, 0);
  if (got < 0 && errno == EINTR) return true;
  if (got < 0 && errno == EAGAIN) return false;
  if (got <= 0) {
    Close();
    return false;
  }
  reader_.Add(std::string_view(chunk, static_cast<std::size_t>(got)));
  absl::Status error;
  while (const auto message = reader_.Next(&error)) received_(*message);
  if (error.ok()) return true;
  Close();
  return false;
}

void ChildChannel::Drain() {
  while (ReadOnce()) {
  }
}

void ChildChannel::Close() {
  if (!socket_.valid()) return;
  loop_->Unwatch(reading_);
  if (writing_ != 0) loop_->Unwatch(std::exchange(writing_, 0));
  socket_.reset();
}

}  // namespace launcher::testing

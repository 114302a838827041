#include "launcher/node/words/node_frames.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace launcher {
namespace {

constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kReadAtOnce = 64 << 10;

std::size_t LengthOf(std::string_view bytes) {
  std::size_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    length |= std::size_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  return length;
}

}  // namespace

NodeFrames::NodeFrames(runtime::EventLoop* loop, runtime::UniqueFd socket, Callbacks callbacks)
    : loop_(loop),
      socket_(std::move(socket)),
      callbacks_(std::make_shared<const Callbacks>(std::move(callbacks))) {
  (void)fcntl(socket_.get(), F_SETFL, fcntl(socket_.get(), F_GETFL) | O_NONBLOCK);
  read_watch_ = loop_->Watch(socket_.get(), runtime::EventLoop::Readiness::kReadable,
                             [this] { OnReadable(); });
  beat_.Start(loop_, kBeat, [this] { Beat(); });
}

NodeFrames::~NodeFrames() {
  *alive_ = false;
  if (!socket_.valid()) return;
  loop_->Unwatch(read_watch_);
  if (write_watch_ != 0) loop_->Unwatch(write_watch_);
}

void NodeFrames::Send(std::string_view frame) {
  if (!socket_.valid()) return;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    unsent_ += static_cast<char>((frame.size() >> (8 * i)) & 0xff);
  }
  unsent_ += frame;
  if (write_watch_ == 0) Flush();
  if (unsent_.size() <= kMaxUnsent) return;
  unsent_.clear();
  // (Posted, so that the connection does not end inside the caller.)
  loop_->Post([this, alive = alive_] {
    if (*alive) Close(absl::UnavailableError("it does not read what it is sent"));
  });
}

void NodeFrames::Flush() {
  std::size_t sent = 0;
  while (sent < unsent_.size()) {
    const ssize_t done =
        send(socket_.get(), unsent_.data() + sent, unsent_.size() - sent, MSG_NOSIGNAL);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) break;
    sent += static_cast<std::size_t>(done);
  }
  const int error = sent < unsent_.size() ? errno : 0;
  unsent_.erase(0, sent);
  const bool waits = error == EAGAIN || error == EWOULDBLOCK;
  // A write error is ignored: OnReadable() sees the end of the peer, after the frames that it has
  // sent.
  if (error != 0 && !waits) unsent_.clear();
  if (unsent_.empty() == (write_watch_ == 0)) return;
  if (unsent_.empty()) {
    loop_->Unwatch(std::exchange(write_watch_, 0));
  } else {
    write_watch_ =
        loop_->Watch(socket_.get(), runtime::EventLoop::Readiness::kWritable, [this] { Flush(); });
  }
}

void NodeFrames::OnReadable() {
  std::array<char, kReadAtOnce> buffer;
  const ssize_t got = recv(socket_.get(), buffer.data(), buffer.size(), 0);
  if (got < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) return;
  if (got < 0) return Close(absl::UnavailableError(std::strerror(errno)));
  if (got == 0) return Close(absl::UnavailableError("the connection was closed"));
  silent_ = absl::ZeroDuration();
  read_.append(buffer.data(), static_cast<std::size_t>(got));
  (void)TakeFrames();
}

bool NodeFrames::TakeFrames() {
  const std::shared_ptr<bool> alive = alive_;
  const std::shared_ptr<const Callbacks> callbacks = callbacks_;
  const std::string bytes = std::exchange(read_, {});
  std::string_view rest = bytes;
  while (rest.size() >= kLengthBytes) {
    const std::size_t length = LengthOf(rest);
    if (length > kMaxFrame) {
      Close(absl::InvalidArgumentError(
          absl::StrCat("a frame of ", length, " bytes (at most ", kMaxFrame, ")")));
      return false;
    }
    if (rest.size() < kLengthBytes + length) break;
    if (length > 0) callbacks->on_frame(rest.substr(kLengthBytes, length));
    if (!*alive || !socket_.valid()) return false;
    rest.remove_prefix(kLengthBytes + length);
  }
  read_ = rest;
  return true;
}

void NodeFrames::Beat() {
  silent_ += kBeat;
  if (silent_ > kMaxSilence) {
    return Close(
        absl::UnavailableError(absl::StrCat("silent for ", absl::FormatDuration(kMaxSilence))));
  }
  beat_.Start(loop_, kBeat, [this] { Beat(); });
  if (unsent_.empty()) Send("");
}

void NodeFrames::Close(const absl::Status& why) {
  if (!socket_.valid()) return;
  loop_->Unwatch(read_watch_);
  if (write_watch_ != 0) loop_->Unwatch(write_watch_);
  beat_.Cancel();
  socket_.reset();
  unsent_.clear();
  const std::shared_ptr<const Callbacks> callbacks = callbacks_;
  callbacks->on_closed(why);
}

}  // namespace launcher

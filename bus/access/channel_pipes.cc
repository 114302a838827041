#include "bus/access/channel_pipes.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

// Always true:
// - A pipe's channel is open (channels_.Has()), or the pipe is ending: then it only writes.
// - Write(), End() and OnClosed() may remove the pipe; do not use it afterwards.

namespace bus {
namespace {

constexpr absl::Duration kRetry = absl::Milliseconds(2);
// Includes pipes whose channels have ended, so that a peer that opens and closes channels in a row
// must wait until the earlier sockets are closed.
constexpr std::size_t kMaxPipes = 2 * kMaxChannels;

}  // namespace

ChannelPipes::ChannelPipes(Options options)
    : options_(std::move(options)), channels_(options_.end) {}

ChannelPipes::~ChannelPipes() {
  timer_.Cancel();
  while (!pipes_.empty()) Remove(pipes_.begin()->first);
}

void ChannelPipes::Send(const ChannelMessage& message) {
  std::string bytes = message.Encode();
  if (is_stuck_) return;
  const Socket::Sent sent = unsent_.empty() ? options_.send(bytes) : Socket::Sent::kFull;
  if (sent == Socket::Sent::kYes) return;
  if (sent == Socket::Sent::kGone || unsent_.size() >= kMaxUnsent) return Stuck();
  unsent_.push_back(std::move(bytes));
  if (unsent_.size() > 1) return;
  WatchAll();
  timer_.Start(options_.thread, kRetry, [this] { SendUnsent(); });
}

// Sends the queued messages. ZeroMQ does not report when a connection has room again, so it retries
// by timer.
void ChannelPipes::SendUnsent() {
  while (!unsent_.empty()) {
    const Socket::Sent sent = options_.send(unsent_.front());
    if (sent == Socket::Sent::kGone) return Stuck();
    if (sent == Socket::Sent::kFull) {
      timer_.Start(options_.thread, kRetry, [this] { SendUnsent(); });
      return;
    }
    unsent_.pop_front();
  }
  WatchAll();
}

// Calls on_stuck from a timer, so that it never runs inside another method.
void ChannelPipes::Stuck() {
  is_stuck_ = true;
  unsent_.clear();
  timer_.Start(options_.thread, absl::ZeroDuration(), [this] {
    const std::function<void()> on_stuck = options_.on_stuck;  // (It may destroy this.)
    on_stuck();
  });
}

void ChannelPipes::WatchAll() {
  for (auto& [channel, pipe] : pipes_) Watch(&pipe);
}

absl::Status ChannelPipes::Receive(const ChannelMessage& message) {
  const auto news = channels_.Receive(message);
  if (!news.ok()) return news.status();
  using What = NodeChannels::News::What;
  if (news->what == What::kNothing) return absl::OkStatus();
  if (news->what == What::kOpened) {
    OnOpened(news->channel, news->text.front());
    return absl::OkStatus();
  }
  const auto found = pipes_.find(news->channel);
  if (found == pipes_.end()) return absl::OkStatus();
  Pipe* const pipe = &found->second;
  if (news->what == What::kClosed) {
    OnClosed(pipe);
  } else if (news->what == What::kRoom) {
    Watch(pipe);
  } else {
    pipe->unwritten.emplace_back(news->text);
    // (If more is unwritten, the pipe waits until its socket is writable.)
    if (pipe->unwritten.size() == 1 && Write(pipe)) Watch(pipe);
  }
  return absl::OkStatus();
}

void ChannelPipes::OnOpened(std::uint32_t channel, char where) {
  auto socket = pipes_.size() < kMaxPipes
                    ? options_.connect(where)
                    : absl::ResourceExhaustedError("the gate still ends earlier connections");
  if (socket.ok()) return Add(channel, *std::move(socket));
  channels_.Close(channel);
  const absl::string_view why = socket.status().message();
  Send({ChannelMessage::Kind::kClose, channel, {why.data(), why.size()}});
}

absl::Status ChannelPipes::Carry(runtime::UniqueFd socket, char where) {
  if (pipes_.size() >= kMaxPipes) {
    return absl::ResourceExhaustedError("earlier connections through the gate have not ended");
  }
  const auto channel = channels_.Open();
  if (!channel.ok()) return channel.status();
  Send({ChannelMessage::Kind::kOpen, *channel, {&where, 1}});
  Add(*channel, std::move(socket));
  return absl::OkStatus();
}

void ChannelPipes::Add(std::uint32_t channel, runtime::UniqueFd socket) {
  (void)fcntl(socket.get(), F_SETFL, fcntl(socket.get(), F_GETFL) | O_NONBLOCK);
  Pipe& pipe = pipes_[channel];
  pipe.channel = channel;
  pipe.socket = std::move(socket);
  pipe.watch = options_.descriptors->Watch(
      pipe.socket.get(),
      [this, channel](bool readable, bool writable) { OnReady(channel, readable, writable); });
  Watch(&pipe);
}

void ChannelPipes::OnReady(std::uint32_t channel, bool readable, bool writable) {
  const auto found = pipes_.find(channel);
  if (found == pipes_.end()) return;
  Pipe* const pipe = &found->second;
  if (writable && !Write(pipe)) return;
  if (readable && !pipe->is_ending && unsent_.empty() && channels_.MaySend(channel))
    return Read(pipe);
  Watch(pipe);
}

bool ChannelPipes::Write(Pipe* pipe) {
  while (!pipe->unwritten.empty()) {
    const std::string& first = pipe->unwritten.front();
    if (!pipe->is_broken) {
      const ssize_t done = send(pipe->socket.get(), first.data() + pipe->written,
                                first.size() - pipe->written, MSG_NOSIGNAL);
      if (done < 0 && errno == EINTR) continue;
      if (done < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
      // After an error, the pipe still reads the last bytes that the socket's peer sent.
      if (done < 0) pipe->is_broken = true;
      if (done >= 0) pipe->written += static_cast<std::size_t>(done);
      if (done >= 0 && pipe->written < first.size()) continue;
    }
    pipe->unwritten.pop_front();
    pipe->written = 0;
    if (const std::uint32_t told = channels_.NoteTaken(pipe->channel); told != 0) {
      const char credits = static_cast<char>(told);
      Send({ChannelMessage::Kind::kCredit, pipe->channel, {&credits, 1}});
    }
  }
  if (!pipe->is_ending) return true;
  Remove(pipe->channel);
  return false;
}

void ChannelPipes::Read(Pipe* pipe) {
  std::array<char, kMaxChannelBytes> buffer;
  const ssize_t got = recv(pipe->socket.get(), buffer.data(), buffer.size(), 0);
  if (got < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) return;
  if (got <= 0) return End(pipe, got < 0 ? std::strerror(errno) : "");
  channels_.NoteSent(pipe->channel);
  Send({ChannelMessage::Kind::kBytes,
        pipe->channel,
        {buffer.data(), static_cast<std::size_t>(got)}});
  Watch(pipe);
}

void ChannelPipes::End(Pipe* pipe, std::string_view why) {
  channels_.Close(pipe->channel);
  Send({ChannelMessage::Kind::kClose, pipe->channel, why});
  Remove(pipe->channel);
}

void ChannelPipes::OnClosed(Pipe* pipe) {
  pipe->is_ending = true;
  if (!Write(pipe)) return;
  pipe->timer.Start(options_.thread, kToFlush,
                    [this, channel = pipe->channel] { Remove(channel); });
  Watch(pipe);
}

void ChannelPipes::Watch(Pipe* pipe) {
  options_.descriptors->SetInterest(
      pipe->watch, !pipe->is_ending && unsent_.empty() && channels_.MaySend(pipe->channel),
      !pipe->unwritten.empty());
}

void ChannelPipes::Remove(std::uint32_t channel) {
  const auto found = pipes_.find(channel);
  found->second.timer.Cancel();
  options_.descriptors->Unwatch(found->second.watch);
  pipes_.erase(found);
}

}  // namespace bus

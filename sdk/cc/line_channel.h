#ifndef SDK_CC_LINE_CHANNEL_H_
#define SDK_CC_LINE_CHANNEL_H_

#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace yard::internal {

// Lines over a connected stream socket.
//
// Any thread may call Send(); one thread at a time may call Receive(). The first failure that
// leaves the two ends out of step breaks the channel for good: every later call returns that same
// error at once. A blocking and a non-blocking socket behave alike, signals do not interrupt, and
// SIGPIPE is never raised.
//
// (std::mutex and not runtime::Mutex: a training program that links the SDK gets the standard
// library and nothing else.)
class LineChannel {
 public:
  // The longest line in bytes; when sending, its newline counts too.
  static constexpr std::size_t kMaxLine = 1 << 20;

  // Takes over `fd` if `owned`, else leaves it open in the end. Either way a program started by
  // this one does not inherit it.
  LineChannel(int fd, bool owned);
  ~LineChannel();
  LineChannel(const LineChannel&) = delete;
  LineChannel& operator=(const LineChannel&) = delete;

  // Sends `line`, which holds no newline, and one newline. Blocks while the socket is full. Returns
  // nullopt, or the error; a line that is too long is an error that does not break the channel.
  std::optional<std::string> Send(std::string_view line);

  // Waits for a whole line and puts it, without its newline, into `line`. A `timeout` of zero
  // means none. Returns nullopt, or the error.
  std::optional<std::string> Receive(std::chrono::milliseconds timeout, std::string* line);

  // Breaks the channel, for a reason that the caller saw in what it received.
  std::string Break(std::string_view why);

  // Why the channel is broken, or nullopt.
  std::optional<std::string> error() const;

 private:
  const int fd_;
  const bool owned_;

  std::string received_;   // Bytes behind the last line; touched by Receive() only.
  std::mutex send_mutex_;  // Held for a whole line. Before state_mutex_.
  mutable std::mutex state_mutex_;
  std::optional<std::string> error_;  // Guarded by state_mutex_.
};

}  // namespace yard::internal

#endif  // SDK_CC_LINE_CHANNEL_H_

#ifndef LAUNCHER_TESTING_CALL_CHILD_CHANNEL_H_
#define LAUNCHER_TESTING_CALL_CHILD_CHANNEL_H_

#include <cstddef>
#include <functional>
#include <string>

#include "launcher/testing/call/child_message.h"
#include "runtime/event_loop.h"
#include "runtime/file/unique_fd.h"

namespace launcher::testing {

// A runner's end of the socket to a child. Sends and receives messages without blocking the loop.
// Use on the loop's thread.
class ChildChannel {
 public:
  // Closes itself once the child has closed its end or sent malformed bytes.
  ChildChannel(runtime::EventLoop* loop, runtime::UniqueFd socket,
               std::function<void(const Message& message)> received);
  ~ChildChannel() { Close(); }
  ChildChannel(const ChildChannel&) = delete;
  ChildChannel& operator=(const ChildChannel&) = delete;

  // Sends a message; drops it if the channel is closed.
  void Send(const Message& message);
  // Reads all messages that have arrived.
  void Drain();
  void Close();

 private:
  bool ReadOnce();  // Returns false if there is nothing to read now, or the socket is closed.
  void Write();

  runtime::EventLoop* const loop_;
  const std::function<void(const Message&)> received_;
  runtime::UniqueFd socket_;
  MessageReader reader_;
  std::string unsent_;    // Bytes of messages that are not completely sent.
  std::size_t sent_ = 0;  // Bytes of `unsent_` that are sent.
  runtime::EventLoop::WatchId reading_ = 0, writing_ = 0;
};

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_CALL_CHILD_CHANNEL_H_

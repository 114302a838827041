#ifndef LAUNCHER_TESTING_CALL_CHILD_CHANNEL_H_
#define LAUNCHER_TESTING_CALL_CHILD_CHANNEL_H_

#include <cstddef>
#include <functional>
#include <string>

#include "launcher/testing/call/child_message.h"
#include "runtime/event_loop.h"
#include "runtime/file/unique_fd.h"

namespace launcher::testing {

// A runner's end of the socket to a child: messages in both directions, none of which block the
// loop. On the loop's thread.
class ChildChannel {
 public:
  // Closed by itself once the child has closed its end, or says what cannot be read.
  ChildChannel(runtime::EventLoop* loop, runtime::UniqueFd socket,
               std::function<void(const Message& message)> received);
  ~ChildChannel() { Close(); }
  ChildChannel(const ChildChannel&) = delete;
  ChildChannel& operator=(const ChildChannel&) = delete;

  // Dropped if it is closed.
  void Send(const Message& message);
  // Takes all that has come until now.
  void Drain();
  void Close();

 private:
  bool ReadOnce();  // False when there is nothing to read now, or ever.
  void Write();

  runtime::EventLoop* const loop_;
  const std::function<void(const Message&)> received_;
  runtime::UniqueFd socket_;
  MessageReader reader_;
  std::string unsent_;    // Not sent as a whole yet.
  std::size_t sent_ = 0;  // Bytes of `unsent_` that are sent.
  runtime::EventLoop::WatchId reading_ = 0, writing_ = 0;
};

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_CALL_CHILD_CHANNEL_H_

#ifndef DATAMANAGER_TENSORBOARD_SOCKET_GIVER_H_
#define DATAMANAGER_TENSORBOARD_SOCKET_GIVER_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "runtime/event_loop.h"
#include "runtime/file/unique_fd.h"
#include "runtime/timer.h"

namespace datamanager::tensorboard {

// Asks a running data manager of the yard to serve on this process's sockets (socket_packet.h): the
// data manager has the runs in memory already, and its answers need no relay.
class SocketGiver {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned.
    std::string path = {};               // RUNTIME/tensorboard.
    std::string line = {};               // LineOf() the words that the data manager must know.
    std::vector<int> sockets = {};       // Not owned.
    // Runs when the data manager refuses or has stopped serving the sockets; `served`: it did serve
    // them. Called once, on the loop's thread, not within Give().
    std::function<void(std::string_view why, bool served)> ended = {};
    absl::Duration patience = absl::Seconds(1);  // Limit for the data manager's answer.
  };

  // Returns null if no data manager listens there. Call this, and the destructor, on the loop's
  // thread or before it runs. After the destruction the data manager serves only clients that are
  // connected already.
  static std::unique_ptr<SocketGiver> Give(Options options);
  ~SocketGiver() { Forget(); }
  SocketGiver(const SocketGiver&) = delete;
  SocketGiver& operator=(const SocketGiver&) = delete;

 private:
  SocketGiver(Options options, runtime::UniqueFd connection);
  void Read();
  void End(std::string why);
  void Forget();

  Options options_;
  runtime::UniqueFd connection_;
  runtime::EventLoop::WatchId watch_ = 0;
  runtime::Timer patience_;
  bool served_ = false;
};

}  // namespace datamanager::tensorboard

#endif  // DATAMANAGER_TENSORBOARD_SOCKET_GIVER_H_

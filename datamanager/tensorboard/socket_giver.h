#ifndef DATAMANAGER_TENSORBOARD_SOCKET_GIVER_H_
#define DATAMANAGER_TENSORBOARD_SOCKET_GIVER_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "runtime/event_loop.h"

namespace datamanager::tensorboard {

// Asks a running data manager of the yard to serve on sockets of ours (socket_packet.h): it has the
// runs in memory already, and nobody needs to carry what it says.
class SocketGiver {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned.
    std::string path = {};               // RUNTIME/tensorboard.
    std::string line = {};               // LineOf() what it has to know.
    std::vector<int> sockets = {};       // Not owned.
    // It serves them not, or not any more. Once, on the loop's thread, not from within Give().
    std::function<void(std::string_view why, bool served)> ended = {};
    absl::Duration patience = absl::Seconds(1);  // For its answer.
  };

  // Null: nobody is there. On the loop's thread, or before it runs; so is the destruction, after
  // which it serves them no more, but for who is connected.
  static std::unique_ptr<SocketGiver> Give(Options options);
  virtual ~SocketGiver() = default;
};

}  // namespace datamanager::tensorboard

#endif  // DATAMANAGER_TENSORBOARD_SOCKET_GIVER_H_

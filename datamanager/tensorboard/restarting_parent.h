#ifndef DATAMANAGER_TENSORBOARD_RESTARTING_PARENT_H_
#define DATAMANAGER_TENSORBOARD_RESTARTING_PARENT_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "datamanager/tensorboard/loopback_sockets.h"

namespace datamanager::tensorboard {

// TensorBoard starts its data server once; after the server has died, TensorBoard answers with
// error 500 from then on. So TensorBoard starts a small process that only keeps the port and starts
// the server, which is this program again, as its child: a client that calls meanwhile waits in the
// kernel, and finds the next server.
//
// If `yard` is not empty, a data manager that listens there is asked first to serve instead
// (socket_giver.h); `yard_line` is the request. If the data manager refuses or has ended, the
// server is started.
//
// Runs the server with these words and the sockets from descriptor 3 on, and again when it has
// died, until stdin ends if `die_after_stdin`, or SIGTERM or SIGINT comes. Returns the exit code.
// Before there are other threads. If this process is killed, its server goes on as long as stdin
// does, or else ends.
struct ServedBehind {
  std::vector<std::string> words = {};
  LoopbackSockets sockets = {};
  bool die_after_stdin = false;
  std::string yard = {};  // RUNTIME/tensorboard.
  std::string yard_line = {};
};
int RunServerAgainAndAgain(ServedBehind server);

// How long to wait before a server that has died is started again: not at all if it lived for a
// minute; else the longer, the more servers have died, up to 5 s.
absl::Duration PauseBeforeRestart(absl::Duration lived, int deaths);

}  // namespace datamanager::tensorboard

#endif  // DATAMANAGER_TENSORBOARD_RESTARTING_PARENT_H_

#ifndef DATAMANAGER_TENSORBOARD_RESTARTING_PARENT_H_
#define DATAMANAGER_TENSORBOARD_RESTARTING_PARENT_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "datamanager/tensorboard/loopback_sockets.h"

namespace datamanager::tensorboard {

// TensorBoard starts its data server once and answers with error 500 from then on if the server has
// died. TensorBoard therefore starts this small process, which only keeps the port and starts the
// server (this program again) as its child. A client that calls while no server runs waits in the
// kernel and reaches the next server.
//
// If `yard` is not empty, a data manager that listens there is first asked to serve instead
// (socket_giver.h); `yard_line` is the request. If the data manager refuses or ends, the server is
// started.
//
// Runs the server with these words, passing the sockets from descriptor 3 on, and restarts it when
// it has died, until stdin ends (if `die_after_stdin`) or SIGTERM or SIGINT arrives. Returns the
// exit code. Call it before other threads exist. If this process is killed, its server continues
// until stdin ends if `die_after_stdin` is set, and otherwise ends at once.
struct ServedBehind {
  std::vector<std::string> words = {};
  LoopbackSockets sockets = {};
  bool die_after_stdin = false;
  std::string yard = {};  // RUNTIME/tensorboard.
  std::string yard_line = {};
};
int RunServerAgainAndAgain(ServedBehind server);

// Returns the pause before a server that has died is restarted: zero if it lived for a minute,
// otherwise longer with each death, up to 5 s.
absl::Duration PauseBeforeRestart(absl::Duration lived, int deaths);

}  // namespace datamanager::tensorboard

#endif  // DATAMANAGER_TENSORBOARD_RESTARTING_PARENT_H_

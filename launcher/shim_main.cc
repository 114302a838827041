// yard-shim FOLDER [CONTROL_FD], or yard-shim --serve SPACE: started by the launcher, never by hand
// (docs/launcher.md). yard-shim --attach PID CHANNEL_FD TRAINER_SOCKET: started by a program that
// reports for itself (docs/report-channel.md).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include <string_view>

#include "launcher/process/scheduling.h"
#include "launcher/shim/attached.h"
#include "launcher/shim/shim.h"
#include "launcher/shim/shim_server.h"
#include "launcher/shim/task_tree.h"
#include "launcher/wire/shim_protocol.h"
#include "runtime/file/unique_fd.h"

int main(int argc, char** argv) {
  if (argc == 3 && argv[1] == launcher::kServeShims) {
    // The kernel places the arguments contiguously in memory.
    return launcher::ServeShims(launcher::kShimServerFd, {argv[0], argv[2] + strlen(argv[2])});
  }
  if (argc == 5 && argv[1] == launcher::kAttachShim) {
    return launcher::RunAttached({.pid = static_cast<pid_t>(atoi(argv[2])),
                                  .channel = runtime::UniqueFd(atoi(argv[3])),
                                  .trainer_socket = argv[4]});
  }
  if (argc < 2 || argc > 3) {
    fprintf(stderr,
            "usage: yard-shim FOLDER [CONTROL_FD]\n"
            "       yard-shim --attach PID CHANNEL_FD TRAINER_SOCKET\n");
    return launcher::kShimBadSpec;
  }
  launcher::AskForShortTurns();
  launcher::ShimOptions options;
  options.host = launcher::LookAtHost();
  return launcher::RunShim(options, [&] {
    return launcher::ShimAttempt{.folder = argv[1],
                                 .control = runtime::UniqueFd(argc == 3 ? atoi(argv[2]) : -1),
                                 .locks = {}};
  });
}

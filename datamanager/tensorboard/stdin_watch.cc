#include "datamanager/tensorboard/stdin_watch.h"

#include <errno.h>
#include <unistd.h>

#include <utility>

#include "runtime/thread.h"

namespace datamanager::tensorboard {

void WhenStdinEnds(std::function<void()> ended) {
  // (The destructor detaches a thread that still runs.)
  const runtime::Thread thread("stdin", [ended = std::move(ended)] {
    char dropped[256];
    for (;;) {
      const ssize_t size = read(STDIN_FILENO, dropped, sizeof dropped);
      if (size == 0 || (size < 0 && errno != EINTR)) break;
    }
    ended();
  });
}

}  // namespace datamanager::tensorboard

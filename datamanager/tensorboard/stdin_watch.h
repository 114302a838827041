#ifndef DATAMANAGER_TENSORBOARD_STDIN_WATCH_H_
#define DATAMANAGER_TENSORBOARD_STDIN_WATCH_H_

#include <functional>

namespace datamanager::tensorboard {

// Calls `ended` once stdin has ended, on a thread of its own that lives until then: stdin may be
// any file, also one that poll cannot wait for. Input before the end is dropped.
void WhenStdinEnds(std::function<void()> ended);

}  // namespace datamanager::tensorboard

#endif  // DATAMANAGER_TENSORBOARD_STDIN_WATCH_H_

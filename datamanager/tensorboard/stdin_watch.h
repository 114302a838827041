#ifndef DATAMANAGER_TENSORBOARD_STDIN_WATCH_H_
#define DATAMANAGER_TENSORBOARD_STDIN_WATCH_H_

#include <functional>

namespace datamanager::tensorboard {

// Calls `ended` once stdin has ended, on a separate thread that lives until then, because stdin may
// be a file on which poll cannot wait. Discards input before the end.
void WhenStdinEnds(std::function<void()> ended);

}  // namespace datamanager::tensorboard

#endif  // DATAMANAGER_TENSORBOARD_STDIN_WATCH_H_

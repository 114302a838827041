#ifndef LAUNCHER_NODE_FILES_START_CHECKPOINT_H_
#define LAUNCHER_NODE_FILES_START_CHECKPOINT_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "launcher/node/files/work_cache.h"
#include "launcher/node/words/file_words.h"
#include "launcher/node/words/node_words.h"
#include "runtime/event_loop.h"

namespace launcher {

// Brings the checkpoint that an attempt starts from to its run directory on the node: asks the
// launcher for the list of files, gets each through the cache of the node, where it comes once for
// all attempts, and copies it to its place with its hash checked. On the loop's thread; files are
// copied on a thread.
class StartCheckpoint {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives this.
    WorkCache* cache = nullptr;          // The same.
    std::string attempt;                 // Its key; it waits for nothing else of the cache.
    std::string run_directory;           // On the node; it is there.
    std::string checkpoint;              // Below the run directory.
    // Asks the launcher. It may be lost: OnConnected() asks again, and a timer does.
    std::function<void(const NodeWant&)> ask;
    // Once, never from within a call. This may be destroyed in it.
    std::function<void(const absl::Status&)> done;
  };
  static std::unique_ptr<StartCheckpoint> Create(Options options);
  // Gives up what is not done, and waits some seconds for what is being copied.
  virtual ~StartCheckpoint() = default;

  // The pieces are the cache's.
  virtual void OnConnected() = 0;
  virtual void OnList(const FileListAnswer& list) = 0;
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_FILES_START_CHECKPOINT_H_

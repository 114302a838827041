#ifndef LAUNCHER_NODE_FILES_CHECKPOINT_SOURCE_H_
#define LAUNCHER_NODE_FILES_CHECKPOINT_SOURCE_H_

#include <functional>
#include <memory>
#include <string>

#include "launcher/node/words/file_words.h"
#include "launcher/node/words/node_words.h"
#include "runtime/event_loop.h"

namespace launcher {

// The launcher's side of a checkpoint that an attempt on another host starts from: the list of its
// files, and the files piece by piece, each named by its hash. It is hashed once, when the node
// asks first; a launcher that is started meanwhile does so again. All files are read on a thread,
// as their file system may hang. On the loop's thread.
class CheckpointSource {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives this.
    std::string attempt;                 // Its key.
    std::string run_directory;
    std::string checkpoint;  // Below the run directory: a directory or a file.
    std::function<void(const FileListAnswer&)> send_list;
    std::function<void(const NodeOrder&)> send_piece;
  };
  static std::unique_ptr<CheckpointSource> Create(Options options);
  virtual ~CheckpointSource() = default;

  // Answers a question of the node, soon. The last one counts while files are being read.
  virtual void Take(const NodeWant& want) = 0;
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_FILES_CHECKPOINT_SOURCE_H_

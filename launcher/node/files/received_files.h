#ifndef LAUNCHER_NODE_FILES_RECEIVED_FILES_H_
#define LAUNCHER_NODE_FILES_RECEIVED_FILES_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "launcher/node/files/way_back.h"
#include "launcher/node/words/file_words.h"
#include "runtime/event_loop.h"
#include "runtime/thread.h"

namespace launcher {

// Writes what a node sends of the run directory of one attempt (FilePart) into the run directory
// here. On the loop's thread; files are read and written on a thread of its own.
//
// A directory that comes is one that the trainer has made for a checkpoint (checkpoint_tmpXXXXXX),
// or another one that is no checkpoint. Nothing that is written here counts before the trainer
// hears of it, which it does once the whole directory is here: so nothing is renamed, and synced by
// the trainer alone. A file that is here already with its hash is not written again, and a part of
// a file is gone on with, also after this process was killed.
//
// Other files of the run directory come one by one: a file that only grows is appended to where it
// is, once its bytes here are known to be the beginning of the node's; another one takes the place
// of a file with its name when it is whole. Files of the trainer are refused.
//
// Bounds: kMaxWaiting parts that are not written yet (more are dropped, and the node sends them
// again), kMaxTreeFiles in a directory, kMaxFileBytes in a file.
class ReceivedFiles {
 public:
  static constexpr std::size_t kMaxWaiting = 32;
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives this.
    std::string attempt;                 // Its key: in the names of files that are not whole.
    std::string run_directory;
    std::function<void(const FileAnswer&)> answer;
  };
  explicit ReceivedFiles(Options options);
  // Waits for the part that is being written, some seconds at most, and removes files that are not
  // whole.
  ~ReceivedFiles();
  ReceivedFiles(const ReceivedFiles&) = delete;
  ReceivedFiles& operator=(const ReceivedFiles&) = delete;

  // Calls `answer` soon, unless this is destroyed before.
  void Take(FilePart part);

 private:
  struct Shared;

  void RemoveParts() const;

  const Options options_;
  const std::shared_ptr<WayBack> way_ = std::make_shared<WayBack>(options_.loop);
  const std::shared_ptr<Shared> shared_;  // With the thread, which may outlive this.
  std::unique_ptr<runtime::Thread> thread_;
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_FILES_RECEIVED_FILES_H_

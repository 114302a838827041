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

// Writes the files that a node sends from the run directory of one attempt (FilePart) into the run
// directory here. Use on the loop's thread; files are read and written on a separate thread.
//
// A directory that is received is one that the trainer has made for a checkpoint
// (checkpoint_tmpXXXXXX), or one that is not a checkpoint. The trainer learns of it only when the
// whole directory is here, so its files are written in place without renames, and only the trainer
// syncs them. A file that already exists with the right hash is not written again, and a partial
// file is continued, even after this process was killed.
//
// Other files of the run directory are received one by one: a file that only grows is appended to
// in place, once its bytes here are known to be the beginning of the node's file; any other file
// replaces the one with its name when it is complete. Files of the trainer are refused.
//
// Bounds: kMaxWaiting unwritten parts (further parts are dropped, and the node resends them),
// kMaxTreeFiles in a directory, kMaxFileBytes in a file.
class ReceivedFiles {
 public:
  static constexpr std::size_t kMaxWaiting = 32;
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives this.
    std::string attempt;                 // Its key, which is in the names of incomplete files.
    std::string run_directory;
    // Sends the answer to one part to the node.
    std::function<void(const FileAnswer&)> answer;
  };
  explicit ReceivedFiles(Options options);
  // Waits for the part that is being written, some seconds at most, and removes incomplete files.
  ~ReceivedFiles();
  ReceivedFiles(const ReceivedFiles&) = delete;
  ReceivedFiles& operator=(const ReceivedFiles&) = delete;

  // Writes a part, and calls `answer` later, unless this object is destroyed first.
  void Take(FilePart part);

 private:
  struct Shared;

  void RemoveParts() const;

  const Options options_;
  const std::shared_ptr<WayBack> way_ = std::make_shared<WayBack>(options_.loop);
  const std::shared_ptr<Shared> shared_;  // Shared with the thread, which may outlive this object.
  std::unique_ptr<runtime::Thread> thread_;
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_FILES_RECEIVED_FILES_H_

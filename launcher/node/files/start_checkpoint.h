#ifndef LAUNCHER_NODE_FILES_START_CHECKPOINT_H_
#define LAUNCHER_NODE_FILES_START_CHECKPOINT_H_

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "launcher/node/files/way_back.h"
#include "launcher/node/files/work_cache.h"
#include "launcher/node/words/file_words.h"
#include "launcher/node/words/node_words.h"
#include "runtime/event_loop.h"
#include "runtime/thread.h"
#include "runtime/timer.h"

namespace launcher {

// Copies the checkpoint that an attempt starts from into its run directory on the node: requests
// the list of files from the launcher, gets each file through the node's cache, which transfers it
// once for all attempts, and copies it to its place, checking its hash. Use on the loop's thread;
// files are copied on a separate thread.
class StartCheckpoint {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives this.
    WorkCache* cache = nullptr;          // Not owned; outlives this.
    // Its key; the attempt must not wait for anything else in the cache.
    std::string attempt;
    std::string run_directory;  // On the node; exists.
    std::string checkpoint;     // Path below the run directory.
    // Sends a request to the launcher. It may be lost: OnConnected() and a timer repeat it.
    std::function<void(const NodeWant&)> ask;
    // Called once, never from within a call; it may destroy this object.
    std::function<void(const absl::Status&)> done;
  };
  explicit StartCheckpoint(Options options);
  // Cancels the work, and waits some seconds for a file that is being copied.
  ~StartCheckpoint();
  StartCheckpoint(const StartCheckpoint&) = delete;
  StartCheckpoint& operator=(const StartCheckpoint&) = delete;

  // (Pieces of files are passed to the cache.)
  void OnConnected();
  void OnList(const FileListAnswer& list);

 private:
  void AskForList();
  void Get(const FileList::File& file, std::function<void(const std::string&)> then);
  void OnThread(std::function<absl::Status()> body,
                void (StartCheckpoint::*then)(const absl::Status&));
  void ReadList(const std::string& path);
  void OnListRead(const absl::Status& status);
  void GetNext();
  void OnCopied(const absl::Status& status);
  void FinishSoon(absl::Status status);

  const Options options_;
  const std::shared_ptr<WayBack> way_ = std::make_shared<WayBack>(options_.loop);
  const std::shared_ptr<std::atomic<bool>> gives_up_ = std::make_shared<std::atomic<bool>>(false);

  std::unique_ptr<runtime::Thread> thread_;
  runtime::Timer timer_;  // Set while the list is requested.
  FileList::File list_file_;
  const std::shared_ptr<FileList> list_ = std::make_shared<FileList>();

  std::size_t next_ = 0;
  int tries_ = 0;
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_FILES_START_CHECKPOINT_H_

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
  explicit StartCheckpoint(Options options);
  // Gives up what is not done, and waits some seconds for what is being copied.
  ~StartCheckpoint();
  StartCheckpoint(const StartCheckpoint&) = delete;
  StartCheckpoint& operator=(const StartCheckpoint&) = delete;

  // The pieces are the cache's.
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
  runtime::Timer timer_;  // While the list is asked for.
  FileList::File list_file_;
  const std::shared_ptr<FileList> list_ = std::make_shared<FileList>();

  std::size_t next_ = 0;
  int tries_ = 0;
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_FILES_START_CHECKPOINT_H_

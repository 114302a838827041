#ifndef LAUNCHER_NODE_FILES_CHECKPOINT_SOURCE_H_
#define LAUNCHER_NODE_FILES_CHECKPOINT_SOURCE_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "launcher/node/files/way_back.h"
#include "launcher/node/words/file_words.h"
#include "launcher/node/words/node_words.h"
#include "runtime/event_loop.h"
#include "runtime/thread.h"

namespace launcher {

// The launcher's side of the transfer of a checkpoint from which an attempt on another host starts:
// provides the list of its files, and the files piece by piece, each identified by its hash. The
// checkpoint is hashed once, at the node's first request (again after a restart of the launcher).
// All files are read on a separate thread, since their file system may hang. Use on the loop's
// thread.
class CheckpointSource {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives this.
    std::string attempt;                 // Its key.
    std::string run_directory;
    std::string checkpoint;  // Path below the run directory of a directory or a file.
    std::function<void(const FileListAnswer&)> send_list;
    std::function<void(const NodeOrder&)> send_piece;
  };
  explicit CheckpointSource(Options options);
  ~CheckpointSource();
  CheckpointSource(const CheckpointSource&) = delete;
  CheckpointSource& operator=(const CheckpointSource&) = delete;

  // Answers a request of the node later. If several arrive while files are being read, only the
  // last is answered.
  void Take(const NodeWant& want);

 private:
  void Next();
  // Runs `Result read()` on a thread, and then `take(result)` on the loop, if this object still
  // exists.
  template <typename Read, typename Take>
  void OnThread(Read read, Take take);
  void ReadList();
  void OnRead(absl::StatusOr<FileList> list);
  void Answer(const NodeWant& want);
  void Send(const NodeOrder& piece);

  const Options options_;
  const std::shared_ptr<WayBack> way_ = std::make_shared<WayBack>(options_.loop);
  const std::shared_ptr<std::atomic<bool>> gives_up_ = std::make_shared<std::atomic<bool>>(false);

  std::unique_ptr<runtime::Thread> thread_;
  bool is_busy_ = false, is_read_ = false;
  std::optional<NodeWant> want_;  // The last request that was not started.
  std::string list_, list_hash_;
  std::map<std::string, std::string> paths_;  // By hash.
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_FILES_CHECKPOINT_SOURCE_H_

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
  explicit CheckpointSource(Options options);
  ~CheckpointSource();
  CheckpointSource(const CheckpointSource&) = delete;
  CheckpointSource& operator=(const CheckpointSource&) = delete;

  // Answers a question of the node, soon. The last one counts while files are being read.
  void Take(const NodeWant& want);

 private:
  void Next();
  // `Result read()` runs on a thread; `take(result)` on the loop, if this still lives.
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
  std::optional<NodeWant> want_;  // The last question that was not begun.
  std::string list_, list_hash_;
  std::map<std::string, std::string> paths_;  // By their hashes.
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_FILES_CHECKPOINT_SOURCE_H_

#ifndef LAUNCHER_NODE_FILES_CHECKPOINT_RELAY_H_
#define LAUNCHER_NODE_FILES_CHECKPOINT_RELAY_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "launcher/node/files/report_paths.h"
#include "launcher/node/files/sent_files.h"
#include "launcher/node/words/file_words.h"
#include "runtime/event_loop.h"

namespace launcher {

// Stands between the shims of a node and the trainer, for attempts whose run directory is not the
// launcher's: lines and answers pass in their order, with the paths of either side
// (report_paths.h). A line that saves a checkpoint is passed on once the directory that it names is
// at the launcher (sent_files.h), and so are the lines behind it; meanwhile the trainer is told
// that the program lives. The relay answers nothing itself: a line that was not answered is sent
// again by its shim, over the death of this process too, and what was copied is not copied again.
//
// A directory of a checkpoint that was committed gets its name on the node, too; the two newest
// stay there. On the loop's thread.
class CheckpointRelay {
 public:
  static constexpr std::size_t kLocalCheckpoints = 2;
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives this.
    std::string socket_path;             // Where the shims connect; one that is there is replaced.
    std::string trainer_socket;
    SentFiles* files = nullptr;  // Not owned; outlives this.
    // A checkpoint of this directory is committed; its files may be kept for later starts.
    std::function<void(const std::string& run_directory, const FileList& files)> on_committed = {};
    absl::Duration beat = absl::Seconds(2);
  };
  struct Attempt {
    std::string key;
    std::string nonce;
    RunPlaces run;
    std::string start;  // The directory on the node that it starts from; empty: none.
  };
  // InvalidArgument: the path is too long for a socket.
  static absl::StatusOr<std::unique_ptr<CheckpointRelay>> Listen(Options options);
  ~CheckpointRelay();
  CheckpointRelay(const CheckpointRelay&) = delete;
  CheckpointRelay& operator=(const CheckpointRelay&) = delete;

  void Add(Attempt attempt);
  // Its connections end.
  void Remove(const std::string& key);

 private:
  class Impl;
  explicit CheckpointRelay(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_FILES_CHECKPOINT_RELAY_H_

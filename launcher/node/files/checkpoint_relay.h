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

// A relay between the shims of a node and the trainer, for attempts whose run directory is not the
// launcher's: passes on lines and answers in their order, and translates their paths
// (report_paths.h). A line that saves a checkpoint is passed on once the directory in it was copied
// to the launcher (sent_files.h), and the lines after it wait; meanwhile the relay sends heartbeats
// to the trainer. The relay answers no lines itself: a shim resends unanswered lines, even after
// the death of this process, and copied files are not copied again.
//
// The directory of a committed checkpoint is renamed on the node, too; the two newest are kept
// there. Use on the loop's thread.
class CheckpointRelay {
 public:
  static constexpr std::size_t kLocalCheckpoints = 2;
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives this.
    // Path of the socket for shims; an existing socket is replaced.
    std::string socket_path;
    std::string trainer_socket;
    SentFiles* files = nullptr;  // Not owned; outlives this.
    // Called when a checkpoint of this directory is committed; its files may be cached for later
    // starts.
    std::function<void(const std::string& run_directory, const FileList& files)> on_committed = {};
    absl::Duration beat = absl::Seconds(2);
  };
  // An attempt whose reports the relay passes on.
  struct Attempt {
    std::string key;
    std::string nonce;
    RunPlaces run;
    // The directory on the node from which it starts; empty if it starts from no checkpoint.
    std::string start;
  };
  // Starts the relay. InvalidArgument if a path is too long for a socket.
  static absl::StatusOr<std::unique_ptr<CheckpointRelay>> Listen(Options options);
  ~CheckpointRelay();
  CheckpointRelay(const CheckpointRelay&) = delete;
  CheckpointRelay& operator=(const CheckpointRelay&) = delete;

  void Add(Attempt attempt);
  // Removes an attempt and closes its connections.
  void Remove(const std::string& key);

 private:
  class Impl;
  explicit CheckpointRelay(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_FILES_CHECKPOINT_RELAY_H_

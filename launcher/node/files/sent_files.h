#ifndef LAUNCHER_NODE_FILES_SENT_FILES_H_
#define LAUNCHER_NODE_FILES_SENT_FILES_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "launcher/node/words/file_words.h"
#include "runtime/event_loop.h"

namespace launcher {

// Copies directories below the run directories of a node's attempts to the launcher, file by file
// and by hash (FilePart). A transfer survives any number of lost connections and restarted
// launchers. Each transfer has at most one unanswered part, and at most kMaxActive transfers are
// active; the others wait. Use on the loop's thread; files are hashed on separate threads.
class SentFiles {
 public:
  static constexpr std::size_t kMaxActive = 4;
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives this.
    // Sends a part to the launcher. It may be lost: OnConnected() and a timer repeat it.
    std::function<void(const FilePart&)> send;
    absl::Duration ask_again = absl::Seconds(30);
    absl::Duration no_room_pause = absl::Seconds(1);
  };
  // Gets the list of files, which the launcher now has with the right hashes. NotFound if the
  // directory no longer exists on this side or the other. Other errors name the file and the cause,
  // and are permanent.
  using Done = std::function<void(absl::StatusOr<FileList>)>;
  // Paths of files that the launcher already has, by their hashes.
  using Known = std::map<std::string, std::string>;

  static std::unique_ptr<SentFiles> Create(Options options);
  // Waits some seconds for files that are being hashed.
  virtual ~SentFiles() = default;

  // Sends a directory. Calls `done` once, after this call has returned, unless Cancel() or the
  // destructor is called first. A directory that is already being sent for the same attempt is sent
  // once, and only the last `done` is called.
  virtual void Send(const std::string& attempt, const std::string& run_directory,
                    const std::string& path, std::shared_ptr<const Known> known, Done done) = 0;
  // Cancels all transfers of the attempt.
  virtual void Cancel(const std::string& attempt) = 0;

  // Call these when the launcher has welcomed the node, or has answered a part.
  virtual void OnConnected() = 0;
  virtual void OnAnswer(const FileAnswer& answer) = 0;
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_FILES_SENT_FILES_H_

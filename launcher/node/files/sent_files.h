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
// and by hash (FilePart). A transfer goes on over any number of connections and launchers. One part
// of a file is under way for each transfer, and kMaxActive transfers go at the same time; the
// others wait. On the loop's thread; files are hashed on threads.
class SentFiles {
 public:
  static constexpr std::size_t kMaxActive = 4;
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives this.
    // Says it to the launcher. It may be lost: OnConnected() says it again, and a timer does.
    std::function<void(const FilePart&)> send;
    absl::Duration ask_again = absl::Seconds(30);
    absl::Duration no_room_pause = absl::Seconds(1);
  };
  // The files that are now at the launcher, with the right hashes. NotFound: the directory is not
  // there any more, on this side or on the other. Another error names the file and the cause, and
  // stays so.
  using Done = std::function<void(absl::StatusOr<FileList>)>;
  // Paths of files that the launcher has, by their hashes.
  using Known = std::map<std::string, std::string>;

  static std::unique_ptr<SentFiles> Create(Options options);
  // Waits some seconds for what is being hashed.
  virtual ~SentFiles() = default;

  // Calls `done` once, never from within this call, unless Cancel() or the destructor comes before.
  // A directory that is being sent for the same attempt already is sent once: the last `done`
  // counts.
  virtual void Send(const std::string& attempt, const std::string& run_directory,
                    const std::string& path, std::shared_ptr<const Known> known, Done done) = 0;
  // All transfers of the attempt.
  virtual void Cancel(const std::string& attempt) = 0;

  virtual void OnConnected() = 0;
  virtual void OnAnswer(const FileAnswer& answer) = 0;
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_FILES_SENT_FILES_H_

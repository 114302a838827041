#ifndef DATAMANAGER_FIND_DIRECTORY_WATCHER_H_
#define DATAMANAGER_FIND_DIRECTORY_WATCHER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "datamanager/find/directory_source.h"
#include "runtime/event_loop.h"
#include "runtime/file/unique_fd.h"

namespace datamanager {

// Says which directories have changed, by inotify. Everything on the loop's thread.
//
// Where a directory cannot be watched (too many watches, a file system without them) its owner has
// to look for itself from time to time.
class DirectoryWatcher {
 public:
  struct Change {
    std::string directory;
    std::string name;           // Base name of what changed in it.
    bool structure = false;     // Something came, went or was renamed; false: a file has grown.
    bool is_directory = false;  // It is a directory itself.
  };
  struct Directory {
    std::string path;
    FileIdentity identity;  // Another one under a path is watched anew.
  };
  // The kernel's part, for tests that let it fail or say what they like.
  struct Inotify {
    // Not valid, with errno: there is no inotify.
    std::function<runtime::UniqueFd()> open;
    // As inotify_add_watch().
    std::function<int(int fd, const char* path, std::uint32_t mask)> add;

    static Inotify Real();
  };

  // `changed` runs once for each batch of changes; `everything` instead when the kernel's queue
  // ran over and nobody knows what has changed. ResourceExhausted if there are too many watchers.
  static absl::StatusOr<std::unique_ptr<DirectoryWatcher>> Create(
      runtime::EventLoop* loop, std::function<void(std::vector<Change>)> changed,
      std::function<void()> everything, Inotify inotify = Inotify::Real());
  ~DirectoryWatcher();
  DirectoryWatcher(const DirectoryWatcher&) = delete;
  DirectoryWatcher& operator=(const DirectoryWatcher&) = delete;

  struct Outcome {
    // Not watched before: what happened in them until now is not known. Sorted paths.
    std::vector<std::string> added;
    std::vector<std::string> failed;  // Could not be watched; tried again by the next call.
  };
  // Watches exactly these directories from now on. A directory that is watched already costs no
  // system call.
  Outcome SetDirectories(std::span<const Directory> directories);

 private:
  struct Watch {
    int number = 0;
    FileIdentity identity;
  };

  DirectoryWatcher(runtime::EventLoop* loop, Inotify inotify, runtime::UniqueFd fd,
                   std::function<void(std::vector<Change>)> changed,
                   std::function<void()> everything);
  void Read();
  void Forget(int number);

  runtime::EventLoop* const loop_;
  const Inotify inotify_;
  const runtime::UniqueFd fd_;
  const std::function<void(std::vector<Change>)> changed_;
  const std::function<void()> everything_;
  runtime::EventLoop::WatchId watch_ = 0;
  std::map<std::string, Watch> watches_;  // By path.
  std::map<int, std::string> paths_;      // By number of the watch.
};

}  // namespace datamanager

#endif  // DATAMANAGER_FIND_DIRECTORY_WATCHER_H_

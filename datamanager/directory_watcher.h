#ifndef DATAMANAGER_DIRECTORY_WATCHER_H_
#define DATAMANAGER_DIRECTORY_WATCHER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/event_loop.h"

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
  // `changed` runs once for each batch of changes; `everything` instead when the kernel's queue
  // ran over and nobody knows what has changed.
  static absl::StatusOr<std::unique_ptr<DirectoryWatcher>> Create(
      runtime::EventLoop* loop, std::function<void(std::vector<Change>)> changed,
      std::function<void()> everything);
  virtual ~DirectoryWatcher() = default;

  struct Outcome {
    std::size_t added = 0;   // Not watched before: what happened in them until now is not known.
    std::size_t failed = 0;  // Could not be watched.
  };
  // Watches exactly these directories from now on.
  virtual Outcome SetDirectories(const std::vector<std::string>& directories) = 0;
};

}  // namespace datamanager

#endif  // DATAMANAGER_DIRECTORY_WATCHER_H_

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

// Reports changed directories, by inotify. Everything runs on the loop's thread.
//
// If a directory cannot be watched (too many watches, a file system without support), its owner
// must poll it.
class DirectoryWatcher {
 public:
  struct Change {
    std::string directory;
    std::string name;        // Base name of the changed entry.
    bool structure = false;  // An entry was created, removed or renamed; false: a file has grown.
    bool is_directory = false;  // The entry is a directory.
  };
  struct Directory {
    std::string path;
    FileIdentity identity;  // If the path gets another identity, it is watched again.
  };
  // The kernel's functions; tests substitute them.
  struct Inotify {
    // Returns an invalid descriptor and sets errno if inotify is unavailable.
    std::function<runtime::UniqueFd()> open;
    // Like inotify_add_watch().
    std::function<int(int fd, const char* path, std::uint32_t mask)> add;

    static Inotify Real();
  };

  // `changed` runs once for each batch of changes; `everything` runs instead if the kernel's queue
  // has overflowed, so that any directory may have changed. ResourceExhausted if there are too many
  // watchers.
  static absl::StatusOr<std::unique_ptr<DirectoryWatcher>> Create(
      runtime::EventLoop* loop, std::function<void(std::vector<Change>)> changed,
      std::function<void()> everything, Inotify inotify = Inotify::Real());
  ~DirectoryWatcher();
  DirectoryWatcher(const DirectoryWatcher&) = delete;
  DirectoryWatcher& operator=(const DirectoryWatcher&) = delete;

  struct Outcome {
    // Directories that were not watched before, so that their earlier changes were missed. Sorted
    // paths.
    std::vector<std::string> added;
    std::vector<std::string> failed;  // Could not be watched; the next call retries.
  };
  // Watches exactly these directories from now on. Costs no system call for a directory that is
  // watched already.
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

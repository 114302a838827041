#include "datamanager/directory_watcher.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/unique_fd.h"

namespace datamanager {
namespace {

constexpr std::uint32_t kStructure = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO |
                                     IN_DELETE_SELF | IN_MOVE_SELF | IN_ATTRIB | IN_IGNORED |
                                     IN_UNMOUNT;
constexpr std::uint32_t kMask = (kStructure & ~(IN_IGNORED | IN_UNMOUNT)) | IN_MODIFY | IN_ONLYDIR;

class InotifyWatcher : public DirectoryWatcher {
 public:
  InotifyWatcher(runtime::EventLoop* loop, runtime::UniqueFd fd,
                 std::function<void(std::vector<Change>)> changed, std::function<void()> everything)
      : loop_(loop),
        fd_(std::move(fd)),
        changed_(std::move(changed)),
        everything_(std::move(everything)) {
    watch_ = loop_->Watch(fd_.get(), runtime::EventLoop::Readiness::kReadable, [this] { Read(); });
  }
  ~InotifyWatcher() override { loop_->Unwatch(watch_); }

  Outcome SetDirectories(const std::vector<std::string>& directories) override {
    const std::set<std::string> wanted(directories.begin(), directories.end());
    for (auto it = watches_.begin(); it != watches_.end();) {
      if (wanted.contains(it->first)) {
        ++it;
        continue;
      }
      inotify_rm_watch(fd_.get(), it->second);
      paths_.erase(it->second);
      it = watches_.erase(it);
    }
    Outcome outcome;
    for (const std::string& directory : wanted) {
      // Asked again for a known one too: the path may lead to a new directory by now.
      const int watch = inotify_add_watch(fd_.get(), directory.c_str(), kMask);
      if (watch < 0) {
        ++outcome.failed;
        continue;
      }
      const auto known = watches_.find(directory);
      if (known == watches_.end() || known->second != watch) ++outcome.added;
      watches_[directory] = watch;
      paths_[watch] = directory;
    }
    return outcome;
  }

 private:
  void Read() {
    alignas(inotify_event) char buffer[64 * 1024];
    std::map<std::pair<std::string, std::string>, std::uint32_t> changes;
    bool overflow = false;
    for (;;) {
      const ssize_t size = read(fd_.get(), buffer, sizeof buffer);
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) break;
      for (ssize_t at = 0; at < size;) {
        const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
        at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
        overflow |= (event->mask & IN_Q_OVERFLOW) != 0;
        const auto path = paths_.find(event->wd);
        if (path == paths_.end()) continue;
        const std::string name = event->len > 0 ? event->name : "";
        changes[{path->second, name}] |= event->mask;
        if ((event->mask & IN_IGNORED) != 0) Forget(event->wd);
      }
    }
    if (overflow) return everything_();
    std::vector<Change> batch;
    for (const auto& [where, mask] : changes) {
      batch.push_back({where.first, where.second, (mask & kStructure) != 0,
                       (mask & (IN_ISDIR | IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED)) != 0});
    }
    if (!batch.empty()) changed_(std::move(batch));
  }

  // The kernel has dropped the watch: its directory is gone.
  void Forget(int watch) {
    const auto path = paths_.find(watch);
    const auto known = watches_.find(path->second);
    if (known != watches_.end() && known->second == watch) watches_.erase(known);
    paths_.erase(path);
  }

  runtime::EventLoop* const loop_;
  const runtime::UniqueFd fd_;
  const std::function<void(std::vector<Change>)> changed_;
  const std::function<void()> everything_;
  runtime::EventLoop::WatchId watch_ = 0;
  std::map<std::string, int> watches_;
  std::map<int, std::string> paths_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<DirectoryWatcher>> DirectoryWatcher::Create(
    runtime::EventLoop* loop, std::function<void(std::vector<Change>)> changed,
    std::function<void()> everything) {
  runtime::UniqueFd fd(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!fd.valid()) {
    return absl::ResourceExhaustedError(absl::StrCat("inotify_init1: ", std::strerror(errno)));
  }
  return std::make_unique<InotifyWatcher>(loop, std::move(fd), std::move(changed),
                                          std::move(everything));
}

}  // namespace datamanager

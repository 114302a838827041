// The kernel keeps the watch of a directory that is moved, and the watcher reports its changes
// under the old path until the new path is watched. Obsolete watches are therefore removed before
// any watch is added.

#include "datamanager/find/directory_watcher.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"

namespace datamanager {
namespace {

constexpr std::uint32_t kStructure = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO |
                                     IN_DELETE_SELF | IN_MOVE_SELF | IN_ATTRIB | IN_IGNORED |
                                     IN_UNMOUNT;
constexpr std::uint32_t kMask = (kStructure & ~(IN_IGNORED | IN_UNMOUNT)) | IN_MODIFY | IN_ONLYDIR;

}  // namespace

DirectoryWatcher::DirectoryWatcher(runtime::EventLoop* loop, Inotify inotify, runtime::UniqueFd fd,
                                   std::function<void(std::vector<Change>)> changed,
                                   std::function<void()> everything)
    : loop_(loop),
      inotify_(std::move(inotify)),
      fd_(std::move(fd)),
      changed_(std::move(changed)),
      everything_(std::move(everything)) {
  watch_ = loop_->Watch(fd_.get(), runtime::EventLoop::Readiness::kReadable, [this] { Read(); });
}

DirectoryWatcher::~DirectoryWatcher() { loop_->Unwatch(watch_); }

DirectoryWatcher::Outcome DirectoryWatcher::SetDirectories(std::span<const Directory> directories) {
  std::map<std::string_view, const FileIdentity*> wanted;
  for (const Directory& directory : directories) {
    wanted.emplace(directory.path, &directory.identity);
  }
  for (auto it = watches_.begin(); it != watches_.end();) {
    const auto found = wanted.find(it->first);
    if (found != wanted.end() && *found->second == it->second.identity) {
      wanted.erase(found);
      ++it;
      continue;
    }
    inotify_rm_watch(fd_.get(), it->second.number);
    paths_.erase(it->second.number);
    it = watches_.erase(it);
  }
  Outcome outcome;
  for (const auto& [path, identity] : wanted) {
    const std::string directory(path);
    const int number = inotify_.add(fd_.get(), directory.c_str(), kMask);
    if (number < 0) {
      outcome.failed.push_back(directory);
      continue;
    }
    outcome.added.push_back(directory);
    watches_[directory] = {number, *identity};
    paths_[number] = directory;
  }
  return outcome;
}

void DirectoryWatcher::Read() {
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

// The kernel has dropped the watch, because the directory was removed.
void DirectoryWatcher::Forget(int number) {
  const auto path = paths_.find(number);
  const auto watch = watches_.find(path->second);
  if (watch != watches_.end() && watch->second.number == number) watches_.erase(watch);
  paths_.erase(path);
}

DirectoryWatcher::Inotify DirectoryWatcher::Inotify::Real() {
  return {.open = [] { return runtime::UniqueFd(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)); },
          .add = inotify_add_watch};
}

absl::StatusOr<std::unique_ptr<DirectoryWatcher>> DirectoryWatcher::Create(
    runtime::EventLoop* loop, std::function<void(std::vector<Change>)> changed,
    std::function<void()> everything, Inotify inotify) {
  runtime::UniqueFd fd = inotify.open();
  if (!fd.valid()) {
    return absl::ResourceExhaustedError(absl::StrCat("inotify_init1: ", std::strerror(errno)));
  }
  return std::unique_ptr<DirectoryWatcher>(new DirectoryWatcher(
      loop, std::move(inotify), std::move(fd), std::move(changed), std::move(everything)));
}

}  // namespace datamanager

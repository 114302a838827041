#include "registry/tool/instance_view.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"

namespace registry {
namespace {

// A tool records its start after its process began; the kernel's time has a resolution of one
// second.
constexpr std::int64_t kClockSlack = 3;
// Limit of processes watched by a pidfd; the others are checked on request.
constexpr std::size_t kMaxWatched = 1024;
// Any user who may write to the directory could fill it; entries beyond these limits are ignored.
constexpr std::size_t kMaxEntries = 100'000;
constexpr std::int64_t kMaxBytes = 64 << 20;
constexpr std::int64_t kMaxForeignBytes = 1 << 20;
constexpr int kMaxReads = 64;
constexpr std::uint32_t kEvents = IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE | IN_MOVED_FROM |
                                  IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR | IN_DONT_FOLLOW;

}  // namespace

InstanceView::InstanceView(Options options)
    : options_(std::move(options)), files_(options_.temporary_directory) {
  (void)Open();
}

InstanceView::~InstanceView() {
  Close();
  while (!processes_.empty()) UnwatchProcess(processes_.begin()->first);
}

// ---- The directory

bool InstanceView::Open() {
  if (inotify_.valid()) return true;
  runtime::UniqueFd inotify(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  // Watched before it is read, so that no change is missed in between.
  if (!inotify.valid() || inotify_add_watch(inotify.get(), path().c_str(), kEvents) < 0) {
    const int error = errno;
    if (error == ENOENT || error == ENOTDIR) {
      entries_.clear();
      bytes_ = foreign_bytes_ = 0;
      return false;
    }
    LOG_IF(WARNING, !std::exchange(warned_, true))
        << "cannot watch " << path() << " (" << strerror(error)
        << "): it is read whenever somebody asks; see /proc/sys/fs/inotify";
    ReadAll();
    return false;
  }
  directory_ =
      runtime::UniqueFd(open(path().c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory_.valid()) return false;
  inotify_ = std::move(inotify);
  watch_ = options_.loop->Watch(inotify_.get(), runtime::EventLoop::Readiness::kReadable,
                                [this] { (void)ReadEvents(); });
  ReadAll();
  return true;
}

void InstanceView::Close() {
  if (!inotify_.valid()) return;
  options_.loop->Unwatch(watch_);
  inotify_.reset();
  directory_.reset();
  entries_.clear();
  bytes_ = foreign_bytes_ = 0;
}

bool InstanceView::ReadEvents() {
  alignas(inotify_event) std::array<char, 64 * 1024> buffer;
  const ssize_t size = read(inotify_.get(), buffer.data(), buffer.size());
  if (size <= 0) return false;
  std::set<std::string> names;
  bool lost = false, gone = false;
  for (ssize_t at = 0; at < size;) {
    const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
    at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
    lost |= (event->mask & IN_Q_OVERFLOW) != 0;
    gone |= (event->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED)) != 0;
    if (event->len > 0) names.insert(event->name);
  }
  if (gone) {
    Close();
    (void)Open();
  } else if (lost) {
    ReadAll();
  } else {
    Listeners listeners;
    for (const std::string& name : names) ReadOne(name, &listeners);
  }
  TellChanged();
  return inotify_.valid();
}

void InstanceView::TellChanged() {
  if (!options_.changed) return;
  options_.loop->Post([this, weak = std::weak_ptr<char>(alive_)] {
    if (!weak.expired()) options_.changed();
  });
}

void InstanceView::ReadAll() {
  const auto files = files_.GetAll();
  if (!files.ok()) {
    LOG_IF(WARNING, !std::exchange(warned_, true)) << files.status().message();
    return;
  }
  reads_ += files->size();
  const std::map<std::string, Entry> before = std::exchange(entries_, {});
  bytes_ = foreign_bytes_ = 0;
  Listeners listeners;
  for (const InfoFile& file : *files) {
    const std::string name = file.path.substr(file.path.rfind('/') + 1);
    // Keeps the known state of an unchanged file.
    const auto known = before.find(name);
    if (known != before.end() && known->second.file.info == file.info) {
      entries_[name].state = known->second.state;
    }
    Put(name, file, &listeners);
  }
}

// Any user who may write to the directory could fill it, and change files as often as he likes: of
// other users' files only kMaxForeignBytes are read.
bool InstanceView::HasRoom(const std::string& name) const {
  struct stat about = {};
  if (fstatat(directory_.get(), name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) return true;
  if (entries_.contains(name)) return true;
  if (entries_.size() >= kMaxEntries || bytes_ + about.st_size > kMaxBytes) return false;
  return about.st_uid == options_.uid || foreign_bytes_ + about.st_size <= kMaxForeignBytes;
}

void InstanceView::ReadOne(const std::string& name, Listeners* listeners) {
  if (!HasRoom(name)) return;
  ++reads_;
  auto file = files_.Read(name);
  if (!file.ok()) {
    VLOG(1) << file.status().message();
    return Drop(name);
  }
  State state = State::kDead;
  if (const auto known = entries_.find(name); known != entries_.end()) {
    if (known->second.file.info == file->info) state = known->second.state;
    Drop(name);
  }
  entries_[name].state = state;
  Put(name, *std::move(file), listeners);
}

void InstanceView::Put(const std::string& name, InfoFile file, Listeners* listeners) {
  Entry& entry = entries_[name];
  bytes_ += file.state.size;
  if (file.uid != options_.uid) foreign_bytes_ += file.state.size;
  entry.file = std::move(file);
  Update(&entry, listeners);
}

void InstanceView::Drop(const std::string& name) {
  const auto entry = entries_.find(name);
  if (entry == entries_.end()) return;
  const InfoFile& file = entry->second.file;
  bytes_ -= file.state.size;
  if (file.uid != options_.uid) foreign_bytes_ -= file.state.size;
  entries_.erase(entry);
}

// ---- The tools

bool InstanceView::ProcessFits(const InstanceInfo& info) {
  const auto process = options_.probe->Look(static_cast<pid_t>(info.pid));
  return process.has_value() && process->uid == options_.uid &&
         process->started <= info.start_time + kClockSlack;
}

void InstanceView::Update(Entry* entry, Listeners* listeners) {
  const InstanceInfo& info = entry->file.info;
  if (entry->file.uid != options_.uid) {
    entry->state = State::kForeign;
    return;
  }
  const auto pid = static_cast<pid_t>(info.pid);
  const bool known = entry->state == State::kLive && processes_.contains(pid);
  const bool fits = known || ProcessFits(info);
  if (fits) WatchProcess(pid);
  if (fits && !listeners->has_value()) *listeners = options_.probe->ListenersOf(options_.uid);
  const bool listens = fits && options_.probe->Holds(pid, **listeners, static_cast<int>(info.port));
  entry->state = listens ? State::kLive : State::kDead;
}

void InstanceView::WatchProcess(pid_t pid) {
  if (processes_.contains(pid) || processes_.size() >= kMaxWatched) return;
  runtime::UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd.valid()) return;
  Process& process = processes_[pid];
  process.watch = options_.loop->Watch(pidfd.get(), runtime::EventLoop::Readiness::kReadable,
                                       [this, pid] { ProcessEnded(pid); });
  process.pidfd = std::move(pidfd);
}

void InstanceView::UnwatchProcess(pid_t pid) {
  const auto process = processes_.find(pid);
  if (process == processes_.end()) return;
  options_.loop->Unwatch(process->second.watch);
  processes_.erase(process);
}

void InstanceView::ProcessEnded(pid_t pid) {
  UnwatchProcess(pid);
  std::vector<std::string> names;
  for (auto& [name, entry] : entries_) {
    if (entry.file.info.pid != pid || entry.state == State::kForeign) continue;
    entry.state = State::kDead;
    names.push_back(name);
  }
  for (const std::string& name : names) RemoveFile(name, entries_.at(name).file);
  TellChanged();
}

// Keeps a file whose content has changed meanwhile.
void InstanceView::RemoveFile(const std::string& name, const InfoFile& file) {
  const auto now = files_.Read(name);
  if (!now.ok() || now->uid != options_.uid || now->info != file.info) return;
  if (unlinkat(directory_.get(), name.c_str(), 0) == 0) {
    LOG(INFO) << "removed " << path() << "/" << name << ": process " << file.info.pid
              << " has ended";
    return Drop(name);
  }
  LOG_IF(WARNING, errno != ENOENT)
      << "cannot remove " << path() << "/" << name << ": " << strerror(errno);
}

// ---- Queries

const std::map<std::string, InstanceView::Entry>& InstanceView::Entries() {
  // While we hold the directory open, the kernel does not report its removal.
  struct stat about = {};
  if (directory_.valid() && (fstat(directory_.get(), &about) != 0 || about.st_nlink == 0)) Close();
  (void)Open();
  // At most as often as it takes to read the kernel's full queue for one directory.
  for (int i = 0; i < kMaxReads && inotify_.valid() && ReadEvents(); ++i) {
  }
  return entries_;
}

void InstanceView::Check(const std::string* cache_key) {
  Listeners listeners;
  (void)Entries();
  for (auto& [name, entry] : entries_) {
    if (cache_key != nullptr && entry.file.info.cache_key != *cache_key) continue;
    Update(&entry, &listeners);
  }
}

const InstanceView::Entry* InstanceView::FindLive(const std::string& cache_key,
                                                  const std::string& tool) {
  Check(&cache_key);
  const Entry* lowest = nullptr;
  for (const auto& [name, entry] : entries_) {
    const InstanceInfo& info = entry.file.info;
    if (info.cache_key != cache_key || info.tool != tool || entry.state != State::kLive) continue;
    if (lowest == nullptr || info.port < lowest->file.info.port) lowest = &entry;
  }
  return lowest;
}

void InstanceView::RemoveDead(const std::string& cache_key) {
  std::vector<std::string> names;
  Check(&cache_key);
  const auto listeners = options_.probe->ListenersOf(options_.uid);
  for (const auto& [name, entry] : entries_) {
    const InstanceInfo& info = entry.file.info;
    // After a change of the clock the same process may look like another one.
    const auto pid = static_cast<pid_t>(info.pid);
    const bool gone = !options_.probe->Look(pid).has_value();
    const bool silent = !options_.probe->Holds(pid, listeners, static_cast<int>(info.port));
    const bool dead = entry.state == State::kDead && (gone || (silent && !ProcessFits(info)));
    if (info.cache_key == cache_key && dead) names.push_back(name);
  }
  for (const std::string& name : names) RemoveFile(name, entries_.at(name).file);
}

absl::Status InstanceView::Signal(const Entry& entry, int signal) {
  const auto pid = static_cast<pid_t>(entry.file.info.pid);
  const runtime::UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  // Checked after opening: if the process still fits, the descriptor is certainly its own.
  if (!pidfd.valid() || !ProcessFits(entry.file.info)) {
    return absl::NotFoundError(absl::StrCat("process ", pid, " has ended"));
  }
  if (syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0) != 0) {
    return absl::InternalError(
        absl::StrCat("cannot send signal ", signal, " to process ", pid, ": ", strerror(errno)));
  }
  return absl::OkStatus();
}

}  // namespace registry

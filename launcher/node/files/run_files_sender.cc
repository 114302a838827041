// Always true: an attempt is in exactly one of these states: its timer is set, its thread works, it
// waits for its turn to send, or it has an unanswered part.

#include "launcher/node/files/run_files_sender.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "launcher/node/files/hashed_file.h"
#include "launcher/node/files/run_directory_files.h"
#include "launcher/node/files/way_back.h"
#include "runtime/file/unique_fd.h"
#include "runtime/thread.h"
#include "runtime/timer.h"

namespace launcher {
namespace {

constexpr absl::Duration kToGiveUp = absl::Seconds(5);
// Number of tries to send a file that changes meanwhile, after the end of the attempt, and to
// compare the beginning of a file.
constexpr int kTries = 5;

struct Looks {
  std::uint64_t size = 0;
  std::int64_t changed_ns = 0;
  std::uint64_t inode = 0;
  bool operator==(const Looks&) const = default;
};

// The result of one scan of a run directory.
struct Seen {
  std::map<std::string, Looks> files;
  std::string problem;  // The first problem found.
};

bool IsEventFile(std::string_view path) {
  return path.substr(path.rfind('/') + 1).find("tfevents") != path.npos;
}

class Look {
 public:
  Look(const std::string& run_directory, const std::atomic<bool>& gives_up)
      : run_directory_(run_directory), gives_up_(gives_up) {}

  Seen Take() {
    TakeDirectory(
        "", runtime::UniqueFd(open(run_directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
    return std::move(seen_);
  }

 private:
  void Problem(const std::string& path, const std::string& why) {
    if (seen_.problem.empty()) seen_.problem = absl::StrCat(path, " ", why);
  }

  // True for files of the yard itself, and for checkpoints.
  static bool IsPassedOver(const std::string& path) {
    return path.starts_with("checkpoint_") || path.starts_with(".yard") || path == "params.json";
  }

  void TakeDirectory(const std::string& path, const runtime::UniqueFd& fd) {
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(
        fd.valid() ? fdopendir(dup(fd.get())) : nullptr, closedir);
    if (directory == nullptr) {
      // (The directory may be removed during the scan.)
      if (errno != ENOENT) Problem(path, absl::StrCat("cannot be read: ", strerror(errno)));
      return;
    }
    while (const dirent* const entry = readdir(directory.get())) {
      const std::string name = entry->d_name;
      if (gives_up_ || ++entries_ > kMaxTreeFiles) break;
      if (name == "." || name == "..") continue;
      const std::string below = path.empty() ? name : absl::StrCat(path, "/", name);
      if (!IsPassedOver(below)) TakeEntry(below, fd.get(), name);
    }
  }

  void TakeEntry(const std::string& path, int directory, const std::string& name) {
    struct stat about = {};
    if (fstatat(directory, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) return;
    if (!IsRunPath(path)) return Problem(path.substr(0, 200), "has too long a path");
    if (S_ISDIR(about.st_mode)) {
      return TakeDirectory(path, OpenInRun(run_directory_, path, O_RDONLY | O_DIRECTORY));
    }
    if (S_ISLNK(about.st_mode)) return Problem(path, "is a symbolic link");
    if (!S_ISREG(about.st_mode)) return Problem(path, "is no regular file");
    const auto size = static_cast<std::uint64_t>(about.st_size);
    if (size > RunFilesSender::kMaxBytes) {
      return Problem(
          path, absl::StrCat("has ", size, " bytes (at most ", RunFilesSender::kMaxBytes, ")"));
    }
    if (seen_.files.size() >= RunFilesSender::kMaxFiles) {
      return Problem(
          path, absl::StrCat("is one file too many (at most ", RunFilesSender::kMaxFiles, ")"));
    }
    seen_.files[path] = {.size = size,
                         .changed_ns = about.st_mtim.tv_sec * 1'000'000'000 + about.st_mtim.tv_nsec,
                         .inode = about.st_ino};
  }

  const std::string& run_directory_;
  const std::atomic<bool>& gives_up_;
  std::size_t entries_ = 0;
  Seen seen_;
};

// Hashes the first `limit` bytes of a file; the hash is empty if the file cannot be read.
HashedFile HashOf(const std::string& run_directory, const std::string& path, std::uint64_t limit,
                  const std::atomic<bool>& gives_up) {
  const runtime::UniqueFd fd = OpenInRun(run_directory, path, O_RDONLY | O_NONBLOCK);
  return fd.valid() ? HashFile(fd.get(), gives_up, limit).value_or(HashedFile()) : HashedFile();
}

struct File {
  Looks looks;
  Looks sent;  // How the file looked when it was sent whole.
  bool was_sent = false;
  std::uint64_t there = 0;  // Bytes of an event file at the launcher.
  bool is_proved = false;   // Those bytes are known to be the beginning of this file.
  bool has_failed = false;
  int tries = 0;
};

struct Item {
  std::string run_directory;
  std::map<std::string, File> files;
  std::deque<std::string> queue;  // Files to send; the first one is being sent.
  bool has_turn = false, waits_for_turn = false;
  bool is_working = false;  // A scan, a thread or a transfer is under way.
  bool is_last = false;     // The scan after the attempt's end has begun.
  std::function<void(const std::string&)> done;
  std::string problem;
  // The number of the unanswered part; 0 if all are answered.
  std::uint64_t number = 0;
  FilePart part;
  runtime::Timer timer = {};
  std::shared_ptr<std::atomic<bool>> gives_up = std::make_shared<std::atomic<bool>>(false);
  std::unique_ptr<runtime::Thread> thread = nullptr;
};

}  // namespace

class RunFilesSender::Impl {
 public:
  explicit Impl(Options options) : options_(std::move(options)) {}
  ~Impl() {
    way_->Close();
    for (auto& [key, item] : items_) *item->gives_up = true;
    for (auto& [key, item] : items_) {
      if (item->thread != nullptr) item->thread->Join(kToGiveUp);
    }
  }

  void Add(const std::string& attempt, const std::string& run_directory) {
    Remove(attempt);
    auto item = std::make_unique<Item>();
    item->run_directory = run_directory;
    items_[attempt] = std::move(item);
    LookAfter(attempt, options_.look_every);
  }

  void Finish(const std::string& attempt, std::function<void(const std::string& problem)> done) {
    const auto found = items_.find(attempt);
    if (found == items_.end()) {
      way_->Post([done = std::move(done)] { done(""); });
      return;
    }
    found->second->done = std::move(done);
    if (!found->second->is_working) LookAfter(attempt, absl::ZeroDuration());
  }

  void Remove(const std::string& attempt) {
    const auto found = items_.find(attempt);
    if (found == items_.end()) return;
    *found->second->gives_up = true;
    GiveTurnBack(found->second.get());
    items_.erase(found);
    NextTurn();
  }

  void OnConnected() {
    for (auto& [key, item] : items_) {
      if (item->number != 0) SendAgain(key);
    }
  }

  void OnAnswer(const FileAnswer& answer) {
    const auto found = items_.find(answer.attempt);
    if (found == items_.end() || found->second->number == 0 ||
        found->second->number != answer.transfer || found->second->part.path != answer.path) {
      return;
    }
    Item* const item = found->second.get();
    const std::string path = item->queue.front();
    File& file = item->files[path];
    using Kind = FileAnswer::Kind;
    if (answer.kind == Kind::kLater) return SendAgainAfter(answer.attempt, options_.no_room_pause);
    item->timer.Cancel();
    item->number = 0;
    if (answer.kind != Kind::kHas) return FailFile(answer.attempt, answer.error);
    if (IsEventFile(path)) return OnEventBytes(answer.attempt, item, path, file, answer.offset);
    OnWholeBytes(answer.attempt, item, file, answer);
  }

 private:
  // Runs `body` on a thread, and then calls `then` with the item, if it still exists.
  template <typename Result>
  void OnThread(const std::string& key,
                std::function<Result(const std::atomic<bool>& gives_up)> body,
                std::function<void(Item*, Result)> then) {
    Item* const item = items_.at(key).get();
    item->thread = std::make_unique<runtime::Thread>(
        "run files", [this, key, gives_up = item->gives_up, way = way_, body = std::move(body),
                      then = std::move(then)] {
          Result result = body(*gives_up);
          way->Post([this, key, gives_up, then, result = std::move(result)] {
            if (*gives_up) return;
            then(items_.at(key).get(), result);
          });
        });
  }

  // --- Scans.

  void LookAfter(const std::string& key, absl::Duration pause) {
    Item* const item = items_.at(key).get();
    item->timer.Start(options_.loop, pause, [this, key, item] {
      item->is_working = true;
      item->is_last = item->done != nullptr;
      item->problem.clear();
      OnThread<Seen>(
          key,
          [run = item->run_directory](const std::atomic<bool>& gives_up) {
            return Look(run, gives_up).Take();
          },
          [this, key](Item* still, const Seen& seen) { OnSeen(key, still, seen); });
    });
  }

  void OnSeen(const std::string& key, Item* item, const Seen& seen) {
    Note(key, item, seen.problem);
    std::erase_if(item->files, [&](const auto& file) { return !seen.files.contains(file.first); });
    for (const auto& [path, looks] : seen.files) {
      File& file = item->files[path];
      const bool is_still = file.looks == looks || item->is_last;
      file.looks = looks;
      if (item->is_last) file.has_failed = false;
      file.tries = 0;
      const bool is_new = IsEventFile(path) ? looks.size > file.there
                                            : is_still && !(file.was_sent && file.sent == looks);
      if (is_new && !file.has_failed) item->queue.push_back(path);
    }
    if (item->queue.empty()) return EndOfRound(key, item);
    item->waits_for_turn = true;
    turns_.push_back(key);
    NextTurn();
  }

  void NextTurn() {
    while (active_ < kMaxActive && !turns_.empty()) {
      const auto found = items_.find(turns_.front());
      const std::string key = turns_.front();
      turns_.pop_front();
      if (found == items_.end() || !std::exchange(found->second->waits_for_turn, false)) continue;
      found->second->has_turn = true;
      ++active_;
      SendFirst(key);
    }
  }

  void GiveTurnBack(Item* item) {
    if (std::exchange(item->has_turn, false)) --active_;
  }

  void EndOfRound(const std::string& key, Item* item) {
    item->is_working = false;
    GiveTurnBack(item);
    if (!item->is_last) {
      LookAfter(key, item->done ? absl::ZeroDuration() : options_.look_every);
    } else {
      way_->Post([gives_up = item->gives_up, problem = item->problem,
                  done = std::exchange(item->done, {})] {
        if (!*gives_up) done(problem);
      });
    }
    NextTurn();
  }

  void Note(const std::string& key, Item* item, const std::string& problem) {
    if (problem.empty() || !item->problem.empty()) return;
    item->problem = problem;
    if (last_problem_ == problem) return;
    last_problem_ = problem;
    LOG(WARNING) << "attempt " << key << ", its run directory: " << problem;
  }

  // --- Files.

  void SendFirst(const std::string& key) {
    Item* const item = items_.at(key).get();
    if (item->queue.empty()) return EndOfRound(key, item);
    const std::string path = item->queue.front();
    if (IsEventFile(path)) return SendEventBytes(key, item, path);
    OnThread<HashedFile>(
        key,
        [run = item->run_directory, path](const std::atomic<bool>& gives_up) {
          return HashOf(run, path, kMaxBytes, gives_up);
        },
        [this, key, path](Item* still, const HashedFile& hashed) {
          if (hashed.sha256.empty()) return FailFile(key, "it cannot be read");
          still->part = {.attempt = key,
                         .kind = FilePart::Kind::kWhole,
                         .path = path,
                         .size = hashed.size,
                         .sha256 = hashed.sha256};
          SendPart(key, still);
        });
  }

  void NextFile(const std::string& key, Item* item) {
    item->queue.pop_front();
    SendFirst(key);
  }

  void FailFile(const std::string& key, const std::string& why) {
    Item* const item = items_.at(key).get();
    const std::string path = item->queue.front();
    item->files[path].has_failed = true;
    Note(key, item, absl::StrCat(path, " stays on the node: ", why));
    NextFile(key, item);
  }

  // Reads the bytes at the part's offset. Returns false if the file has no more.
  static bool FillIn(Item* item, std::uint64_t end) {
    FilePart& part = item->part;
    const runtime::UniqueFd fd = OpenInRun(item->run_directory, part.path, O_RDONLY | O_NONBLOCK);
    part.bytes.resize(std::min<std::uint64_t>(end - std::min(end, part.offset), kMaxFilePiece));
    const ssize_t got = fd.valid() ? pread(fd.get(), part.bytes.data(), part.bytes.size(),
                                           static_cast<off_t>(part.offset))
                                   : 0;
    part.bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return !part.bytes.empty();
  }

  void SendPart(const std::string& key, Item* item) {
    item->number = ++last_number_;
    item->part.transfer = item->number;
    SendAgain(key);
  }

  void SendAgain(const std::string& key) {
    options_.send(items_.at(key)->part);
    SendAgainAfter(key, options_.ask_again);
  }

  void SendAgainAfter(const std::string& key, absl::Duration pause) {
    Item* const item = items_.at(key).get();
    item->timer.Start(options_.loop, pause, [this, key] { SendAgain(key); });
  }

  void OnWholeBytes(const std::string& key, Item* item, File& file, const FileAnswer& answer) {
    if (answer.is_whole) {
      file.was_sent = true;
      file.sent = file.looks;
      return NextFile(key, item);
    }
    // The file was changed after it was hashed, or while it was sent.
    const bool is_again = answer.offset == 0 && !item->part.bytes.empty();
    item->part.offset = answer.offset;
    if (!is_again && FillIn(item, item->part.size)) return SendPart(key, item);
    if (++file.tries >= kTries) return FailFile(key, "it changes while it is copied");
    if (item->is_last) return SendFirst(key);
    NextFile(key, item);  // (The next scan finds it again.)
  }

  void SendEventBytes(const std::string& key, Item* item, const std::string& path) {
    const File& file = item->files[path];
    item->part = {.attempt = key, .kind = FilePart::Kind::kAppend, .path = path};
    item->part.offset = file.there;
    if (file.is_proved && !FillIn(item, file.looks.size)) return NextFile(key, item);
    item->part.size = item->part.offset + item->part.bytes.size();
    SendPart(key, item);
  }

  // Handles an answer: the launcher has `there` bytes of the file.
  void OnEventBytes(const std::string& key, Item* item, const std::string& path, File& file,
                    std::uint64_t there) {
    const bool is_taken = !item->part.bytes.empty() && there == item->part.size;
    if (there == 0 || is_taken) {
      file.is_proved = true;
      file.there = there;
      if (is_taken && there >= file.looks.size) return NextFile(key, item);
      if (!is_taken && ++file.tries >= kTries) return FailFile(key, "the launcher takes no bytes");
      return SendEventBytes(key, item, path);
    }
    // The bytes were sent by an earlier worker or to an earlier launcher: checks that they are
    // those of this file.
    file.is_proved = false;
    if (++file.tries >= kTries || there > file.looks.size) {
      return FailFile(key, "a longer file of that name is there already");
    }
    OnThread<HashedFile>(
        key,
        [run = item->run_directory, path, there](const std::atomic<bool>& gives_up) {
          return HashOf(run, path, there, gives_up);
        },
        [this, key, path, there](Item* still, const HashedFile& hashed) {
          if (hashed.size != there) return FailFile(key, "it has become shorter");
          File& again = still->files[path];
          again.there = there;
          still->part = {.attempt = key,
                         .kind = FilePart::Kind::kAppend,
                         .path = path,
                         .sha256 = hashed.sha256,
                         .offset = there};
          if (!FillIn(still, again.looks.size)) return NextFile(key, still);
          still->part.size = there + still->part.bytes.size();
          SendPart(key, still);
        });
  }

  const Options options_;
  const std::shared_ptr<WayBack> way_ = std::make_shared<WayBack>(options_.loop);
  std::map<std::string, std::unique_ptr<Item>> items_;
  std::deque<std::string> turns_;
  std::size_t active_ = 0;
  // Starts at a random number, since answers to an earlier process may still arrive.
  std::uint64_t last_number_ = std::random_device()();
  std::string last_problem_;  // The last problem that was logged.
};

RunFilesSender::RunFilesSender(Options options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}
RunFilesSender::~RunFilesSender() = default;
void RunFilesSender::Add(const std::string& attempt, const std::string& run_directory) {
  impl_->Add(attempt, run_directory);
}
void RunFilesSender::Finish(const std::string& attempt,
                            std::function<void(const std::string& problem)> done) {
  impl_->Finish(attempt, std::move(done));
}
void RunFilesSender::Remove(const std::string& attempt) { impl_->Remove(attempt); }
void RunFilesSender::OnConnected() { impl_->OnConnected(); }
void RunFilesSender::OnAnswer(const FileAnswer& answer) { impl_->OnAnswer(answer); }

}  // namespace launcher

// Always true: a connection takes lines of its shim only while it holds none, so that lines reach
// the trainer in their order. Only answers of the trainer are written to a shim.

#include "launcher/node/files/checkpoint_relay.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/peer.h"
#include "runtime/process/unix_listener.h"
#include "runtime/report_channel/relay_protocol.h"
#include "runtime/thread.h"
#include "runtime/timer.h"

namespace launcher {
namespace {

constexpr int kWaiting = 256;  // Backlog of connections of shims.
constexpr std::size_t kReadBytes = 64 << 10;
// Back-pressure: with more unsent bytes, the other side is not read.
constexpr std::size_t kMaxOut = 1 << 20;
// The limit of a shim, with room for the number of the answer.
constexpr std::size_t kMaxAnswer = 17 << 20;
// Unanswered saves of an attempt: a shim sends no more lines without answers.
constexpr std::size_t kMaxSaves = 64;
constexpr std::string_view kCheckpoint = "checkpoint_";
constexpr std::string_view kTemporary = "checkpoint_tmp";

std::string LastName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// One direction of a connection.
struct End {
  runtime::UniqueFd fd;
  runtime::EventLoop::WatchId read_watch = 0, write_watch = 0;
  std::string in;            // An incomplete line.
  std::size_t searched = 0;  // Bytes of `in` known to contain no newline.
  std::string out;
};

struct Save {
  std::string path;  // Path below the run directory.
  FileList files;
};

struct Known {
  CheckpointRelay::Attempt attempt;
  // By the number of the line, which was sent to the trainer and is unanswered.
  std::map<std::uint64_t, Save> saves;
  std::shared_ptr<const SentFiles::Known> files = std::make_shared<SentFiles::Known>();
  std::deque<std::string> local;  // Committed checkpoints on the node, the oldest first.
};

struct Held {
  std::uint64_t number = 0;
  std::string text;  // The line without its number.
  std::string path;  // Path below the run directory.
};

struct Connection {
  End shim, trainer;
  bool is_greeted = false;
  std::string key;
  std::optional<Held> held;
  runtime::Timer beat;
};

}  // namespace

class CheckpointRelay::Impl {
 public:
  Impl(Options options, runtime::UniqueFd listener)
      : options_(std::move(options)), listener_(std::move(listener)) {
    accept_watch_ = options_.loop->Watch(listener_.get(), runtime::EventLoop::Readiness::kReadable,
                                         [this] { Accept(); });
  }
  ~Impl() {
    options_.loop->Unwatch(accept_watch_);
    while (!connections_.empty()) Close(connections_.begin()->first);
    for (const auto& [key, known] : attempts_) options_.files->Cancel(key);
    (void)unlink(options_.socket_path.c_str());
  }

  void Add(Attempt attempt) {
    Known known;
    // (Finds the checkpoints that an earlier worker has left.)
    std::error_code error;
    for (std::filesystem::directory_iterator entry(attempt.run.node, error), end;
         !error && entry != end; entry.increment(error)) {
      const std::string name = entry->path().filename();
      const std::string path = entry->path();
      if (!name.starts_with(kCheckpoint) || name.starts_with(kTemporary)) continue;
      if (!IsStart(attempt, path)) known.local.push_back(path);
    }
    std::sort(known.local.begin(), known.local.end());
    const std::string key = attempt.key;
    known.attempt = std::move(attempt);
    attempts_[key] = std::move(known);
  }

  void Remove(const std::string& key) {
    if (attempts_.erase(key) == 0) return;
    options_.files->Cancel(key);
    std::vector<Id> ids;
    for (const auto& [id, connection] : connections_) {
      if (connection.key == key) ids.push_back(id);
    }
    for (const Id id : ids) Close(id);
  }

 private:
  using Id = std::uint64_t;

  static bool IsStart(const Attempt& attempt, const std::string& path) {
    return !attempt.start.empty() &&
           (attempt.start == path || attempt.start.starts_with(path + "/") ||
            path.starts_with(attempt.start + "/"));
  }

  // --- Connections.

  void Accept() {
    for (;;) {
      runtime::UniqueFd fd(
          accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!fd.valid()) {
        if (errno == EINTR || errno == ECONNABORTED) continue;
        return;
      }
      if (!runtime::IsOfOurUser(fd.get())) continue;
      const Id id = ++last_id_;
      connections_[id].shim.fd = std::move(fd);
      Update(id);
    }
  }

  void Unwatch(End* end) {
    options_.loop->Unwatch(std::exchange(end->read_watch, 0));
    options_.loop->Unwatch(std::exchange(end->write_watch, 0));
  }

  // Closes a connection; the shim reconnects, and resends its unanswered lines.
  void Close(Id id) {
    const auto found = connections_.find(id);
    if (found == connections_.end()) return;
    Unwatch(&found->second.shim);
    Unwatch(&found->second.trainer);
    connections_.erase(found);
  }

  void Update(Id id) {
    const auto found = connections_.find(id);
    if (found == connections_.end()) return;
    Connection& connection = found->second;
    Watch(id, &Connection::shim, !connection.held && connection.trainer.out.size() < kMaxOut);
    if (connection.trainer.fd.valid()) {
      Watch(id, &Connection::trainer, connection.shim.out.size() < kMaxOut);
    }
  }

  void Watch(Id id, End Connection::*which, bool reads) {
    using Readiness = runtime::EventLoop::Readiness;
    End& end = connections_.at(id).*which;
    if (reads && end.read_watch == 0) {
      end.read_watch = options_.loop->Watch(end.fd.get(), Readiness::kReadable,
                                            [this, id, which] { Read(id, which); });
    } else if (!reads) {
      options_.loop->Unwatch(std::exchange(end.read_watch, 0));
    }
    if (!end.out.empty() && end.write_watch == 0) {
      end.write_watch = options_.loop->Watch(end.fd.get(), Readiness::kWritable,
                                             [this, id, which] { Flush(id, which); });
    } else if (end.out.empty()) {
      options_.loop->Unwatch(std::exchange(end.write_watch, 0));
    }
  }

  void Read(Id id, End Connection::*which) {
    End& end = connections_.at(id).*which;
    char chunk[kReadBytes];
    const ssize_t got = recv(end.fd.get(), chunk, sizeof chunk, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) return Close(id);
    end.in.append(chunk, static_cast<std::size_t>(got));
    if (which == &Connection::shim) {
      TakeLines(id);
    } else {
      TakeAnswers(id);
    }
    FlushBoth(id);
  }

  void FlushBoth(Id id) {
    for (const auto which : {&Connection::shim, &Connection::trainer}) Flush(id, which);
  }

  void Flush(Id id, End Connection::*which) {
    const auto found = connections_.find(id);
    if (found == connections_.end()) return;
    End& end = found->second.*which;
    std::size_t done = 0;
    while (end.fd.valid() && done < end.out.size()) {
      const ssize_t sent = send(end.fd.get(), end.out.data() + done, end.out.size() - done,
                                MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0 && errno == EAGAIN) break;
      if (sent < 0) return Close(id);
      done += static_cast<std::size_t>(sent);
    }
    end.out.erase(0, done);
    if (which == &Connection::trainer) TakeLines(id);
    Update(id);
  }

  // --- Lines of the program.

  void TakeLines(Id id) {
    for (;;) {
      const auto found = connections_.find(id);
      if (found == connections_.end()) return;
      Connection& connection = found->second;
      std::string& in = connection.shim.in;
      if (connection.held || connection.trainer.out.size() >= kMaxOut) return;
      const std::size_t newline = in.find('\n', connection.shim.searched);
      if (newline == in.npos) {
        connection.shim.searched = in.size();
        if (in.size() > runtime::kMaxRelayedLine) Close(id);
        return;
      }
      const std::string line = in.substr(0, newline);
      in.erase(0, newline + 1);
      connection.shim.searched = 0;
      if (!connection.is_greeted) {
        if (!Greet(id, line)) return Close(id);
      } else {
        TakeLine(id, line);
      }
    }
  }

  // Handles a greeting. Returns false if no attempt has this nonce or the trainer does not listen;
  // the shim then tries again.
  bool Greet(Id id, const std::string& line) {
    Connection& connection = connections_.at(id);
    const auto nonce = runtime::NonceOfGreeting(line);
    for (const auto& [key, known] : attempts_) {
      if (nonce && !known.attempt.nonce.empty() && known.attempt.nonce == *nonce) {
        connection.key = key;
      }
    }
    if (connection.key.empty()) return false;
    const auto address = runtime::UnixAddress(options_.trainer_socket);
    runtime::UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!address.ok() || !fd.valid() ||
        connect(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) {
      return false;
    }
    // A second connection of an attempt replaces the first.
    std::vector<Id> others;
    for (const auto& [other, earlier] : connections_) {
      if (other != id && earlier.key == connection.key) others.push_back(other);
    }
    for (const Id other : others) Close(other);
    connection.trainer.fd = std::move(fd);
    connection.is_greeted = true;
    connection.trainer.out = line + "\n";
    return true;
  }

  void TakeLine(Id id, const std::string& line) {
    Connection& connection = connections_.at(id);
    Known& known = attempts_.at(connection.key);
    const auto parsed = runtime::ParseRelayLine(line);
    const auto saved = parsed && !parsed->is_end ? SavedPath(parsed->text) : std::nullopt;
    const auto below = saved ? BelowRun(known.attempt, *saved) : std::nullopt;
    if (!below) return Pass(id, line);
    connection.held = {.number = parsed->number, .text = std::string(parsed->text), .path = *below};
    BeatLater(id);
    options_.files->Send(
        connection.key, known.attempt.run.node, *below, known.files,
        [this, id, key = connection.key, number = parsed->number](absl::StatusOr<FileList> sent) {
          OnSent(id, key, number, std::move(sent));
        });
  }

  void Pass(Id id, std::string_view line) {
    connections_.at(id).trainer.out.append(line).append("\n");
  }

  // Returns the path below the run directory if the directory must be copied: unless it is a
  // committed checkpoint or the one that the attempt started from.
  static std::optional<std::string> BelowRun(const Attempt& attempt, const std::string& path) {
    const std::string& run = attempt.run.node;
    std::string below = path;
    if (path.starts_with('/')) {
      if (!path.starts_with(run + "/")) return std::nullopt;
      below = path.substr(run.size() + 1);
    }
    while (below.ends_with('/')) below.pop_back();
    const bool is_committed = below.starts_with(kCheckpoint) && !below.starts_with(kTemporary);
    if (!IsRunPath(below) || is_committed || IsStart(attempt, absl::StrCat(run, "/", below))) {
      return std::nullopt;
    }
    return below;
  }

  void BeatLater(Id id) {
    Connection& connection = connections_.at(id);
    connection.beat.Start(options_.loop, options_.beat, [this, id] {
      Connection& still = connections_.at(id);
      if (!still.held) return;
      if (still.trainer.out.empty()) Pass(id, runtime::kAlive);
      BeatLater(id);
      Flush(id, &Connection::trainer);
    });
  }

  void OnSent(Id id, const std::string& key, std::uint64_t number, absl::StatusOr<FileList> sent) {
    const auto found = connections_.find(id);
    const auto attempt = attempts_.find(key);
    if (found == connections_.end() || attempt == attempts_.end()) return;
    Connection& connection = found->second;
    if (!connection.held || connection.held->number != number) return;
    const Held held = *std::exchange(connection.held, std::nullopt);
    connection.beat.Cancel();
    const RunPlaces& run = attempt->second.attempt.run;
    const std::string there = absl::StrCat(run.launcher, "/", held.path);
    std::string text = WithSavedPath(held.text, there);
    // (The directory is gone: the trainer knows whether it has accepted this line before.)
    const bool is_gone = absl::IsNotFound(sent.status());
    if (!sent.ok() && !is_gone) {
      LOG(WARNING) << "cannot copy " << run.node << "/" << held.path << ": " << sent.status();
      text = FailedSave(held.text, there,
                        absl::StrCat("cannot copy the checkpoint to the machine of the yard: ",
                                     sent.status().message()));
    }
    // The trainer removes its directory, so the node removes its own.
    const bool is_given_up = !sent.ok() && !is_gone && held.path.starts_with(kTemporary);
    if (is_given_up) RemoveSoon(absl::StrCat(run.node, "/", held.path));
    auto& saves = attempt->second.saves;
    if (saves.size() >= kMaxSaves) saves.erase(saves.begin());
    if (!is_given_up) {
      saves[number] = {.path = held.path, .files = sent.ok() ? *std::move(sent) : FileList()};
    }
    std::string line = runtime::RelayLine(number, text);
    line.pop_back();
    Pass(id, line);
    FlushBoth(id);
  }

  // --- Answers of the trainer.

  void TakeAnswers(Id id) {
    Connection& connection = connections_.at(id);
    std::string& in = connection.trainer.in;
    std::size_t begin = 0;
    for (;;) {
      const std::size_t newline = in.find('\n', std::max(begin, connection.trainer.searched));
      if (newline == in.npos) break;
      TakeAnswer(&connection, std::string_view(in).substr(begin, newline - begin));
      begin = newline + 1;
    }
    in.erase(0, begin);
    connection.trainer.searched = in.size();
    if (in.size() > kMaxAnswer) Close(id);
  }

  void TakeAnswer(Connection* connection, std::string_view line) {
    std::string& out = connection->shim.out;
    const auto parsed = runtime::ParseRelayAnswer(line);
    if (!parsed) {
      out.append(line).append("\n");
      return;
    }
    Known& known = attempts_.at(connection->key);
    const AnswerAtNode answer = AnswerFor(known.attempt.run, parsed->text);
    if (!answer.directory.empty() && mkdir(answer.directory.c_str(), 0700) != 0 &&
        errno != EEXIST) {
      // (Only logged: the program notices the missing directory when it writes.)
      LOG(WARNING) << "cannot make " << answer.directory << ": " << strerror(errno);
    }
    const auto save = known.saves.extract(parsed->number);
    if (!save.empty() && !answer.saved.empty()) Keep(&known, save.mapped(), answer.saved);
    runtime::AppendRelayAnswer(parsed->number, answer.text, out);
  }

  // Renames the directory of a committed checkpoint on the node, as the trainer did.
  void Keep(Known* known, const Save& save, const std::string& path) {
    const std::string& run = known->attempt.run.node;
    if (!save.path.starts_with(kTemporary) || path != absl::StrCat(run, "/", LastName(path))) {
      return;
    }
    RemoveSoon(path);
    if (rename(absl::StrCat(run, "/", save.path).c_str(), path.c_str()) != 0) return;
    FileList files = save.files;
    auto hashes = std::make_shared<SentFiles::Known>();
    for (FileList::File& file : files.files) {
      file.path = LastName(path) + file.path.substr(save.path.size());
      (*hashes)[file.sha256] = file.path;
    }
    known->files = std::move(hashes);
    if (options_.on_committed) options_.on_committed(run, files);
    std::erase(known->local, path);
    known->local.push_back(path);
    while (known->local.size() > kLocalCheckpoints) {
      RemoveSoon(known->local.front());
      known->local.pop_front();
    }
  }

  // Renames the directory at once, and removes it on a thread.
  void RemoveSoon(const std::string& path) {
    const std::string old = absl::StrCat(path.substr(0, path.rfind('/')), "/.yard-old-",
                                         ++last_removed_, "-", getpid());
    if (rename(path.c_str(), old.c_str()) != 0) return;
    const runtime::Thread thread("remove", [old] {
      std::error_code error;
      std::filesystem::remove_all(old, error);
    });
  }

  const Options options_;
  const runtime::UniqueFd listener_;
  runtime::EventLoop::WatchId accept_watch_ = 0;
  std::map<std::string, Known> attempts_;
  std::map<Id, Connection> connections_;
  Id last_id_ = 0;
  std::uint64_t last_removed_ = 0;
};

CheckpointRelay::CheckpointRelay(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CheckpointRelay::~CheckpointRelay() = default;
void CheckpointRelay::Add(Attempt attempt) { impl_->Add(std::move(attempt)); }
void CheckpointRelay::Remove(const std::string& key) { impl_->Remove(key); }

absl::StatusOr<std::unique_ptr<CheckpointRelay>> CheckpointRelay::Listen(Options options) {
  auto listener = runtime::ListenAtPath(options.socket_path, kWaiting);
  if (!listener.ok()) return listener.status();
  if (const auto trainer = runtime::UnixAddress(options.trainer_socket); !trainer.ok()) {
    return trainer.status();
  }
  auto impl = std::make_unique<Impl>(std::move(options), *std::move(listener));
  return std::unique_ptr<CheckpointRelay>(new CheckpointRelay(std::move(impl)));
}

}  // namespace launcher

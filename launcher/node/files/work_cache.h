#ifndef LAUNCHER_NODE_FILES_WORK_CACHE_H_
#define LAUNCHER_NODE_FILES_WORK_CACHE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "launcher/node/files/way_back.h"
#include "launcher/node/words/node_words.h"
#include "runtime/event_loop.h"
#include "runtime/file/unique_fd.h"
#include "runtime/timer.h"

namespace launcher {

// Archives that have come to a node, each a file that is named after its SHA-256, and those that
// are coming (SHA256.part). An archive comes once for all attempts that want it, and goes on where
// it was after a cut and in the next process. Nothing here has looked whether the bytes have that
// hash: the reader does. On the loop's thread.
class WorkCache {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives this.
    std::string directory;               // Its parent is there.
    // The archives that were used least recently are removed beyond it.
    std::uint64_t max_bytes = std::uint64_t{4} << 30;
    // Asks the launcher. It may be lost: OnConnected() asks again, and a timer does.
    std::function<void(const NodeWant&)> ask;
  };
  // The path of the archive. FailedPrecondition: the launcher cannot give it; Unavailable: it
  // cannot be written.
  using Done = std::function<void(absl::StatusOr<std::string> path)>;

  explicit WorkCache(Options options) : options_(std::move(options)) {}
  ~WorkCache();
  WorkCache(const WorkCache&) = delete;
  WorkCache& operator=(const WorkCache&) = delete;

  // Calls `done` once the archive is there, never from within this call.
  void Get(const std::string& attempt, const std::string& work, std::uint64_t bytes, Done done);
  // The attempt waits no longer: its `done` is not called.
  void Leave(const std::string& attempt);
  // Keeps a file that has this hash, if the disk can do so without copying it.
  void Add(const std::string& path, const std::string& work);
  // Removes an archive that has another hash.
  void Remove(const std::string& work);

  void OnConnected();
  void OnPiece(const NodeOrder& order);

 private:
  struct Coming {
    std::uint64_t bytes = 0;  // It has so many.
    std::uint64_t got = 0;
    runtime::UniqueFd file = {};
    std::map<std::string, Done> waiting = {};
    runtime::Timer timer = {};
  };
  std::string Path(const std::string& work) const { return options_.directory + "/" + work; }
  absl::Status Open(const std::string& work, Coming* coming) const;
  void Ask(const std::string& work);
  absl::Status Take(const NodeOrder& piece, Coming* coming) const;
  absl::Status Keep(const std::string& work);
  void Finish(const std::string& work, const absl::Status& status);
  void RemoveOldest(const std::string& newest);

  const Options options_;
  std::map<std::string, Coming> coming_;
  const std::shared_ptr<WayBack> way_ = std::make_shared<WayBack>(options_.loop);
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_FILES_WORK_CACHE_H_

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

// The cache of archives on a node. Each is a file named after its SHA-256, or SHA256.part while it
// is being transferred. An archive is transferred once for all attempts that want it, and the
// transfer resumes after a lost connection and in the next process. The cache does not verify the
// hash: the reader must. Use on the loop's thread.
class WorkCache {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives this.
    std::string directory;               // Its parent directory exists.
    // Beyond this size the least recently used archives are removed.
    std::uint64_t max_bytes = std::uint64_t{4} << 30;
    // Sends a request to the launcher. It may be lost: OnConnected() and a timer repeat it.
    std::function<void(const NodeWant&)> ask;
  };
  // Gets the path of the archive. FailedPrecondition if the launcher cannot provide it; Unavailable
  // if it cannot be written.
  using Done = std::function<void(absl::StatusOr<std::string> path)>;

  explicit WorkCache(Options options) : options_(std::move(options)) {}
  ~WorkCache();
  WorkCache(const WorkCache&) = delete;
  WorkCache& operator=(const WorkCache&) = delete;

  // Gets an archive of `bytes` bytes with the hash `work`, and calls `done` once it is in the
  // cache, after this call has returned.
  void Get(const std::string& attempt, const std::string& work, std::uint64_t bytes, Done done);
  // The attempt no longer waits: its `done` will not be called.
  void Leave(const std::string& attempt);
  // Adds a file that has this hash, if the file system can link it without a copy.
  void Add(const std::string& path, const std::string& work);
  // Removes an archive whose content has another hash.
  void Remove(const std::string& work);

  // Call these when the launcher has welcomed the node, or has sent a piece.
  void OnConnected();
  void OnPiece(const NodeOrder& order);

 private:
  struct Coming {
    std::uint64_t bytes = 0;  // Size of the archive.
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

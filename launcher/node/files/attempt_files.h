#ifndef LAUNCHER_NODE_FILES_ATTEMPT_FILES_H_
#define LAUNCHER_NODE_FILES_ATTEMPT_FILES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "launcher/node/files/report_paths.h"
#include "launcher/node/files/way_back.h"
#include "launcher/node/files/work_cache.h"
#include "launcher/node/words/file_words.h"
#include "launcher/node/words/node_words.h"
#include "launcher/wire/shim_protocol.h"
#include "runtime/event_loop.h"

namespace launcher {

// Prepares the directories that the attempts of a node find there (NodeFiles):
//
// - If the node can read the launcher's mark in a directory, both see the same file system, and the
//   attempt uses the launcher's own directory.
// - Another run directory is FOLDER/run, with params.json; $YARD_LOGDIR and $YARD_CONFIG name it.
//   It contains the checkpoint that the attempt starts from, at $YARD_CHECKPOINT. RunPlacesOf()
//   tells later that this was done.
// - Another working directory is the subdirectory of FOLDER/work, into which the archive is
//   unpacked. Without an archive it is the directory of the same path on this host, if that exists.
//
// Files are read and written on separate threads. Use on the loop's thread.
class AttemptFiles {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives this.
    std::string cache;                   // Directory of the cached archives (work_cache.h).
    std::uint64_t max_cache_bytes = std::uint64_t{4} << 30;
    std::function<void(const NodeWant&)> ask;  // As in WorkCache::Options.
    // Time limit for a file system that does not answer.
    absl::Duration look_limit = absl::Seconds(30);
  };
  // Gets the spec with the directories of this host. An error names the directory, the node and the
  // next step; Cancelled after Cancel().
  using Done = std::function<void(absl::StatusOr<ShimSpec>)>;

  explicit AttemptFiles(Options options);
  // Cancels all work, and waits some seconds for an archive that is being unpacked.
  ~AttemptFiles();
  AttemptFiles(const AttemptFiles&) = delete;
  AttemptFiles& operator=(const AttemptFiles&) = delete;

  // Prepares the files of an attempt in its own `folder`, which is created if it is to have files.
  // Calls `done` once, after the call has returned, unless this object is destroyed first; after
  // that nothing writes to the folder.
  void Prepare(const std::string& key, const std::string& folder, const NodeFiles& files,
               const ShimSpec& spec, Done done);
  void Cancel(const std::string& key);

  void OnConnected();
  void OnPiece(const NodeOrder& order);
  void OnList(const FileListAnswer& list);
  // Caches a file of a run directory from which later attempts may start, so that it is not
  // transferred again.
  void Remember(const std::string& path, const FileList::File& file);

 private:
  struct Item;
  struct Seen;

  static Seen Look(const NodeFiles& files, const ShimSpec& spec);
  Item* Find(const std::string& key, std::uint64_t number);
  // Runs `body` on a thread, and then calls `then` with the item, if it still exists.
  template <typename Result>
  void OnThread(const std::string& key, std::function<Result()> body,
                std::function<void(Item*, Result)> then);
  void OnSeen(const std::string& key, Item* item, const Seen& seen);
  void Fetch(const std::string& key, Item* item);
  void StartMaking(const std::string& key, Item* item);
  void OnMade(const std::string& key, Item* item, const absl::Status& made);
  void FetchCheckpoint(const std::string& key, Item* item);
  void OnReady(const std::string& key, Item* item);
  // Ends the item, and posts the call of its `done`.
  void Finish(const std::string& key, Item* item, absl::StatusOr<ShimSpec> result);

  const Options options_;
  const std::shared_ptr<WayBack> way_ = std::make_shared<WayBack>(options_.loop);
  WorkCache cache_;
  std::map<std::string, std::unique_ptr<Item>> items_;
  std::uint64_t last_number_ = 0;
};

// Returns both paths of the run directory of an attempt that was prepared in this folder, now or by
// an earlier process. nullopt if its run directory is the launcher's own, or it has none.
std::optional<RunPlaces> RunPlacesOf(const std::string& folder);

}  // namespace launcher

#endif  // LAUNCHER_NODE_FILES_ATTEMPT_FILES_H_

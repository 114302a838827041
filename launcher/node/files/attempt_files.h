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

// Gives the attempts of a node what they shall find there (NodeFiles):
//
// - Where the node reads the launcher's mark, the directory is the launcher's own, by a file system
//   that both see: it is used as it is.
// - Another run directory is FOLDER/run, with params.json; $YARD_LOGDIR and $YARD_CONFIG say so.
// The
//   checkpoint that the attempt starts from is in it, at $YARD_CHECKPOINT. RunPlacesOf() tells
//   later that it is so.
// - Another working directory is FOLDER/work, with the archive unpacked, and the subdirectory in
// it.
//   Without an archive it is the directory of the same path on this host, if there is one.
//
// Reading and writing is done on threads of its own. On the loop's thread.
class AttemptFiles {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives this.
    std::string cache;                   // Directory of the archives (work_cache.h).
    std::uint64_t max_cache_bytes = std::uint64_t{4} << 30;
    std::function<void(const NodeWant&)> ask;  // As in WorkCache::Options.
    // For a file system that does not answer.
    absl::Duration look_limit = absl::Seconds(30);
  };
  // The spec with the directories of this host. An error names the directory, the node and the next
  // step. Cancelled: Cancel() was called.
  using Done = std::function<void(absl::StatusOr<ShimSpec>)>;

  explicit AttemptFiles(Options options);
  // Waits some seconds for what is being unpacked, and gives it up.
  ~AttemptFiles();
  AttemptFiles(const AttemptFiles&) = delete;
  AttemptFiles& operator=(const AttemptFiles&) = delete;

  // `folder`: the attempt's own; made if it is to have files. Calls `done` once, never from within
  // this call; nothing writes to the folder any more then. (Unless this is destroyed before.)
  void Prepare(const std::string& key, const std::string& folder, const NodeFiles& files,
               const ShimSpec& spec, Done done);
  void Cancel(const std::string& key);

  void OnConnected();
  void OnPiece(const NodeOrder& order);
  void OnList(const FileListAnswer& list);
  // A file of a run directory that later attempts may start from: it need not come again.
  void Remember(const std::string& path, const FileList::File& file);

 private:
  struct Item;
  struct Seen;

  static Seen Look(const NodeFiles& files, const ShimSpec& spec);
  Item* Find(const std::string& key, std::uint64_t number);
  // Calls `then` with the item if it is still there, after `body` has run on a thread.
  template <typename Result>
  void OnThread(const std::string& key, std::function<Result()> body,
                std::function<void(Item*, Result)> then);
  void OnSeen(const std::string& key, Item* item, const Seen& seen);
  void Fetch(const std::string& key, Item* item);
  void StartMaking(const std::string& key, Item* item);
  void OnMade(const std::string& key, Item* item, const absl::Status& made);
  void FetchCheckpoint(const std::string& key, Item* item);
  void OnReady(const std::string& key, Item* item);
  // The end of the item, soon.
  void Finish(const std::string& key, Item* item, absl::StatusOr<ShimSpec> result);

  const Options options_;
  const std::shared_ptr<WayBack> way_ = std::make_shared<WayBack>(options_.loop);
  WorkCache cache_;
  std::map<std::string, std::unique_ptr<Item>> items_;
  std::uint64_t last_number_ = 0;
};

// Tells both places of the run directory of an attempt that was prepared in this folder, now or by
// an earlier process. Nothing: its run directory is the launcher's, or it has none.
std::optional<RunPlaces> RunPlacesOf(const std::string& folder);

}  // namespace launcher

#endif  // LAUNCHER_NODE_FILES_ATTEMPT_FILES_H_

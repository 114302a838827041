#ifndef LAUNCHER_NODE_REMOTE_ATTEMPT_H_
#define LAUNCHER_NODE_REMOTE_ATTEMPT_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "launcher/node/files/checkpoint_source.h"
#include "launcher/node/files/received_files.h"
#include "launcher/node/files/shared_marks.h"
#include "launcher/node/files/way_back.h"
#include "launcher/node/node_link.h"
#include "launcher/node/words/file_words.h"
#include "launcher/node/words/node_words.h"
#include "launcher/run/attempt.h"
#include "launcher/wire/shim_protocol.h"
#include "runtime/event_loop.h"
#include "runtime/file/unique_fd.h"
#include "runtime/timer.h"

namespace launcher {

// An attempt on another host. Its output is copied into files of this host; only copied output is
// reported, and the end is reported once all output is here.
//
// It is started at most once: the id of the node that is to start it is stored in the attempt's
// folder before the order is sent. A node starts a key at most once. If the node was started anew,
// and so has another id, it never gets the order, and the attempt is lost.
//
// If the node sees this host's working directory and, for a trial, the run directory (a shared file
// system), the attempt uses them; else NodeFiles describes what it finds there. To a node that does
// not see the run directory, the start checkpoint is copied, and everything that the attempt saves
// is copied back into the run directory here (checkpoint_source.h, received_files.h).
class RemoteAttempt final : public Attempt, public NodeLink::Attendant {
 public:
  // An archive with files for the attempt.
  struct Work {
    std::string path;  // On this host.
    std::string sha256;
    std::uint64_t bytes = 0;  // At most kMaxWork.
    std::string subdirectory = {};
  };
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned, like `node`; both outlive the attempt.
    NodeLink* node = nullptr;
    std::string key;                       // IsAttemptKey(); never reused.
    std::string folder;                    // The attempt's folder on this host.
    std::string stdout_path, stderr_path;  // On this host; their directory exists.
    std::function<ShimSpec()> spec;        // As in LocalAttempt::Options.
    std::optional<Work> work = {};         // Unset if no files are sent along.
    std::vector<int> lets_go = {};         // As in OtherHosts::Wanted.
    std::string probe = {};                // As in OtherHosts::Wanted.
    // As in SharedMarks::Options.
    std::function<bool(const std::string& path, const std::string& mark)> write_mark = {};
    // As in JobTable::Options.
    std::function<void(std::string_view point)> fault = {};
  };
  RemoteAttempt(Options options, Callbacks callbacks);
  ~RemoteAttempt() override;
  RemoteAttempt(const RemoteAttempt&) = delete;
  RemoteAttempt& operator=(const RemoteAttempt&) = delete;

  // Waits for a node that is not connected. Returns an error if the folder cannot be created.
  absl::Status Start() override;
  void Adopt() override;
  // The order is repeated to a node that reconnects.
  void Stop(int signal, absl::Duration grace) override;
  bool Signal(int signal) override;
  void AnswerBarrier(std::uint64_t number, std::string line) override;
  void Acknowledge() override;

  void OnConnected(const std::string& node) override;
  void OnNews(const NodeNews& news) override;
  void OnBytes(const NodeOutput& output) override;
  void OnWant(const NodeWant& want) override;
  void OnFilePart(FilePart part) override;
  void OnLost(const std::string& why) override;

 private:
  // An output stream of the attempt, stdout or stderr.
  struct Stream {
    std::string path;
    std::uint64_t base = 0;    // Length of the file before the attempt.
    std::uint64_t copied = 0;  // Bytes of the attempt that are in the file.
    std::uint64_t known = 0;   // Bytes that the node is known to have.
    bool asked = false;        // A kRead order is unanswered.
    bool at_end = false;       // Set after the end, when the node has no more bytes.
    runtime::UniqueFd file;
  };
  void Fault(std::string_view point) const {
    if (options_.fault) options_.fault(point);
  }
  absl::Status Store() const;
  bool Load();
  // Chooses the paths of the marks (NodeFiles) by which the node detects shared directories.
  void PlanMarks(const ShimSpec& spec);
  // Writes the planned marks, and then sends the order to the node.
  void WriteMarks();
  // Makes the description of the files that the attempt finds on its node.
  NodeFiles MakeFiles(const SharedMarks::Written& marks) const;
  void RemoveMarks();
  // Orders the connected node to start the attempt.
  void Tell(const std::string& spec);
  // Prepares the transfers for the run directory in the spec.
  void OpenRunFiles(const ShimSpec& spec);
  Stream& StreamOf(bool is_stderr) { return streams_[is_stderr ? 1 : 0]; }
  void OnState(const ShimState& state);
  // Requests output that is not here yet.
  void Read();
  void ReadAgainLater(const absl::Status& why);
  absl::Status Write(Stream& stream, const std::string& bytes);
  // Returns `state` with the offsets of this host's files.
  ShimState AsHere(ShimState state) const;
  void FinishIfCopied();
  void Finish(AttemptEnd end);
  void LeaveSoon();

  const Options options_;
  const Callbacks callbacks_;
  std::array<Stream, 2> streams_;
  std::string node_;  // Id of the node that was ordered to start it; empty if none was.
  SharedMarks::Plan marks_plan_;
  SharedMarks marks_;
  bool may_have_marks_ = false;       // Marks exist, or an earlier launcher may have left some.
  std::optional<std::string> files_;  // NodeFiles, encoded; set once the marks are written.
  std::unique_ptr<CheckpointSource> source_;  // Null if it starts from no checkpoint.
  std::unique_ptr<ReceivedFiles> received_;   // Null if it has no run directory.
  ShimState state_;                           // The latest state from the node.
  std::optional<NodeNews> end_;
  std::optional<NodeOrder> stop_;
  bool told_ = false;  // This or an earlier launcher may have sent the start order.
  bool running_ = false, ready_ = false, over_ = false, acknowledged_ = false, left_ = false;
  runtime::Timer timer_;  // Set until it tries again.
  const std::shared_ptr<WayBack> way_ = std::make_shared<WayBack>(options_.loop);
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_REMOTE_ATTEMPT_H_

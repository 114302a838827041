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

// An attempt on another host. Its output is copied into the files of this host, and what it is told
// to have said is what has been copied; its end comes once all of the output is here.
//
// It is started at most once: the id of the node that shall start it is stored in the attempt's
// folder before the node is told. That node starts a key once; another one (the node was started
// anew) is never told to, and the attempt is lost.
//
// Its working directory and, for a trial, its run directory are this host's where the node sees
// them; else NodeFiles says what it finds there. The checkpoint that it starts from goes to a node
// that does not see the run directory, and what it saves there comes into this one
// (checkpoint_source.h, received_files.h).
class RemoteAttempt final : public Attempt, public NodeLink::Attendant {
 public:
  // An archive with the files of the attempt.
  struct Work {
    std::string path;  // On this host.
    std::string sha256;
    std::uint64_t bytes = 0;  // At most kMaxWork.
    std::string subdirectory = {};
  };
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives the attempt, as the node does.
    NodeLink* node = nullptr;
    std::string key;                       // IsAttemptKey(); never used again.
    std::string folder;                    // The attempt's own, on this host.
    std::string stdout_path, stderr_path;  // On this host; their directory is there.
    std::function<ShimSpec()> spec;        // As in LocalAttempt::Options.
    std::optional<Work> work = {};         // Unset: no files come along.
    std::vector<int> lets_go = {};         // Likewise.
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

  // It waits for a node that is away. An error if the folder cannot be made.
  absl::Status Start() override;
  void Adopt() override;
  // It is said again to a node that comes back.
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
  // This is one of the two output streams.
  struct Stream {
    std::string path;
    std::uint64_t base = 0;    // Length of the file before the attempt.
    std::uint64_t copied = 0;  // Bytes of the attempt that are in the file.
    std::uint64_t known = 0;   // Bytes that the node has, as far as is known.
    bool asked = false;        // An answer is awaited.
    bool at_end = false;       // After the end: the node has no more.
    runtime::UniqueFd file;
  };
  void Fault(std::string_view point) const {
    if (options_.fault) options_.fault(point);
  }
  absl::Status Store() const;
  bool Load();
  // Chooses where marks are written (NodeFiles), for the node to find them.
  void PlanMarks(const ShimSpec& spec);
  // Writes the marks that are planned, and tells the node then.
  void WriteMarks();
  // Says what else the attempt finds on its node.
  NodeFiles MakeFiles(const SharedMarks::Written& marks) const;
  void RemoveMarks();
  // Tells the node of the attempt; it is connected.
  void Tell(const std::string& spec);
  // Takes up what the spec says of the run directory.
  void OpenRunFiles(const ShimSpec& spec);
  Stream& StreamOf(bool is_stderr) { return streams_[is_stderr ? 1 : 0]; }
  void OnState(const ShimState& state);
  // Asks for output that is not here yet.
  void Read();
  void ReadAgainLater(const absl::Status& why);
  absl::Status Write(Stream& stream, const std::string& bytes);
  // `state` with the offsets of this host's files.
  ShimState AsHere(ShimState state) const;
  void FinishIfCopied();
  void Finish(AttemptEnd end);
  void LeaveSoon();

  const Options options_;
  const Callbacks callbacks_;
  std::array<Stream, 2> streams_;
  std::string node_;  // The id of the one that was told to start it; empty: none.
  SharedMarks::Plan marks_plan_;
  SharedMarks marks_;
  bool may_have_marks_ = false;       // There are some, or an earlier launcher has left some.
  std::optional<std::string> files_;  // NodeFiles, encoded, once the marks are there.
  std::unique_ptr<CheckpointSource> source_;  // Null: it starts from no checkpoint.
  std::unique_ptr<ReceivedFiles> received_;   // Null: it has no run directory.
  ShimState state_;                           // As the node said it last.
  std::optional<NodeNews> end_;
  std::optional<NodeOrder> stop_;
  bool told_ = false;  // The node was told to start it, or may have been by an earlier launcher.
  bool running_ = false, ready_ = false, over_ = false, acknowledged_ = false, left_ = false;
  runtime::Timer timer_;  // Until it tries again.
  const std::shared_ptr<WayBack> way_ = std::make_shared<WayBack>(options_.loop);
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_REMOTE_ATTEMPT_H_

#ifndef LAUNCHER_NODE_WORDS_NODE_WORDS_H_
#define LAUNCHER_NODE_WORDS_NODE_WORDS_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/wire/shim_protocol.h"

namespace launcher {

// The messages of a launcher and a node (node_worker.h) are Records, one in each frame
// (node_frames.h). An attempt is identified by its key, which the launcher makes and never reuses.
// The node connects and sends NodeHello; the launcher answers kWelcome or kRefuse; after kWelcome
// both may send any message.

inline constexpr int kNodeProtocol = 2;

// The first message of a node; sent again when the node is about to leave.
struct NodeHello {
  int protocol = kNodeProtocol;
  // Random id of the node. It changes when the node's stub is started anew; no earlier attempt
  // lives then.
  std::string node = {};
  std::string host = {};  // The host name that the host itself reports.
  std::string boot = {};  // BootId() of that host.
  // The address at which other hosts reach it; empty if the node does not know it.
  std::string address = {};
  uid_t uid = 0;
  pid_t pid = 0;             // Pid of the worker.
  std::string version = {};  // Version of yard-node.
  std::uint64_t cpus = 0;
  std::uint64_t memory_bytes = 0;
  std::vector<std::string> gpus = {};  // Their UUIDs.
  // The run of the allocation to which this node belongs: "JOB.RESTARTS.RANDOM", which the batch
  // script of each run makes for all its nodes. Empty if the node belongs to no allocation.
  std::string run = {};
  // The node is being stopped and accepts no more attempts.
  bool leaving = false;
  std::vector<std::string> attempts = {};  // Keys of the attempts that the node has.

  bool operator==(const NodeHello&) const = default;
  std::string Encode() const;
  static std::optional<NodeHello> Decode(std::string_view bytes);
};

// News of one attempt. Each has a number, counted from 1 in each worker process, and is sent again
// on a new connection until a kHeard acknowledges it. News are idempotent: a state is complete, a
// barrier has its own number, and kOver and kLeft are final.
struct NodeNews {
  enum class Kind {
    kState,    // The program runs, is ready, or has written more output.
    kBarrier,  // The program waits at a barrier.
    kOver,     // The attempt has ended; all fields of its end are set. Its files are kept.
    kLeft,     // Answer to NodeOrder::kAcknowledge: the node has removed the attempt.
    kProbe,    // Its liveness probe fails for a new reason, succeeds again, or gives up.
  };
  std::uint64_t number = 0;
  std::string attempt = {};
  Kind kind = Kind::kState;
  // kState, kOver. Its offsets begin at 0, since the node's output files contain only this attempt.
  ShimState state = {};
  ShimBarrier barrier = {};  // kBarrier.
  bool lost = false;         // The next three are as in AttemptEnd.
  bool shim_lost = false;
  std::string how = {};
  // kProbe: why the latest check has failed; empty if it succeeded.
  std::string look = {};
  // kProbe: why the attempt must be ended; empty if it need not be.
  std::string failed = {};

  bool operator==(const NodeNews&) const = default;
  std::string Encode() const;
  static std::optional<NodeNews> Decode(std::string_view bytes);
};

// A piece of an attempt's output: the answer to kRead. Without bytes, the file has no more, or the
// attempt no longer exists.
struct NodeOutput {
  std::string attempt = {};
  bool is_stderr = false;
  std::uint64_t offset = 0;
  std::string bytes = {};  // At most kMaxNodeOutput.

  bool operator==(const NodeOutput&) const = default;
  std::string Encode() const;
  static std::optional<NodeOutput> Decode(std::string_view bytes);
};
inline constexpr std::size_t kMaxNodeOutput = 64 << 10;

// Requests a piece of an archive, on behalf of an attempt whose files are in it. The launcher
// answers with NodeOrder::kWork. The files of the start checkpoint and their list (file_words.h)
// are requested in the same way.
struct NodeWant {
  std::string attempt = {};
  // SHA-256 of the archive; if empty, the list of `checkpoint` is requested.
  std::string work = {};
  std::uint64_t offset = 0;
  std::string checkpoint = {};  // Path below the run directory.

  bool operator==(const NodeWant&) const = default;
  std::string Encode() const;
  static std::optional<NodeWant> Decode(std::string_view bytes);
};
inline constexpr std::size_t kMaxWorkPiece = 512 << 10;
inline constexpr std::uint64_t kMaxWork = std::uint64_t{1} << 30;  // Bytes of an archive.

// The files that an attempt finds on its node (attempt_files.h).
struct NodeFiles {
  std::string node = {};  // The node's name, for messages.
  // Paths of marks: files with the content `mark` that the launcher has written for this attempt
  // into the run directory and the working directory. A node that can read the mark sees the
  // launcher's directory. Empty if no file could be written.
  std::string run_mark = {}, work_mark = {};
  std::string mark = {};    // Random.
  std::string config = {};  // Content of the file $YARD_CONFIG.
  // SHA-256 of an archive with the attempt's files; empty if it has no archive.
  std::string work = {};
  std::uint64_t work_bytes = 0;
  std::string subdirectory = {};  // Relative path of the working directory in the archive.
  // The launcher supports the transfer of files if the node does not see the run directory.
  bool run_files_travel = false;

  bool operator==(const NodeFiles&) const = default;
  std::string Encode() const;
  static std::optional<NodeFiles> Decode(std::string_view bytes);
};

// A message of the launcher.
struct NodeOrder {
  enum class Kind {
    kWelcome,      // The node may continue.
    kRefuse,       // Refuses the node: `line` says why, and `for_good` that it will always be
                   // refused. The connection ends.
    kHeard,        // News up to `number` need not be sent again.
    kStart,        // Starts the attempt from `spec`; no effect if the node already has it.
    kStop,         // Sends `signal`, and after `grace_ms` kills the whole process tree.
    kSignal,       // Sends `signal` to its process group.
    kBarrier,      // Answers barrier `number` with `line`.
    kAcknowledge,  // Its end is stored: the node removes the attempt and sends kLeft.
    kDiscard,      // The launcher does not know it: it is killed, and removed as if acknowledged.
    kRead,         // Requests output from `offset` on.
    kWork,         // `bytes` of the archive `work` from `offset` on; without, `line` says why.
    kUsage,        // Requests the usage of all attempts; the answer (node_usage.h) has `number`.
    kTakePorts,    // Requests `count` ports for `job`; the answer (node_ports.h) has `number`.
    kKeepPorts,    // Releases the ports of all jobs except `jobs`.
  };
  Kind kind = Kind::kWelcome;
  std::string attempt = {};
  std::string spec = {};   // A ShimSpec::Encode(). The node replaces files, sockets and owner by
                           // its own.
  std::string files = {};  // A NodeFiles::Encode(), for kStart; empty if all is as in the spec.
  std::vector<int> lets_go = {};  // For kStart: ports that its program binds exclusively.
  // For kStart: EncodeProbe() of a probe that runs on its host; empty if it has none.
  std::string probe = {};
  int signal = 0;
  std::int64_t grace_ms = 0;
  std::uint64_t number = 0;
  std::string line = {};
  bool is_stderr = false;
  std::uint64_t offset = 0;
  std::string work = {};
  std::string bytes = {};  // At most kMaxWorkPiece.
  std::string job = {};
  std::vector<std::string> jobs = {};
  std::uint64_t count = 0;
  bool for_good = false;

  bool operator==(const NodeOrder&) const = default;
  std::string Encode() const;
  static std::optional<NodeOrder> Decode(std::string_view bytes);
};

// True for a valid key of an attempt, which can be the name of a folder: at most 100 characters of
// [a-z0-9.-], and no "." at the front.
bool IsAttemptKey(std::string_view key);

}  // namespace launcher

#endif  // LAUNCHER_NODE_WORDS_NODE_WORDS_H_

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

// The words of a launcher and a node (node_worker.h) are Records, one in each frame
// (node_frames.h). An attempt is known by its key, which the launcher makes and never uses again.
// The node connects and says NodeHello; the launcher answers kWelcome or kRefuse, and then both say
// what they have.

inline constexpr int kNodeProtocol = 2;

// The first word of a node; said again when the node is about to leave.
struct NodeHello {
  int protocol = kNodeProtocol;
  // Random; another one after the node's stub was started anew: then no attempt of before lives.
  std::string node = {};
  std::string host = {};  // The host's own name for itself.
  std::string boot = {};  // BootId() there.
  // Where other hosts reach it, as far as the node knows; empty: it does not.
  std::string address = {};
  uid_t uid = 0;
  pid_t pid = 0;             // The worker's.
  std::string version = {};  // yard-node's own.
  std::uint64_t cpus = 0;
  std::uint64_t memory_bytes = 0;
  std::vector<std::string> gpus = {};  // Their UUIDs.
  // The run of its allocation to which this node belongs. The batch script of each run makes one
  // for all its nodes, "JOB.RESTARTS.RANDOM". Empty: the node is of no allocation.
  std::string run = {};
  bool leaving = false;                    // It is being stopped, and takes no attempt any more.
  std::vector<std::string> attempts = {};  // Keys of those that the node has.

  bool operator==(const NodeHello&) const = default;
  std::string Encode() const;
  static std::optional<NodeHello> Decode(std::string_view bytes);
};

// News of one attempt. Each has a number, from 1 in each worker's life, and is said again on a new
// connection until a kHeard has covered it. News that are heard twice change nothing: a state is
// all that is known, a barrier has its own number, and over and left are said for good.
struct NodeNews {
  enum class Kind {
    kState,    // The program runs, is ready, or has said more.
    kBarrier,  // It waits at a barrier.
    kOver,     // The attempt has ended; all fields of the end are set. Its files are kept.
    kLeft,     // After NodeOrder::kAcknowledge: the node has nothing of it any more.
    kProbe,    // Its liveness probe fails for another reason, does not fail any more, or gives up.
  };
  std::uint64_t number = 0;
  std::string attempt = {};
  Kind kind = Kind::kState;
  // kState, kOver. Its offsets begin at 0: the node's files are the attempt's own.
  ShimState state = {};
  ShimBarrier barrier = {};  // kBarrier.
  bool lost = false;         // These three as in AttemptEnd.
  bool shim_lost = false;
  std::string how = {};
  // kProbe. Why the last look has failed; empty: it has not.
  std::string look = {};
  // kProbe. Why the attempt has to be ended; empty: it has not to be.
  std::string failed = {};

  bool operator==(const NodeNews&) const = default;
  std::string Encode() const;
  static std::optional<NodeNews> Decode(std::string_view bytes);
};

// Bytes of an attempt's output, as a kRead has asked for. None: the file has no more, or is gone.
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

// Asks for a piece of an archive, in the name of an attempt whose files are in it. The launcher
// answers with NodeOrder::kWork. A file of the checkpoint that the attempt starts from comes in the
// same way, and so does the list of them (file_words.h).
struct NodeWant {
  std::string attempt = {};
  std::string work = {};  // SHA-256 of the archive. Empty: asks for the list of `checkpoint`.
  std::uint64_t offset = 0;
  std::string checkpoint = {};  // Path below the run directory.

  bool operator==(const NodeWant&) const = default;
  std::string Encode() const;
  static std::optional<NodeWant> Decode(std::string_view bytes);
};
inline constexpr std::size_t kMaxWorkPiece = 512 << 10;
inline constexpr std::uint64_t kMaxWork = std::uint64_t{1} << 30;  // Bytes of an archive.

// Files that an attempt shall find on its node (attempt_files.h).
struct NodeFiles {
  std::string node = {};  // The node's name, for people.
  // Paths of files that the launcher has written for this attempt, with `mark` as content, into the
  // run directory and the working directory. A node that reads the mark there sees the launcher's
  // directory. Empty: no file could be written.
  std::string run_mark = {}, work_mark = {};
  std::string mark = {};    // Random.
  std::string config = {};  // Content of the file $YARD_CONFIG.
  std::string work = {};    // SHA-256 of an archive with the attempt's files; empty: none.
  std::uint64_t work_bytes = 0;
  std::string subdirectory = {};  // The working directory in it; relative.
  // The launcher takes and gives the files of a run directory that the node does not see.
  bool run_files_travel = false;

  bool operator==(const NodeFiles&) const = default;
  std::string Encode() const;
  static std::optional<NodeFiles> Decode(std::string_view bytes);
};

// A word of the launcher.
struct NodeOrder {
  enum class Kind {
    kWelcome,      // The node may go on.
    kRefuse,       // It may not: `line` says why, and `for_good` that it never may. The
                   // connection ends.
    kHeard,        // News up to `number` need not be said again.
    kStart,        // Starts the attempt from `spec`; one that the node has already goes on.
    kStop,         // `signal`, and after `grace_ms` the whole tree is killed.
    kSignal,       // To its process group, and nothing more.
    kBarrier,      // Answers barrier `number` with `line`.
    kAcknowledge,  // Its end is stored: the node removes what it has of it, and says kLeft.
    kDiscard,      // Nobody wants it: it is killed, and removed as if acknowledged.
    kRead,         // Asks for output from `offset` on.
    kWork,         // `bytes` of the archive `work` from `offset` on; none: `line` says why.
    kUsage,        // Asks what all attempts use: the answer (node_usage.h) has this `number`.
    kTakePorts,    // `job` shall have `count` ports: the answer (node_ports.h) has this `number`.
    kKeepPorts,    // No other jobs than `jobs` have ports any more.
  };
  Kind kind = Kind::kWelcome;
  std::string attempt = {};
  std::string spec = {};   // A ShimSpec::Encode(). The node sets what it knows better: files,
                           // sockets and owner.
  std::string files = {};  // A NodeFiles::Encode(), for kStart. Empty: all is as the spec says.
  std::vector<int> lets_go = {};  // For kStart: ports that its program binds alone.
  std::string probe = {};  // For kStart: EncodeProbe() of a probe of its host; empty: it has none.
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

// Whether a key of an attempt can be the name of a folder: [a-z0-9.-], not "." first, 100 at most.
bool IsAttemptKey(std::string_view key);

}  // namespace launcher

#endif  // LAUNCHER_NODE_WORDS_NODE_WORDS_H_

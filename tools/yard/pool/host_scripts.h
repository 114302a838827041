#ifndef TOOLS_YARD_POOL_HOST_SCRIPTS_H_
#define TOOLS_YARD_POOL_HOST_SCRIPTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/yard/pool/bundle.h"

namespace yard {

// Scripts for a host's POSIX shell, and their answers. A script is one line, sent as the first
// line of stdin, so that the login shell, whichever it is, only has to run kReadScript. An
// answer is a line that begins with "yard-pool: "; other lines are output of the shell's startup
// files.
//
// A node's directory on its host is BASE/yard-KEY (mode 0700), where BASE is the first of $TMPDIR,
// /tmp, /var/tmp and $HOME that allows programs to run. It contains:
//   b-DIGEST/       a bundle; it appears atomically
//   n/              the folder of yard-node (launcher/node/); n/lock has the pid of its stub
//   l, t            the forwarded sockets of the launcher and of the trainer
//   log, log.old    the output of yard-node
inline constexpr char kReadScript[] = "exec sh -c 'IFS= read -r s && eval \"$s\"'";

// Returns a key for the directory's name that is unique to this node.
std::string KeyOfNode(const std::string& state_directory, const std::string& node);

// Finds or makes the directory, and removes the forwarded sockets of an earlier connection. Changes
// nothing else if a node runs there. Uses the digest and the file names of `bundle`.
std::string PrepareScript(const std::string& key, const Bundle& bundle);
struct Prepared {
  std::string machine;    // Output of `uname -s -m`: "Linux x86_64".
  std::string directory;  // A path that no shell changes.
  bool has_bundle = false;
  std::int64_t pid = 0;  // Pid of the node that runs there; 0 if none runs.
};
// Unavailable if the host has no usable directory, with the reason. NotFound without an answer.
absl::StatusOr<Prepared> ReadPrepared(std::string_view output);

// Reads the bundle from stdin after the script, answers kCopied, and removes other bundles. In the
// payload, every file begins at a multiple of kPayloadBlock.
inline constexpr std::size_t kPayloadBlock = 64 << 10;
inline constexpr char kCopied[] = "copied";
std::string CopyScript(const std::string& directory, const Bundle& bundle);
std::string PayloadOf(const Bundle& bundle);

// Starts the node unless it runs, and answers kUp and its pid, or kCannot and the reason. Then
// checks for each input line that the node still runs, and answers kEnded if it does not. The
// script ends with stdin; the node keeps running.
inline constexpr char kUp[] = "up", kCannot[] = "failed", kEnded[] = "ended";
std::string HoldScript(const std::string& directory, const std::string& digest);

// Only answers, to test the connection.
std::string HelloScript();

// Stops the node with SIGTERM, waits for its end, removes the directory, and answers kRemoved; or
// kCannot and the reason.
inline constexpr char kRemoved[] = "removed";
std::string RemoveScript(const std::string& key);

// Returns the first answer in the output: "up 123" for kUp. Nothing if none has arrived yet.
std::optional<std::string> AnswerIn(std::string_view output);

}  // namespace yard

#endif  // TOOLS_YARD_POOL_HOST_SCRIPTS_H_

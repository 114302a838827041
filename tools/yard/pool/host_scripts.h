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

// Scripts for the POSIX shell of a host, and its answers. A script is one line. It comes as
// the first line of stdin, so that the login shell there, whatever it is, has only kReadScript to
// read. An answer is a line that begins with "yard-pool: "; other lines are what start files of the
// shell print.
//
// The directory of a node on its host is BASE/yard-KEY, 0700, where BASE is the first of $TMPDIR,
// /tmp, /var/tmp and $HOME where programs can run. In it:
//   b-DIGEST/       a bundle; it is there only as a whole
//   n/              the folder of yard-node (launcher/node/); n/lock names the process of its stub
//   l, t            the forwarded sockets of the launcher and of the trainer
//   log, log.old    what yard-node says
inline constexpr char kReadScript[] = "exec sh -c 'IFS= read -r s && eval \"$s\"'";

// A name for the directory that no other node has.
std::string KeyOfNode(const std::string& state_directory, const std::string& node);

// Finds the directory, or makes it, and removes forwarded sockets of an earlier connection. Changes
// nothing else if a node runs there. `digest`, `files`: those of the bundle.
std::string PrepareScript(const std::string& key, const Bundle& bundle);
struct Prepared {
  std::string machine;    // As `uname -s -m` says it: "Linux x86_64".
  std::string directory;  // A plain path.
  bool has_bundle = false;
  std::int64_t pid = 0;  // The process id of the node that runs there; 0 if no node runs.
};
// Unavailable: the answer is that nothing can be there, and why. NotFound: there is no answer.
absl::StatusOr<Prepared> ReadPrepared(std::string_view output);

// Takes the bundle from stdin, behind the script, and answers kCopied. Removes other bundles.
// The payload has every file at a multiple of kPayloadBlock.
inline constexpr std::size_t kPayloadBlock = 64 << 10;
inline constexpr char kCopied[] = "copied";
std::string CopyScript(const std::string& directory, const Bundle& bundle);
std::string PayloadOf(const Bundle& bundle);

// Starts the node unless it runs, and answers kUp and its pid, or kCannot and why. Then it looks
// for each line that comes whether the node still runs, and answers kEnded if it does not. Ends
// with stdin; the node does not.
inline constexpr char kUp[] = "up", kCannot[] = "failed", kEnded[] = "ended";
std::string HoldScript(const std::string& directory, const std::string& digest);

// Does nothing but answer.
std::string HelloScript();

// Stops the node there with SIGTERM, waits for its end, removes the directory, and answers
// kRemoved; or kCannot and why.
inline constexpr char kRemoved[] = "removed";
std::string RemoveScript(const std::string& key);

// The first answer in the output: "up 123" for kUp. Nothing if no answer has come yet.
std::optional<std::string> AnswerIn(std::string_view output);

}  // namespace yard

#endif  // TOOLS_YARD_POOL_HOST_SCRIPTS_H_

#ifndef TOOLS_YARD_ALONG_ALONG_FLAGS_H_
#define TOOLS_YARD_ALONG_ALONG_FLAGS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/schema/launcher_generated.h"
#include "tools/yard/cli/context.h"
#include "tools/yard/cli/option_set.h"

namespace yard {

// Limit of the total size, in bytes, of files that git does not track.
inline constexpr std::uint64_t kMaxUntracked = std::uint64_t{256} << 20;

// The flag --sync DIR, and the files that accompany a job or a trial to the nodes of a pool (--at
// POOL). Must outlive the OptionSet that parses into it.
class AlongFlags {
 public:
  // Declares the flag, hidden from the help.
  void Declare(OptionSet& options) { options.Hidden("--sync", sync_); }
  // InvalidArgument for --sync without a pool.
  absl::Status Check(const std::string& pool) const;

  // Writes the archive of the files that a program started in `directory` needs on a pool's nodes:
  // the current files of the git work tree around it, tracked or untracked but not ignored; with
  // --sync, the files below DIR. Returns null if there is nothing to copy, because the directory is
  // in no work tree. Leaves out the directories of runs and of the yard's state. Prints a note
  // about skipped links to context.err. Blocks.
  absl::StatusOr<std::unique_ptr<msg::WorkT>> Archive(const Context& context,
                                                      const std::string& directory) const;

 private:
  std::string sync_;
};

}  // namespace yard

#endif  // TOOLS_YARD_ALONG_ALONG_FLAGS_H_

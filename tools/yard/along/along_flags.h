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

// Files that git does not know come along up to so many bytes together.
inline constexpr std::uint64_t kMaxUntracked = std::uint64_t{256} << 20;

// The flag --sync DIR, and the files that come along with a job or a trial to the nodes of a pool
// (--at POOL). The object outlives the OptionSet that parses into it.
class AlongFlags {
 public:
  // Without a line of help.
  void Declare(OptionSet& options) { options.Hidden("--sync", sync_); }
  // InvalidArgument: --sync without a pool.
  absl::Status Check(const std::string& pool) const;

  // Writes the archive of the files for a program that starts in `directory`, to run in a pool:
  // those of the work tree of git around it, as they are now, with those that git does not know and
  // does not ignore; with --sync those below DIR. Null: nothing comes along, for the directory is
  // in no work tree. The directories of runs and of the yard's state do not come along. A note
  // about links that do not goes to context.err. Blocks.
  absl::StatusOr<std::unique_ptr<msg::WorkT>> Archive(const Context& context,
                                                      const std::string& directory) const;

 private:
  std::string sync_;
};

}  // namespace yard

#endif  // TOOLS_YARD_ALONG_ALONG_FLAGS_H_

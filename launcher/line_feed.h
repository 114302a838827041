#ifndef LAUNCHER_LINE_FEED_H_
#define LAUNCHER_LINE_FEED_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/unique_fd.h"

namespace launcher {

// Cuts a growing log file into whole lines, in batches. Not thread safe.
//
// Bounded: a batch is at most 256 lines or 64 KiB, a longer line comes in pieces, and when the
// file is more than 1 MiB ahead the lines in between are left out (who wants every byte reads
// the file).
class LineFeed {
 public:
  using Sink = std::function<void(std::uint64_t end_offset, std::vector<std::string> lines)>;

  // From byte `begin` of `path` on.
  LineFeed(std::string path, std::uint64_t begin, Sink sink);

  // The file is now `end` bytes long; `final`: for good, so a last line without a newline counts.
  void Advance(std::uint64_t end, bool final);

 private:
  // Passes on the whole lines of `bytes`, which begin at offset_; returns the bytes taken.
  std::size_t PassOn(const std::string& bytes, bool all);

  const std::string path_;
  const Sink sink_;
  runtime::UniqueFd file_;
  std::uint64_t offset_;
};

}  // namespace launcher

#endif  // LAUNCHER_LINE_FEED_H_

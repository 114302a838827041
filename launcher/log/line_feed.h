#ifndef LAUNCHER_LOG_LINE_FEED_H_
#define LAUNCHER_LOG_LINE_FEED_H_

#include <cstdint>
#include <functional>
#include <string>

#include "launcher/log/line_reader.h"

namespace launcher {

// Passes the lines of a growing log file on, in the batches of a LineReader. Not thread safe.
//
// Each batch begins where the one before it ends, but when the file is more than 1 MiB ahead, the
// lines in between are left out (who wants every byte reads the file).
class LineFeed {
 public:
  using Sink = std::function<void(LineBatch batch)>;

  // From byte `begin` of `path` on.
  LineFeed(std::string path, std::uint64_t begin, Sink sink);

  // The file is now `end` bytes long; `final`: for good, so a last line without a newline counts.
  void Advance(std::uint64_t end, bool final);

 private:
  LineReader reader_;
  const Sink sink_;
};

}  // namespace launcher

#endif  // LAUNCHER_LOG_LINE_FEED_H_

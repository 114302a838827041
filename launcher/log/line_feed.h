#ifndef LAUNCHER_LOG_LINE_FEED_H_
#define LAUNCHER_LOG_LINE_FEED_H_

#include <cstdint>
#include <functional>
#include <string>

#include "launcher/log/line_reader.h"

namespace launcher {

// Passes on the lines of a growing log file, in the batches of a LineReader. Not thread-safe.
//
// Each batch begins where the one before it ended; but when the feed lags more than 1 MiB behind
// the file, it skips lines (a client that needs every byte reads the file).
class LineFeed {
 public:
  using Sink = std::function<void(LineBatch batch)>;

  // Starts at byte `begin` of `path`.
  LineFeed(std::string path, std::uint64_t begin, Sink sink);

  // Sets the present length of the file, `end` bytes. With `final` the file is complete, so that a
  // last line without a newline counts.
  void Advance(std::uint64_t end, bool final);

 private:
  LineReader reader_;
  const Sink sink_;
};

}  // namespace launcher

#endif  // LAUNCHER_LOG_LINE_FEED_H_

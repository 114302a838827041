#include "launcher/log/line_feed.h"

#include <utility>

namespace launcher {
namespace {

constexpr std::uint64_t kMaxBehind = 1 << 20;

}  // namespace

LineFeed::LineFeed(std::string path, std::uint64_t begin, Sink sink)
    : reader_(std::move(path), begin), sink_(std::move(sink)) {}

void LineFeed::Advance(std::uint64_t end, bool final) {
  if (end > reader_.offset() + kMaxBehind) reader_.SkipTo(end - kMaxBehind, end);
  while (auto batch = reader_.Next(end, final)) sink_(*std::move(batch));
}

}  // namespace launcher

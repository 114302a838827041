#include "launcher/line_feed.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

namespace launcher {
namespace {

constexpr std::size_t kBatchBytes = 64 * 1024;
constexpr std::size_t kBatchLines = 256;
constexpr std::uint64_t kMaxBehind = 1 << 20;

}  // namespace

LineFeed::LineFeed(std::string path, std::uint64_t begin, Sink sink)
    : path_(std::move(path)), sink_(std::move(sink)), offset_(begin) {}

void LineFeed::Advance(std::uint64_t end, bool final) {
  if (!file_.valid()) file_ = runtime::UniqueFd(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file_.valid()) return;
  bool skipped = false;
  if (end > offset_ + kMaxBehind) {
    offset_ = end - kMaxBehind;
    skipped = true;
  }
  std::string bytes;
  while (offset_ < end) {
    bytes.resize(std::min<std::uint64_t>(end - offset_, kBatchBytes));
    const ssize_t got = pread(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset_));
    if (got <= 0) return;
    bytes.resize(static_cast<std::size_t>(got));
    if (std::exchange(skipped, false)) {
      // In the middle of a line: go on at the next one.
      const auto newline = bytes.find('\n');
      offset_ += newline == std::string::npos ? bytes.size() : newline + 1;
      continue;
    }
    const bool at_end = offset_ + bytes.size() >= end;
    const std::size_t taken = PassOn(bytes, (final && at_end) || bytes.size() == kBatchBytes);
    if (taken == 0) return;
    offset_ += taken;
  }
}

std::size_t LineFeed::PassOn(const std::string& bytes, bool all) {
  std::vector<std::string> lines;
  std::size_t taken = 0;
  while (taken < bytes.size() && lines.size() < kBatchLines) {
    const auto newline = bytes.find('\n', taken);
    // A piece without a newline only counts if nothing else would get through.
    if (newline == std::string::npos && !(all && (lines.empty() || bytes.size() < kBatchBytes))) {
      break;
    }
    const std::size_t stop = std::min(newline, bytes.size());
    lines.push_back(bytes.substr(taken, stop - taken));
    taken = newline == std::string::npos ? bytes.size() : newline + 1;
  }
  if (!lines.empty()) sink_(offset_ + taken, std::move(lines));
  return taken;
}

}  // namespace launcher

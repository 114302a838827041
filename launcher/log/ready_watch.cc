#include "launcher/log/ready_watch.h"

#include <utility>

namespace launcher {

ReadyWatch::ReadyWatch(FollowPace* pace, std::unique_ptr<ReadyPattern> pattern, LineReader out,
                       LineReader errors, std::function<void()> found)
    : pace_(pace), found_(std::move(found)), pattern_(std::move(pattern)) {
  streams_.push_back({std::move(out), 0});
  streams_.push_back({std::move(errors), 0});
}

void ReadyWatch::Advance(std::uint64_t out_end, std::uint64_t errors_end) {
  if (is_found_) return;
  SetEnds(out_end, errors_end);
  Look();
}

void ReadyWatch::Finish(std::uint64_t out_end, std::uint64_t errors_end) {
  if (is_found_) return;
  SetEnds(out_end, errors_end);
  const std::uint64_t most = BytesRead() + kMaxAtEnd;
  while (BytesRead() < most && LookOn(true)) {
  }
  if (is_found_) Tell();
}

void ReadyWatch::SetEnds(std::uint64_t out_end, std::uint64_t errors_end) {
  streams_[0].end = out_end;
  streams_[1].end = errors_end;
}

std::uint64_t ReadyWatch::BytesRead() const {
  std::uint64_t bytes = 0;
  for (const Stream& stream : streams_) bytes += stream.reader.bytes_read();
  return bytes;
}

// Reads one batch of each stream, so that neither stream is delayed by the other. Returns false if
// no stream had a batch, or the line is found.
bool ReadyWatch::LookOn(bool rest) {
  bool any = false;
  for (Stream& stream : streams_) {
    const auto batch = stream.reader.Next(stream.end, rest);
    any |= batch.has_value();
    is_found_ |= batch && pattern_->MatchesAny(batch->lines);
  }
  return any && !is_found_;
}

void ReadyWatch::Look() {
  bool more = true;
  while (more && pace_->has_room()) {
    const std::uint64_t before = BytesRead();
    more = LookOn(false);
    const std::uint64_t read = BytesRead() - before;
    if (read > 0) pace_->Spend(static_cast<std::int64_t>(read));
  }
  if (is_found_) return Tell();
  if (!more || std::exchange(waits_, true)) return;
  pace_->WhenRoom([this, alive = alive_] {
    if (!*alive) return;
    waits_ = false;
    if (!is_found_) Look();
  });
}

void ReadyWatch::Tell() {
  streams_.clear();
  pattern_.reset();
  found_();
}

}  // namespace launcher

#include "bus/call/call_retry.h"

#include <algorithm>
#include <cstdint>

namespace bus {
namespace {

constexpr absl::Duration kLongTry = absl::Seconds(10);

enum class Kind { kAnswer, kPasses, kDefect };

Kind KindOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kResourceExhausted:
      return Kind::kPasses;
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
      return Kind::kDefect;
    default:
      return Kind::kAnswer;
  }
}

}  // namespace

absl::Duration GrowingPause(int failures, absl::Duration first, absl::Duration longest) {
  return std::min(first * (std::int64_t{1} << std::clamp(failures - 1, 0, 30)), longest);
}

std::optional<absl::Duration> CallRetry::After(const absl::Status& error, absl::Duration took) {
  const Kind kind = KindOf(error.code());
  if (took >= kLongTry) failures_ = defects_ = 0;
  ++failures_;
  defects_ = kind == Kind::kDefect ? defects_ + 1 : 0;
  is_news_ = failures_ == 1 || error.code() != last_;
  last_ = error.code();
  if (kind == Kind::kAnswer || defects_ > kMaxDefects) return std::nullopt;
  if (!absl::IsResourceExhausted(error)) in_doubt_ = true;
  return GrowingPause(failures_, kFirstPause, kLongestPause);
}

}  // namespace bus

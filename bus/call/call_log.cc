#include "bus/call/call_log.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "runtime/text/printable.h"

namespace bus {
namespace {

constexpr std::size_t kMaxKnown = 1024;

// Describes the caller, without characters that could control a terminal.
std::string InWords(const CallContext& context) {
  return absl::StrCat("pid ", context.pid, ", request ", runtime::Printable(context.request_id),
                      ", trace ", runtime::Printable(context.trace));
}

}  // namespace

std::optional<std::string> CallLog::LineLimit::Take(absl::Duration now) {
  if (now - began_ >= absl::Seconds(1)) {
    began_ = now;
    lines_ = 0;
  }
  if (++lines_ > a_second_) {
    ++left_out_;
    return std::nullopt;
  }
  const std::uint64_t left_out = std::exchange(left_out_, 0);
  return left_out == 0 ? "" : absl::StrCat(" (", left_out, " before it are not logged)");
}

void CallLog::OnChange(const MethodInfo& method, const CallContext& context, absl::Duration now) {
  std::optional<std::string> more;
  {
    runtime::MutexLock lock(mutex_);
    if (method.idempotency == Idempotency::kIdempotent && !context.trace.empty() &&
        context.trace == context.request_id) {
      if (known_.size() >= kMaxKnown) known_.clear();
      if (!known_.emplace(context.pid, method.name).second) return;
    }
    more = change_lines_.Take(now);
  }
  if (!more.has_value()) return;
  LOG(INFO) << service_ << "." << method.name << ": " << InWords(context) << *more;
}

void CallLog::OnError(std::string_view method, const CallContext& context,
                      const absl::Status& error, absl::Duration now) {
  if (absl::IsCancelled(error)) return;  // The caller no longer wants the answer.
  std::optional<std::string> more;
  {
    runtime::MutexLock lock(mutex_);
    more = error_lines_.Take(now);
  }
  if (!more.has_value()) return;
  LOG(INFO) << service_ << "." << method << " failed: " << runtime::Printable(error.ToString())
            << ": " << InWords(context) << *more;
}

void CallLog::OnEnd(const MethodInfo& method, absl::Duration took, bool error) {
  const auto us = static_cast<std::uint64_t>(absl::ToInt64Microseconds(took));
  const int bucket = std::min(kBuckets - 1, static_cast<int>(std::bit_width(us)));
  runtime::MutexLock lock(mutex_);
  Counts& of = counts_[std::string(method.name)];
  ++of.count;
  of.errors += error ? 1 : 0;
  of.sum_us += us;
  ++of.buckets[static_cast<std::size_t>(bucket)];
}

std::map<std::string, CallLog::Counts> CallLog::counts() const {
  runtime::MutexLock lock(mutex_);
  return counts_;
}

}  // namespace bus

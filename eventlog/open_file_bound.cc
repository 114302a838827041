#include "eventlog/open_file_bound.h"

#include <algorithm>

namespace eventlog {
namespace {

// Reserved for sockets, databases, logs, and directories that are being listed.
constexpr std::uint64_t kOtherFiles = 40;

}  // namespace

OpenFileBound::OpenFileBound(int files) : free_(std::max(files, 1)) {}

int OpenFileBound::For(int threads, std::uint64_t file_limit) {
  const std::uint64_t left = file_limit > kOtherFiles ? (file_limit - kOtherFiles) / 2 : 0;
  const auto wanted = static_cast<std::uint64_t>(std::max(threads, 1)) * 2;
  return static_cast<int>(std::max<std::uint64_t>(2, std::min(wanted, left)));
}

OpenFileBound::Slot::Slot(OpenFileBound* bound) : bound_(bound) {
  if (bound_ == nullptr) return;
  runtime::MutexLock lock(bound_->mutex_);
  while (bound_->free_ == 0) bound_->free_again_.Wait(bound_->mutex_);
  --bound_->free_;
}

OpenFileBound::Slot::~Slot() {
  if (bound_ == nullptr) return;
  runtime::MutexLock lock(bound_->mutex_);
  ++bound_->free_;
  bound_->free_again_.Signal();
}

}  // namespace eventlog

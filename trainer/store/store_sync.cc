#include "trainer/store/store_sync.h"

#include <algorithm>
#include <utility>

namespace trainer {

StoreSync::StoreSync(Options options) : options_(std::move(options)) {}

StoreSync::~StoreSync() { options_.loop->Cancel(timer_); }

void StoreSync::Soon() {
  if (!since_) since_ = options_.clock->Monotonic();
  Plan();
}

void StoreSync::Plan() {
  if (!since_ || timer_ != 0 || syncs_) return;
  const absl::Duration age = options_.clock->Monotonic() - *since_;
  timer_ =
      options_.loop->RunAfter(std::max(absl::ZeroDuration(), kInterval - age), [this] { Sync(); });
}

void StoreSync::Sync() {
  timer_ = 0;
  since_.reset();
  const auto sync = [sync = options_.sync, path = options_.path] { sync(path); };
  if (!options_.background) return sync();
  syncs_ = true;
  options_.background(sync, [this] {
    syncs_ = false;
    Plan();
  });
}

}  // namespace trainer

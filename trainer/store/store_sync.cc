#include "trainer/store/store_sync.h"

#include <algorithm>
#include <utility>

namespace trainer {

StoreSync::StoreSync(Options options) : options_(std::move(options)) {}

void StoreSync::Soon() {
  if (!since_) since_ = options_.clock->Monotonic();
  Plan();
}

void StoreSync::Plan() {
  if (!since_ || timer_.is_set() || syncs_) return;
  const absl::Duration age = options_.clock->Monotonic() - *since_;
  timer_.Start(options_.loop, std::max(absl::ZeroDuration(), kInterval - age), [this] { Sync(); });
}

void StoreSync::Sync() {
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

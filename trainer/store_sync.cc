#include "trainer/store_sync.h"

#include <utility>

namespace trainer {

StoreSync::StoreSync(Options options) : options_(std::move(options)) {}

StoreSync::~StoreSync() { options_.loop->Cancel(timer_); }

void StoreSync::Soon() {
  is_synced_ = false;
  if (timer_ != 0 || syncs_) return;
  timer_ = options_.loop->RunAfter(kInterval, [this] { Sync(); });
}

void StoreSync::Sync() {
  timer_ = 0;
  is_synced_ = true;
  const auto sync = [sync = options_.sync, path = options_.path] { sync(path); };
  if (!options_.background) return sync();
  syncs_ = true;
  options_.background(sync, [this] {
    syncs_ = false;
    if (!is_synced_) Soon();
  });
}

}  // namespace trainer

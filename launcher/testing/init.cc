#include "launcher/testing/init.h"

#include <stdlib.h>

#include <atomic>

#include "launcher/testing/child.h"

namespace launcher::testing {
namespace {

std::atomic<bool> initialized{false};

}  // namespace

void Init() {
  initialized = true;  // Set first, since a child may have runners of its own.
  // As in the original, since several processes share one device.
  setenv("TF_FORCE_GPU_ALLOW_GROWTH", "true", 1);
  RunIfChild();
}

bool IsInitialized() { return initialized; }

}  // namespace launcher::testing

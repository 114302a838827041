#include "bus/wire/version.h"

#include <zmq.h>

#include "absl/strings/str_cat.h"

namespace bus {

LibraryVersion ZeroMqVersion() {
  int major = 0, minor = 0, patch = 0;
  zmq_version(&major, &minor, &patch);
  return {
      .name = "ZeroMQ",
      .compiled = absl::StrCat(ZMQ_VERSION_MAJOR, ".", ZMQ_VERSION_MINOR, ".", ZMQ_VERSION_PATCH),
      .running = absl::StrCat(major, ".", minor, ".", patch)};
}

}  // namespace bus

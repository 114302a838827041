#ifndef BUS_THREAD_DESCRIPTOR_WATCHES_H_
#define BUS_THREAD_DESCRIPTOR_WATCHES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "absl/status/statusor.h"
#include "runtime/file/unique_fd.h"

namespace bus {

// Descriptors that are no ZeroMQ sockets, for a thread that waits for those: one descriptor is
// readable while any of them is ready. Used by one thread.
class DescriptorWatches {
 public:
  using Id = std::uint64_t;  // 0 is never a watch.
  // Says for what a descriptor is ready. After a hang-up or an error it is ready for all that was
  // asked for.
  using OnReady = std::function<void(bool readable, bool writable)>;

  static absl::StatusOr<std::unique_ptr<DescriptorWatches>> Create();

  // Readable while a watched descriptor is ready.
  int descriptor() const { return poll_.get(); }
  // Calls back for those that are ready now.
  void RunReady();

  // At most one watch of a descriptor. Nothing is called before SetInterest(). Any of the three may
  // be called in a callback.
  Id Watch(int fd, OnReady ready);
  void SetInterest(Id watch, bool reading, bool writing);
  // Before the descriptor is closed.
  void Unwatch(Id watch);

 private:
  struct Watched {
    int fd = -1;
    std::shared_ptr<const OnReady> ready;
    std::uint32_t interest =
        0;  // 0: it is not in the set, in which a hang-up would always be told.
  };
  explicit DescriptorWatches(runtime::UniqueFd poll) : poll_(std::move(poll)) {}

  const runtime::UniqueFd poll_;
  std::map<Id, Watched> watched_;
  Id last_ = 0;
};

}  // namespace bus

#endif  // BUS_THREAD_DESCRIPTOR_WATCHES_H_

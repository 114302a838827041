#ifndef BUS_THREAD_DESCRIPTOR_WATCHES_H_
#define BUS_THREAD_DESCRIPTOR_WATCHES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "absl/status/statusor.h"
#include "runtime/file/unique_fd.h"

namespace bus {

// Watches descriptors that are not ZeroMQ sockets, for a thread that polls ZeroMQ sockets: a single
// descriptor is readable while any watched one is ready. Used by one thread.
class DescriptorWatches {
 public:
  using Id = std::uint64_t;  // 0 is never a valid watch.
  // Reports for what a descriptor is ready. After a hang-up or an error it is ready for everything
  // in its interest.
  using OnReady = std::function<void(bool readable, bool writable)>;

  static absl::StatusOr<std::unique_ptr<DescriptorWatches>> Create();

  // Readable while a watched descriptor is ready.
  int descriptor() const { return poll_.get(); }
  // Runs the callbacks of the descriptors that are ready now.
  void RunReady();

  // Adds a watch; a descriptor may have only one. It calls nothing before SetInterest(). Callbacks
  // may call all three methods.
  Id Watch(int fd, OnReady ready);
  void SetInterest(Id watch, bool reading, bool writing);
  // Call it before the descriptor is closed.
  void Unwatch(Id watch);

 private:
  struct Watched {
    int fd = -1;
    std::shared_ptr<const OnReady> ready;
    std::uint32_t interest = 0;  // 0: not in the epoll set, which would always report a hang-up.
  };
  explicit DescriptorWatches(runtime::UniqueFd poll) : poll_(std::move(poll)) {}

  const runtime::UniqueFd poll_;
  std::map<Id, Watched> watched_;
  Id last_ = 0;
};

}  // namespace bus

#endif  // BUS_THREAD_DESCRIPTOR_WATCHES_H_

#ifndef LAUNCHER_TESTING_PARENT_POOL_CALLS_H_
#define LAUNCHER_TESTING_PARENT_POOL_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "absl/status/status.h"
#include "launcher/testing/call/child_message.h"
#include "launcher/testing/call/pool_call.h"

namespace launcher::testing {

// Calls that a pool's workers have not answered yet. Use on the loop's thread.
class PoolCalls {
 public:
  // Registers a call of a worker. Returns the number for the message to the child, to which the
  // child answers.
  std::uint64_t Add(std::shared_ptr<PoolCall> call, std::size_t worker, std::uint64_t child);
  void Answered(std::uint64_t number, CallResult result);
  // The child has ended: fails its pending calls.
  void ChildGone(std::uint64_t child, const absl::Status& why);

 private:
  struct Pending {
    std::shared_ptr<PoolCall> call;
    std::size_t worker = 0;
    std::uint64_t child = 0;
  };
  std::map<std::uint64_t, Pending> pending_;
  std::uint64_t last_ = 0;
};

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_PARENT_POOL_CALLS_H_

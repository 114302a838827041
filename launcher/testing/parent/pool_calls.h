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

// Calls that a pool's workers have not answered yet. On the loop's thread.
class PoolCalls {
 public:
  // Returns the number of the message to that child, which has an answer.
  std::uint64_t Add(std::shared_ptr<PoolCall> call, std::size_t worker, std::uint64_t child);
  void Answered(std::uint64_t number, CallResult result);
  // The child answers nothing any more.
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

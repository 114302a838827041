#ifndef EXAMPLES_ALL_REDUCE_RING_H_
#define EXAMPLES_ALL_REDUCE_RING_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/file/unique_fd.h"

namespace all_reduce {

// Workers in a ring of TCP connections, which add up numbers together. Each call waits for the
// others, at most `timeout` for each step. Not thread safe.
class Ring {
 public:
  // Worker `rank` of those at `addresses` ("localhost:10007"). It listens from now on.
  static absl::StatusOr<std::unique_ptr<Ring>> Listen(const std::vector<std::string>& addresses,
                                                      int rank, absl::Duration timeout);

  // Connects this worker with the next one and the one before it. All of them listen by now.
  absl::Status Connect();

  // Adds the numbers of all workers, place by place; everybody gets the sum. All give as many.
  // Unavailable if a neighbour is gone, DeadlineExceeded if one is late.
  absl::StatusOr<std::vector<double>> AllReduce(const std::vector<double>& numbers);

 private:
  Ring(std::vector<std::string> addresses, int rank, absl::Duration timeout)
      : addresses_(std::move(addresses)), rank_(rank), timeout_(timeout) {}
  absl::Status Send(const std::vector<double>& numbers);
  absl::Status Receive(std::vector<double>* numbers);

  const std::vector<std::string> addresses_;
  const int rank_;
  const absl::Duration timeout_;
  runtime::UniqueFd listener_, next_, previous_;
};

}  // namespace all_reduce

#endif  // EXAMPLES_ALL_REDUCE_RING_H_

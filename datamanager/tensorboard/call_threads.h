#ifndef DATAMANAGER_TENSORBOARD_CALL_THREADS_H_
#define DATAMANAGER_TENSORBOARD_CALL_THREADS_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "datamanager/tensorboard/h2_server.h"
#include "datamanager/tensorboard/provider.h"
#include "runtime/coordinator.h"
#include "runtime/thread_pool.h"

namespace datamanager::tensorboard {

// Threads on which providers answer calls: some for lists and others for reads, so that a call that
// waits for a run delays no list. Calls without any effort are answered at once on the caller's
// thread.
class CallThreads {
 public:
  // `coordinator` is not owned. The threads end when it stops; the destructor waits for them.
  explicit CallThreads(runtime::Coordinator* coordinator);

  // Returns the function that a server calls with each call. The threads must outlive the server.
  H2Server::OnCall AnswersOf(std::shared_ptr<Provider> provider);
  // Runs other work that is as quick as a list. ResourceExhausted: too much work is waiting.
  absl::Status Run(std::function<void()> work);

 private:
  const std::unique_ptr<runtime::ThreadPool> lists_, reads_;
};

}  // namespace datamanager::tensorboard

#endif  // DATAMANAGER_TENSORBOARD_CALL_THREADS_H_

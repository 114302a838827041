#ifndef LAUNCHER_NODE_NODE_STUB_H_
#define LAUNCHER_NODE_NODE_STUB_H_

#include <string>
#include <vector>

namespace launcher {

// The main process of a node. It starts the worker (node_worker.h), and restarts it whenever it has
// ended: after 20 ms, doubling to 1 s, and after 20 ms again once a worker has lived for 10 s. It
// owns all attempts of the node, which end with it, and is as small as possible, so that only a
// signal ends it. As subreaper it becomes the parent of shims whose worker was killed.
//
// A worker that ends with kExitUnwanted has stopped its attempts; the stub then ends with kExitOk.
//
// On SIGTERM or SIGINT it makes the worker leave (NodeWorker::Leave()) and ends with kExitOk. It
// removes the folder, unless that contains ends of attempts that no launcher has acknowledged.
struct NodeStub {
  std::string folder;  // Absolute. The stub holds FOLDER/lock, so that a folder has only one stub.
  // The worker's arguments, after the name of the program, which is that of this process.
  // kLeaveFlag is added for a worker that is to leave at once. If the arguments are wrong, the
  // worker ends with kExitUsage, and so does the stub.
  std::vector<std::string> worker_words;
};
// The worker's flag to leave at once, and its exit code if no launcher wants the node.
inline constexpr char kLeaveFlag[] = "--leave";
inline constexpr int kExitUnwanted = 20;

// Runs the stub and returns its exit code. Call it before other threads start.
int RunNodeStub(const NodeStub& stub);

// For the worker's main(): makes the kernel kill this process when the stub ends. Returns false if
// the stub has already ended.
bool EndWithStub(int stub_pid);

}  // namespace launcher

#endif  // LAUNCHER_NODE_NODE_STUB_H_

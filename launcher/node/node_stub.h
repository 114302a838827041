#ifndef LAUNCHER_NODE_NODE_STUB_H_
#define LAUNCHER_NODE_NODE_STUB_H_

#include <string>
#include <vector>

namespace launcher {

// The process that a node is as long as it lives: it starts the worker (node_worker.h), and starts
// another one whenever it has ended, after 20 ms, doubling to 1 s, and 20 ms again once a worker
// has lived for 10 s. It owns all attempts of the node, which end with it, and is as small as it
// can be, so that nothing but a signal ends it. As subreaper it is the parent of shims whose worker
// was killed.
//
// A worker that ends with kExitUnwanted has stopped its attempts: the stub ends, too, with kExitOk.
//
// SIGTERM or SIGINT: the worker is told to leave (NodeWorker::Leave()) and to end with kExitOk; the
// folder is removed, unless it keeps ends of attempts that no launcher has acknowledged.
struct NodeStub {
  std::string folder;  // Absolute. FOLDER/lock is held: a node has one stub.
  // Words of the worker's command line, after that of the program that this process executes;
  // kLeaveFlag is added for a worker that is to leave at once. It ends with kExitUsage if they are
  // wrong: so does the stub.
  std::vector<std::string> worker_words;
};
inline constexpr char kLeaveFlag[] = "--leave";
inline constexpr int kExitUnwanted = 20;

// Returns the exit code. Before there are other threads.
int RunNodeStub(const NodeStub& stub);

// For the worker's main(): this process is killed when the stub ends. False if the stub has ended
// already.
bool EndWithStub(int stub_pid);

}  // namespace launcher

#endif  // LAUNCHER_NODE_NODE_STUB_H_

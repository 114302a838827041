#ifndef RUNTIME_PROCESS_PEER_H_
#define RUNTIME_PROCESS_PEER_H_

#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

namespace runtime {

// True if it was a process of our user (or root, who may do anything) that has connected to this
// unix socket, as the kernel tells it. A private directory and the mode of a socket keep others out
// already; this is for one that somebody has opened.
inline bool IsOfOurUser(int connection) {
  ucred peer = {};
  socklen_t size = sizeof(peer);
  return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         (peer.uid == geteuid() || peer.uid == 0);
}

}  // namespace runtime

#endif  // RUNTIME_PROCESS_PEER_H_

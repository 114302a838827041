#ifndef RUNTIME_PROCESS_PEER_H_
#define RUNTIME_PROCESS_PEER_H_

#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

namespace runtime {

// True if the process at the other end of this unix socket belongs to our user (or to root, who may
// do anything), as the kernel reports. A private directory and the socket's mode already exclude
// other users; this check also protects a socket whose permissions have been widened.
inline bool IsOfOurUser(int connection) {
  ucred peer = {};
  socklen_t size = sizeof(peer);
  return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         (peer.uid == geteuid() || peer.uid == 0);
}

}  // namespace runtime

#endif  // RUNTIME_PROCESS_PEER_H_

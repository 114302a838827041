#ifndef LAUNCHER_SHIM_SHIM_SERVER_H_
#define LAUNCHER_SHIM_SHIM_SERVER_H_

#include <span>

namespace launcher {

// The shim server: the yard-shim of a launcher that creates the others (shim_spawner.h). Each is a
// fork of it, which costs a fraction of a start by exec. In a quiet moment it creates a spare shim
// in advance and offers it. It may fork because it has one thread, very little memory, and no state
// that must not be copied. (Re-imagines Android's zygote with its pool of unspecialised processes.)
//
// Serves requests on the SEQPACKET socket until its other end is closed. A request is a packet with
// an attempt's folder and two descriptors: the shim's control socket and its stderr (further
// descriptors are locks). The answer is the shim's pid, with its pidfd, or "errno N". The shims are
// children of the server's parent.
//
// An offer is kSpareOffer and the pid of a spare shim, with its pidfd and a socket on which the
// spare takes such a request directly. Offers are unsolicited and may precede an answer. A client
// that has taken the spare sends kSpareTaken to the server.
//
// `title` is the memory of this process's arguments, which a shim overwrites with its own. Returns
// the exit code of the server or, in a forked shim, of that shim.
int ServeShims(int socket, std::span<char> title);

}  // namespace launcher

#endif  // LAUNCHER_SHIM_SHIM_SERVER_H_

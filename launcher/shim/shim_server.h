#ifndef LAUNCHER_SHIM_SHIM_SERVER_H_
#define LAUNCHER_SHIM_SHIM_SERVER_H_

#include <span>

namespace launcher {

// The one yard-shim of a launcher that makes the others (shim_spawner.h): each is a copy of it,
// which costs a fraction of a start by exec. Where none is asked for for a moment, the next one is
// made already, and offered. May fork because it has one thread, next to no memory, and nothing in
// it that could be copied by mistake. (As Android's zygote does it, with its pool of unspecialised
// processes.)
//
// Reads requests from the SEQPACKET socket until its other end is closed: a packet is an attempt's
// folder, with two descriptors, the shim's control socket and its stderr. The answer is the shim's
// pid, with its pidfd, or "errno N". The shims are children of our parent, not ours.
//
// An offer is kSpareOffer and the pid of a shim, with its pidfd and a socket that takes such a
// packet in our place; it comes unasked, also before an answer. Its taker says kSpareTaken here.
//
// `title` is the memory of our arguments, where a shim writes its own. Returns the exit code; that
// of a shim in the shim's own process.
int ServeShims(int socket, std::span<char> title);

}  // namespace launcher

#endif  // LAUNCHER_SHIM_SHIM_SERVER_H_

#ifndef BUS_THREAD_TCP_DOOR_H_
#define BUS_THREAD_TCP_DOOR_H_

#include <netinet/in.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <set>
#include <string>

#include "runtime/mutex.h"

namespace bus {

// Bounds the connections to the TCP ports that this process serves, whoever makes them. ZeroMQ has
// no such bound: connections that say nothing would take every descriptor, 40 KB each, and keep
// everybody else out.
//
// A connection is new until a message of a client whose key was checked has come over it. Over
// kMostNew new ones the oldest of them is cut: a client with a key needs milliseconds for what
// somebody without one never ends. Over kMost that are in use another one is refused.
//
// Any thread. Our own accept4(2) asks it (connection_limit.h).
class TcpDoor {
 public:
  static constexpr std::size_t kMost = 512;
  static constexpr std::size_t kMostNew = 256;

  // Lives as long as the process.
  static TcpDoor& OfThisProcess();

  // Guards the port of "tcp://ADDRESS:PORT".
  void Guard(const std::string& endpoint);
  bool Guards(int listener);
  // False: the connection `fd`, just accepted, is to be closed.
  bool LetIn(int fd);
  // A client's message came over the connection `fd`. Returns a ticket for Cut(); 0: not known.
  std::uint64_t NoteInUse(int fd);
  // Ends the connection, if it is still there.
  void Cut(std::uint64_t ticket);

  struct Stats {
    std::uint64_t accepted = 0, refused = 0;
    std::uint64_t cut = 0;  // New ones that others took the place of.
    std::uint64_t unused =
        0;  // That have ended, and were new until then: with those that were cut.
    std::uint64_t in_use = 0;  // Now.
  };
  Stats GetStats();

 private:
  struct Entry {
    int fd = -1;
    std::uint64_t ticket = 0;
    sockaddr_storage peer = {};
  };
  using Entries = std::list<Entry>;

  static bool IsStill(const Entry& entry);
  static std::size_t RemoveEnded(Entries* entries);
  void LookAtNew() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { stats_.unused += RemoveEnded(&new_); }

  runtime::Mutex mutex_;
  std::set<in_port_t> ports_ ABSL_GUARDED_BY(mutex_);  // In network order.
  Entries new_ ABSL_GUARDED_BY(mutex_);                // The oldest first.
  Entries in_use_ ABSL_GUARDED_BY(mutex_);
  Stats stats_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t last_ticket_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace bus

#endif  // BUS_THREAD_TCP_DOOR_H_

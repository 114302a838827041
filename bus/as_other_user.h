#ifndef BUS_AS_OTHER_USER_H_
#define BUS_AS_OTHER_USER_H_

#include <string>

namespace bus {

// For tests of root's: what another user of this machine says of the socket at `path`, to which he
// must get through (other_user_main.cc has what he can do).
std::string AsOtherUser(const std::string& doing, const std::string& path);

}  // namespace bus

#endif  // BUS_AS_OTHER_USER_H_

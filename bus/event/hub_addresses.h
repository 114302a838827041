#ifndef BUS_EVENT_HUB_ADDRESSES_H_
#define BUS_EVENT_HUB_ADDRESSES_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/file/locations.h"

namespace bus {

// Addresses of the hub: always in the directory of the registry's socket, so that publishers and
// subscribers find a restarted hub by themselves.
inline std::string HubPublishAddress(const runtime::Locations& locations) {
  return locations.ServiceAddress("hub-pub");
}
inline std::string HubSubscribeAddress(const runtime::Locations& locations) {
  return locations.ServiceAddress("hub-sub");
}

}  // namespace bus

#endif  // BUS_EVENT_HUB_ADDRESSES_H_

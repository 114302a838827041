#ifndef WEB_HTTP_GUARD_H_
#define WEB_HTTP_GUARD_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "web/http/message.h"

namespace web {

// Refuses requests that a foreign web page makes a browser send. Loopback is no boundary: a page
// may send requests there, and by DNS rebinding (a name that later resolves to 127.0.0.1) it
// becomes same-origin. So every request, whatever its method and path, must name this server as its
// host, and a request that may change something must come from one of this server's pages or from
// no page. Requests through the socket do not come from a browser and are not checked.
class Guard {
 public:
  // `hosts` are names and addresses of this server besides localhost, 127.0.0.1 and [::1], as
  // written in a URL, without a port.
  explicit Guard(const std::vector<std::string>& hosts = {});

  // Returns the response that refuses `request`: 400, 403, 405, 415 or 421. Pure.
  std::optional<Response> Refuse(const Request& request) const;

 private:
  std::optional<Response> RefuseHost(const Request& request) const;

  std::vector<std::string> hosts_;
};

// Returns the host of "localhost:7710" in lower case: "localhost"; of "[::1]:80": "[::1]". Empty if
// `value` is not a host with an optional port.
std::string HostWithoutPort(std::string_view value);

}  // namespace web

#endif  // WEB_HTTP_GUARD_H_

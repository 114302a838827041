#ifndef WEB_HTTP_MESSAGE_H_
#define WEB_HTTP_MESSAGE_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "web/http/target.h"

namespace web {

// Where a request arrived: at the socket in the runtime directory, from a program of this user; or
// at a port, from anyone on this machine, such as a browser.
enum class Door { kSocket, kPort };

// A request with its complete body. Names of headers are in lower case.
struct Request {
  Door door = Door::kPort;
  std::string method = {};
  Target target = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};

  // Returns all values of the header, in order.
  std::vector<std::string_view> All(std::string_view name) const;
  // Returns the value of the header; empty if it is missing or repeated.
  std::string_view Header(std::string_view name) const;
};

struct Response {
  int status = 200;
  std::string type = "application/json";
  // Headers in addition to those of every response.
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
};

// Returns "Not Found" for 404.
std::string_view ReasonPhrase(int status);

}  // namespace web

#endif  // WEB_HTTP_MESSAGE_H_

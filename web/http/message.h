#ifndef WEB_HTTP_MESSAGE_H_
#define WEB_HTTP_MESSAGE_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "web/http/target.h"

namespace web {

// How a request came: from a program of this user through the socket in the runtime directory, or
// from anybody on this machine, such as a browser, through a port.
enum class Door { kSocket, kPort };

// A request whose body is whole. Names of headers are in lower case.
struct Request {
  Door door = Door::kPort;
  std::string method = {};
  Target target = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};

  // Every value of that header, in order.
  std::vector<std::string_view> All(std::string_view name) const;
  // The value of that header; empty if the header is missing or there more than once.
  std::string_view Header(std::string_view name) const;
};

struct Response {
  int status = 200;
  std::string type = "application/json";
  // Headers beyond those that every response has.
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
};

// "Not Found" of 404.
std::string_view ReasonPhrase(int status);

}  // namespace web

#endif  // WEB_HTTP_MESSAGE_H_

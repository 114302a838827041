#ifndef WEB_HTTP_RESPONSE_HEAD_H_
#define WEB_HTTP_RESPONSE_HEAD_H_

#include <string>

#include "web/http/message.h"

namespace web {

// How a client finds the end of a body: by its length, by chunks, or (HTTP/1.0 has no chunks) by
// the end of the connection.
enum class Framing { kLength, kChunks, kUntilClosed };

// Everything before the body, with the headers that every response has: nothing is cached, framed
// by another page, or loaded from another place, and scripts are files of this server's alone. A
// header of `response` replaces the one of that name. Line ends in values become spaces.
std::string ResponseHead(const Response& response, Framing framing, bool keep_alive);

}  // namespace web

#endif  // WEB_HTTP_RESPONSE_HEAD_H_

#include "web/http/problem.h"

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "nlohmann/json.hpp"
#include "web/http/message.h"

namespace web {
namespace {

std::string TypeOf(int status) {
  std::string type;
  for (const char c : ReasonPhrase(status)) {
    const bool upper = c >= 'A' && c <= 'Z';
    type += c == ' ' ? '-' : upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return type;
}

int HttpStatus(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return 400;
    case absl::StatusCode::kUnauthenticated:
      return 401;
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAborted:
      return 409;
    case absl::StatusCode::kResourceExhausted:
      return 429;
    case absl::StatusCode::kUnimplemented:
      return 501;
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kUnavailable:
      return 503;
    case absl::StatusCode::kDeadlineExceeded:
      return 504;
    default:
      return 500;
  }
}

}  // namespace

Response Problem(int status, std::string_view title, std::string_view hint) {
  nlohmann::ordered_json body = {
      {"status", status}, {"type", TypeOf(status)}, {"title", std::string(title)}};
  if (!hint.empty()) body["hint"] = std::string(hint);
  return {.status = status,
          .type = "application/problem+json",
          .body = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"};
}

Response ProblemOf(const absl::Status& error) {
  const std::string_view message(error.message().data(), error.message().size());
  return Problem(HttpStatus(error.code()), message);
}

}  // namespace web

#ifndef BUS_SCHEMA_METHOD_H_
#define BUS_SCHEMA_METHOD_H_

#include <string_view>

#include "absl/time/time.h"

namespace bus {

// The permission that a method requires of its caller.
enum class Role { kRead, kPublish, kControl, kAdmin };

// How a method behaves when a call is retried.
enum class Idempotency {
  kSafe,        // Changes nothing.
  kIdempotent,  // A repetition leaves the same state.
  kStored,      // Changes durable state: the handler stores the request id in the same transaction,
                // and answers a retry with the first result, also after a restart.
  kRemembered,  // The service answers a retry from its memory for 60 s.
};

// One method, as declared in an rpc_service block of bus/schema; generated as rpc::SERVICE::METHOD
// (see bazel/methods.py) with `Request` and `Reply` types.
struct MethodInfo {
  std::string_view service;  // "registry"; empty: a method of every service.
  std::string_view name;     // "Register"
  Role role;
  Idempotency idempotency;
  absl::Duration default_timeout;  // InfiniteDuration: no deadline; sends a part or Ping every
                                   // second.
  bool streaming;                  // Sends parts before its reply.
  bool runs_inline;                // Short and never blocks: runs on the bus thread.
};

}  // namespace bus

#endif  // BUS_SCHEMA_METHOD_H_

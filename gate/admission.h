#ifndef GATE_ADMISSION_H_
#define GATE_ADMISSION_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "bus/access/key_folder.h"
#include "bus/schema/method.h"

namespace gate {

// Decides which messages of a client the gate passes on. Pure functions; any thread. The bytes are
// untrusted and may be anything.

// The services that clients can reach through the gate.
std::span<const std::string_view> Services();

// Finds a method, which names the role that it requires; the schema defines it (bus/schema/*.fbs,
// rpc::AllMethods). Null if the service has no such method.
const bus::MethodInfo* FindMethod(std::string_view service, std::string_view method);

struct Admission {
  enum class What {
    kPass,       // To the service; unless `opens`, only if a connection to it is open.
    kRefuse,     // `why` is the answer to call `corr`.
    kMalformed,  // The bytes are not a message and are dropped.
  };
  What what = What::kMalformed;
  absl::Status why = absl::OkStatus();
  std::uint64_t corr = 0;
  bool opens = false;
  // The called method; null for a Cancel or Ping.
  const bus::MethodInfo* method = nullptr;
  // For the log.
  std::string request_id = {}, trace = {};
};

// Judges an envelope that the owner of `key` sends to `service`.
//
// Refuses with PermissionDenied a method that requires a higher role than the key has; with
// Unimplemented a method that the gate does not know (so that it cannot know its role either); with
// NotFound a service that cannot be reached through the gate.
Admission Judge(std::string_view service, std::span<const std::uint8_t> envelope,
                const bus::AllowedKey& key);

// Checks a subscription frame of the owner of `key`: "\1" (begin) or "\0" (end), then a prefix of
// at most 200 bytes. InvalidArgument says what is wrong; PermissionDenied: the key is a node's.
absl::Status CheckSubscription(std::string_view frame, const bus::AllowedKey& key);

}  // namespace gate

#endif  // GATE_ADMISSION_H_

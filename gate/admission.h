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

// Decides what a client may pass through the gate. Pure functions of any thread; the bytes are a
// stranger's, and may be anything.

// The services that the gate leads to.
std::span<const std::string_view> Services();

// The role that a method requires: the schema says it (bus/schema/*.fbs, rpc::AllMethods). Null:
// the service has no such method.
const bus::MethodInfo* FindMethod(std::string_view service, std::string_view method);

struct Admission {
  enum class What {
    kPass,       // To the service, if `opens`; else only where a connection to it is open.
    kRefuse,     // `why` is the answer to the call `corr`.
    kMalformed,  // No message: it is dropped.
  };
  What what = What::kMalformed;
  absl::Status why = absl::OkStatus();
  std::uint64_t corr = 0;
  bool opens = false;
  // The method's; null for a Cancel or Ping.
  const bus::MethodInfo* method = nullptr;
  // For the log.
  std::string request_id = {}, trace = {};
};

// Judges an envelope that the holder of `key` sends to `service`.
//
// Refuses with PermissionDenied what the key's role lacks, Unimplemented a method that the gate
// does not know (whose role it cannot know either), NotFound a service that the gate does not lead
// to.
Admission Judge(std::string_view service, std::span<const std::uint8_t> envelope,
                const bus::AllowedKey& key);

// A subscription's frame from the holder of `key`: "\1" (begins) or "\0" (ends), and a prefix of at
// most 200 bytes. InvalidArgument says what is wrong; PermissionDenied: the key is a node's.
absl::Status CheckSubscription(std::string_view frame, const bus::AllowedKey& key);

}  // namespace gate

#endif  // GATE_ADMISSION_H_

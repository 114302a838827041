#ifndef RUNTIME_TEXT_RANDOM_ID_H_
#define RUNTIME_TEXT_RANDOM_ID_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace runtime {

// Returns 64 random bits from the kernel; never 0. Any thread.
std::uint64_t RandomId();
// Returns `prefix` + 5 random letters a-z: "j-xkqbe". The caller checks that it is unused.
std::string RandomName(std::string_view prefix);
// Returns 32 random hexadecimal digits (128 bits): for request ids and nonces.
std::string RandomHex128();

}  // namespace runtime

#endif  // RUNTIME_TEXT_RANDOM_ID_H_

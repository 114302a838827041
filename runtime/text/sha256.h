#ifndef RUNTIME_TEXT_SHA256_H_
#define RUNTIME_TEXT_SHA256_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace runtime {

// SHA-256 (FIPS 180-4) of bytes that come in pieces. Not thread safe.
class Sha256 {
 public:
  Sha256();
  void Add(std::string_view bytes);
  // 64 hexadecimal digits, in lower case, of all that was added. Once; nothing may be added after
  // it.
  std::string Finish();

 private:
  void AddBlock(const unsigned char* block);

  std::array<std::uint32_t, 8> state_;
  std::array<unsigned char, 64> block_ = {};  // The bytes that do not fill a block yet.
  std::size_t in_block_ = 0;
  std::uint64_t bytes_ = 0;
};

// The digest of `bytes`.
std::string Sha256Hex(std::string_view bytes);
// Whether `text` looks like a digest: 64 hexadecimal digits in lower case.
bool IsSha256(std::string_view text);

}  // namespace runtime

#endif  // RUNTIME_TEXT_SHA256_H_

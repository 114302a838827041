#ifndef RUNTIME_TEXT_SHA256_H_
#define RUNTIME_TEXT_SHA256_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace runtime {

// Computes SHA-256 (FIPS 180-4) of bytes that arrive in pieces. Not thread safe.
class Sha256 {
 public:
  Sha256();
  void Add(std::string_view bytes);
  // Returns the digest of all added bytes as 64 lower-case hexadecimal digits. Call it once; add
  // nothing afterwards.
  std::string Finish();

 private:
  void AddBlock(const unsigned char* block);

  std::array<std::uint32_t, 8> state_;
  std::array<unsigned char, 64> block_ = {};  // Bytes of an incomplete block.
  std::size_t in_block_ = 0;
  std::uint64_t bytes_ = 0;
};

// Returns the digest of `bytes`.
std::string Sha256Hex(std::string_view bytes);
// True if `text` has the form of a digest: 64 lower-case hexadecimal digits.
bool IsSha256(std::string_view text);

}  // namespace runtime

#endif  // RUNTIME_TEXT_SHA256_H_

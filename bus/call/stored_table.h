#ifndef BUS_CALL_STORED_TABLE_H_
#define BUS_CALL_STORED_TABLE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "flatbuffers/flatbuffers.h"

namespace bus {

// Encodes and decodes a FlatBuffers table that its owner keeps in a database or a file, outside any
// envelope. Stored bytes are verified like bytes from a socket. `identifier` is null or a tag of
// four characters that distinguishes these bytes from others.

template <typename Table>
std::string EncodeStored(const typename Table::NativeTableType& table,
                         const char* identifier = nullptr) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(Table::Pack(builder, &table), identifier);
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

// Returns null if `bytes` are not a valid table of this type. `bytes` need no alignment.
template <typename Table>
std::unique_ptr<typename Table::NativeTableType> DecodeStored(std::string_view bytes,
                                                              const char* identifier = nullptr) {
  // Every table that a message can carry is within these limits.
  constexpr std::uint32_t kMaxDepth = 64;
  constexpr std::uint32_t kMaxTables = 100'000;
  const std::vector<std::uint8_t> aligned(bytes.begin(), bytes.end());
  flatbuffers::Verifier verifier(aligned.data(), aligned.size(), kMaxDepth, kMaxTables);
  if (!verifier.VerifyBuffer<Table>(identifier)) return nullptr;
  return std::unique_ptr<typename Table::NativeTableType>(
      flatbuffers::GetRoot<Table>(aligned.data())->UnPack());
}

}  // namespace bus

#endif  // BUS_CALL_STORED_TABLE_H_

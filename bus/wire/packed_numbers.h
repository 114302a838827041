#ifndef BUS_WIRE_PACKED_NUMBERS_H_
#define BUS_WIRE_PACKED_NUMBERS_H_

// Numbers of a message in the narrowest type that holds each of them exactly: most values of a
// training are 32-bit floats, and most steps lie within 2^32 of each other. Pure; any thread.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "bus/schema/datamanager_generated.h"

namespace bus {

// Float32 if every number is one (NaN stays NaN), else Float64.
std::unique_ptr<msg::PackedNumbersT> PackNumbers(std::span<const double> numbers);
// Uint32Above if the steps, which never fall, span less than 2^32; else Int64.
std::unique_ptr<msg::PackedNumbersT> PackSteps(std::span<const std::int64_t> steps);
std::unique_ptr<msg::PackedNumbersT> PackCounts(std::span<const std::uint32_t> counts);

// Bytes of each number; 0 for a type of a later version.
std::size_t WidthOf(msg::NumberType type);

// The steps that PackSteps() packed; nothing if the message has other numbers.
std::optional<std::vector<std::int64_t>> UnpackSteps(const msg::PackedNumbersT& steps);

}  // namespace bus

#endif  // BUS_WIRE_PACKED_NUMBERS_H_

#ifndef BUS_WIRE_PACKED_NUMBERS_H_
#define BUS_WIRE_PACKED_NUMBERS_H_

// Packs a message's numbers in the narrowest type that holds each of them exactly: most metrics are
// 32-bit floats, and most steps of a series lie within 2^32 of each other. Pure; any thread.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "bus/schema/datamanager_generated.h"

namespace bus {

// Uses Float32 if every number fits exactly (NaN stays NaN), otherwise Float64.
std::unique_ptr<msg::PackedNumbersT> PackNumbers(std::span<const double> numbers);
// Uses Uint32Above if the steps, which must be ascending, span less than 2^32, otherwise Int64.
std::unique_ptr<msg::PackedNumbersT> PackSteps(std::span<const std::int64_t> steps);
std::unique_ptr<msg::PackedNumbersT> PackCounts(std::span<const std::uint32_t> counts);

// Returns the bytes of one number; 0 for a type of a later version.
std::size_t WidthOf(msg::NumberType type);

// Unpacks the result of PackSteps(); null if the message contains other numbers.
std::optional<std::vector<std::int64_t>> UnpackSteps(const msg::PackedNumbersT& steps);

}  // namespace bus

#endif  // BUS_WIRE_PACKED_NUMBERS_H_

#include "bus/wire/packed_numbers.h"

#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

namespace bus {
namespace {

static_assert(std::endian::native == std::endian::little);

// Branch-free, so that the compiler can vectorise the loop.
bool FitFloats(std::span<const double> numbers) {
  bool fit = true;
  for (const double number : numbers) {
    fit &= (static_cast<double>(static_cast<float>(number)) == number) | (number != number);
  }
  return fit;
}

// Packs `convert(number)` for each number.
template <typename Number, typename Convert>
std::unique_ptr<msg::PackedNumbersT> Pack(msg::NumberType type, std::span<const Number> numbers,
                                          Convert convert) {
  using To = std::invoke_result_t<Convert, Number>;
  auto packed = std::make_unique<msg::PackedNumbersT>();
  packed->type = type;
  packed->data.resize(numbers.size() * sizeof(To));
  std::uint8_t* const out = packed->data.data();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const To number = convert(numbers[i]);
    std::memcpy(out + i * sizeof number, &number, sizeof number);
  }
  return packed;
}

template <typename Stored>
std::vector<std::int64_t> Unpack(const std::vector<std::uint8_t>& data, std::uint64_t base) {
  std::vector<std::int64_t> numbers(data.size() / sizeof(Stored));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, data.data() + i * sizeof stored, sizeof stored);
    numbers[i] = static_cast<std::int64_t>(base + static_cast<std::uint64_t>(stored));
  }
  return numbers;
}

}  // namespace

std::unique_ptr<msg::PackedNumbersT> PackNumbers(std::span<const double> numbers) {
  if (FitFloats(numbers)) {
    return Pack(msg::NumberType::Float32, numbers,
                [](double number) { return static_cast<float>(number); });
  }
  return Pack(msg::NumberType::Float64, numbers, [](double number) { return number; });
}

std::unique_ptr<msg::PackedNumbersT> PackSteps(std::span<const std::int64_t> steps) {
  const std::uint64_t base = steps.empty() ? 0 : static_cast<std::uint64_t>(steps.front());
  const std::uint64_t span = steps.empty() ? 0 : static_cast<std::uint64_t>(steps.back()) - base;
  if (span > std::numeric_limits<std::uint32_t>::max()) {
    return Pack(msg::NumberType::Int64, steps, [](std::int64_t step) { return step; });
  }
  auto packed = Pack(msg::NumberType::Uint32Above, steps, [base](std::int64_t step) {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(step) - base);
  });
  packed->base = static_cast<std::int64_t>(base);
  return packed;
}

std::unique_ptr<msg::PackedNumbersT> PackCounts(std::span<const std::uint32_t> counts) {
  return Pack(msg::NumberType::Uint32, counts, [](std::uint32_t count) { return count; });
}

std::size_t WidthOf(msg::NumberType type) {
  switch (type) {
    case msg::NumberType::Float64:
    case msg::NumberType::Int64:
      return 8;
    case msg::NumberType::Float32:
    case msg::NumberType::Uint32Above:
    case msg::NumberType::Uint32:
      return 4;
  }
  return 0;
}

std::optional<std::vector<std::int64_t>> UnpackSteps(const msg::PackedNumbersT& steps) {
  if (steps.type == msg::NumberType::Int64) return Unpack<std::int64_t>(steps.data, 0);
  if (steps.type != msg::NumberType::Uint32Above) return std::nullopt;
  return Unpack<std::uint32_t>(steps.data, static_cast<std::uint64_t>(steps.base));
}

}  // namespace bus

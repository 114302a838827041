#include "bench/limit_reader.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/file/unique_fd.h"

#if defined(__x86_64__)
#include <nmmintrin.h>

// All code between the pragmas may use the instruction, so that everything is inlined.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("sse4.2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("sse4.2")
#endif

namespace bench {
namespace {

using Byte = unsigned char;

template <typename Number>
Number Load(const Byte* at) {
  Number number;
  std::memcpy(&number, at, sizeof number);
  return number;
}

std::uint32_t MaskedCrc(const Byte* at, std::size_t size) {
  std::uint64_t crc = 0xFFFFFFFF;
  for (; size >= 8; at += 8, size -= 8) crc = _mm_crc32_u64(crc, Load<std::uint64_t>(at));
  auto narrow = static_cast<std::uint32_t>(crc);
  for (; size > 0; ++at, --size) narrow = _mm_crc32_u8(narrow, *at);
  narrow = ~narrow;
  return ((narrow >> 15) | (narrow << 17)) + 0xA282EAD8u;
}

std::uint64_t TakeVarint(const Byte*& at) {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const Byte byte = *at++;
    value |= std::uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return value;
  }
}

struct Part {
  const Byte* at;
  const Byte* end;
};
Part TakePart(const Byte*& at) {
  const std::uint64_t size = TakeVarint(at);
  const Part part{at, at + size};
  at = part.end;
  return part;
}

void SkipField(unsigned wire_type, const Byte*& at) {
  if (wire_type == 0) {
    TakeVarint(at);
  } else if (wire_type == 2) {
    TakePart(at);
  } else {
    at += wire_type == 1 ? 8 : 4;
  }
}

struct Columns {
  std::vector<std::int64_t> steps;
  std::vector<double> wall_times;
  std::vector<float> values;
};

class LimitReader {
 public:
  void Read(Part file) {
    while (file.end - file.at >= 16) {
      const auto length = Load<std::uint64_t>(file.at);
      if (MaskedCrc(file.at, 8) != Load<std::uint32_t>(file.at + 8)) break;
      if (static_cast<std::uint64_t>(file.end - file.at) < length + 16) break;
      const Part payload{file.at + 12, file.at + 12 + length};
      ++reading_.records;
      if (MaskedCrc(payload.at, length) == Load<std::uint32_t>(payload.end)) {
        ReadEvent(payload);
      } else {
        ++reading_.bad_records;
      }
      file.at = payload.end + 4;
    }
  }

  LimitReading reading() const {
    LimitReading reading = reading_;
    reading.tags = columns_.size();
    for (const auto& [tag, columns] : columns_) reading.points += columns.values.size();
    return reading;
  }

 private:
  void ReadEvent(Part event) {
    double wall_time = 0;
    std::int64_t step = 0;
    while (event.at < event.end) {
      const std::uint64_t key = TakeVarint(event.at);
      if (key == (1 << 3 | 1)) {
        wall_time = Load<double>(event.at);
        event.at += 8;
      } else if (key == (2 << 3 | 0)) {
        step = static_cast<std::int64_t>(TakeVarint(event.at));
      } else if (key == (5 << 3 | 2)) {
        for (Part summary = TakePart(event.at); summary.at < summary.end;) {
          TakeVarint(summary.at);
          ReadValue(TakePart(summary.at), step, wall_time);
        }
      } else {
        SkipField(key & 7, event.at);
      }
    }
  }

  void ReadValue(Part value, std::int64_t step, double wall_time) {
    std::string_view tag;
    float number = 0;
    while (value.at < value.end) {
      const std::uint64_t key = TakeVarint(value.at);
      if (key == (1 << 3 | 2)) {
        const Part name = TakePart(value.at);
        tag = {reinterpret_cast<const char*>(name.at),
               static_cast<std::size_t>(name.end - name.at)};
      } else if (key == (2 << 3 | 5)) {
        number = Load<float>(value.at);
        value.at += 4;
      } else if (key == (8 << 3 | 2)) {
        number = ReadTensor(TakePart(value.at));
      } else {
        SkipField(key & 7, value.at);
      }
    }
    Columns& columns = ColumnsOf(tag);
    columns.steps.push_back(step);
    columns.wall_times.push_back(wall_time);
    columns.values.push_back(number);
  }

  static float ReadTensor(Part tensor) {
    float number = 0;
    while (tensor.at < tensor.end) {
      const std::uint64_t key = TakeVarint(tensor.at);
      if (key == (5 << 3 | 2)) {
        number = Load<float>(TakePart(tensor.at).at);
      } else {
        SkipField(key & 7, tensor.at);
      }
    }
    return number;
  }

  // Tags are views of the mapped file.
  Columns& ColumnsOf(std::string_view tag) { return columns_[tag]; }

  LimitReading reading_;
  std::unordered_map<std::string_view, Columns> columns_;
};

}  // namespace
}  // namespace bench

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif  // defined(__x86_64__)

namespace bench {

absl::StatusOr<LimitReading> ReadAtLimit([[maybe_unused]] const std::string& path) {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("sse4.2")) {
    return absl::UnimplementedError("the limit reader needs a processor with SSE 4.2");
  }
  const runtime::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info;
  if (!fd.valid() || fstat(fd.get(), &info) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  }
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) return LimitReading();
  void* const map = mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd.get(), 0);
  if (map == MAP_FAILED) return absl::ErrnoToStatus(errno, absl::StrCat("cannot map ", path));
  const Byte* const bytes = static_cast<const Byte*>(map);
  LimitReader reader;
  reader.Read({bytes, bytes + size});
  const LimitReading reading = reader.reading();
  munmap(map, size);
  return reading;
#else
  return absl::UnimplementedError("the limit reader needs an x86-64 processor");
#endif
}

}  // namespace bench

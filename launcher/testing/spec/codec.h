#ifndef LAUNCHER_TESTING_SPEC_CODEC_H_
#define LAUNCHER_TESTING_SPEC_CODEC_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace launcher::testing {

// The encoding of arguments and results between the processes of a test: bytes and the name of the
// type, so that a wrong type is an error and never a wrong value. Only for processes of the same
// binary on the same machine. Replaces the pickles of the original.
//
// Codec<T> exists for bool, numbers, enums, std::string, vector, set, map, pair, tuple, optional,
// absl::Status and absl::Duration, nested to any depth. A struct of them gets one by naming its
// members:
//
//   template <>
//   struct launcher::testing::Codec<Point> : launcher::testing::Fields<&Point::x, &Point::y> {};
//
// A Codec has Name(), which returns the name of the type; Write(), which appends; and Read(), which
// removes a value from the front of `from` and returns false if there is no valid value.
template <typename T>
struct Codec;

namespace internal {

inline void WriteBytes(const void* data, std::size_t size, std::string* to) {
  to->append(static_cast<const char*>(data), size);
}
inline bool ReadBytes(std::string_view* from, void* data, std::size_t size) {
  if (from->size() < size) return false;
  std::memcpy(data, from->data(), size);
  from->remove_prefix(size);
  return true;
}
inline void WriteSize(std::size_t size, std::string* to) {
  const std::uint64_t wide = size;
  WriteBytes(&wide, sizeof wide, to);
}
// Rejects a size larger than the rest of the bytes, since every element takes at least one byte.
inline bool ReadSize(std::string_view* from, std::size_t* size) {
  std::uint64_t wide = 0;
  if (!ReadBytes(from, &wide, sizeof wide) || wide > from->size()) return false;
  *size = wide;
  return true;
}

template <typename Container, typename Element>
void WriteAll(const Container& values, std::string* to) {
  WriteSize(values.size(), to);
  for (const Element& value : values) Codec<Element>::Write(value, to);
}

template <auto Member>
struct MemberOf;
template <typename Class, typename Type, Type Class::*Member>
struct MemberOf<Member> {
  using Whole = Class;
  using Part = Type;
};

}  // namespace internal

template <typename T>
requires std::is_arithmetic_v<T> || std::is_enum_v<T>
struct Codec<T> {
  static std::string Name() {
    if constexpr (std::is_same_v<T, bool>) return "bool";
    if constexpr (std::is_floating_point_v<T>) return "float" + std::to_string(8 * sizeof(T));
    if constexpr (std::is_enum_v<T>) return "enum" + std::to_string(8 * sizeof(T));
    return (std::is_signed_v<T> ? "int" : "uint") + std::to_string(8 * sizeof(T));
  }
  static void Write(const T& value, std::string* to) {
    internal::WriteBytes(&value, sizeof value, to);
  }
  static bool Read(std::string_view* from, T* value) {
    if constexpr (std::is_same_v<T, bool>) {
      char byte = 0;
      if (!internal::ReadBytes(from, &byte, 1)) return false;
      *value = byte != 0;
      return true;
    } else {
      return internal::ReadBytes(from, value, sizeof *value);
    }
  }
};

template <>
struct Codec<std::string> {
  static std::string Name() { return "string"; }
  static void Write(const std::string& value, std::string* to) {
    internal::WriteSize(value.size(), to);
    to->append(value);
  }
  static bool Read(std::string_view* from, std::string* value) {
    std::size_t size = 0;
    if (!internal::ReadSize(from, &size)) return false;
    value->assign(from->data(), size);
    from->remove_prefix(size);
    return true;
  }
};

template <typename T>
struct Codec<std::vector<T>> {
  static std::string Name() { return "vector<" + Codec<T>::Name() + ">"; }
  static void Write(const std::vector<T>& values, std::string* to) {
    internal::WriteAll<std::vector<T>, T>(values, to);
  }
  static bool Read(std::string_view* from, std::vector<T>* values) {
    std::size_t size = 0;
    values->clear();
    if (!internal::ReadSize(from, &size)) return false;
    for (std::size_t i = 0; i < size; ++i) {
      T value{};
      if (!Codec<T>::Read(from, &value)) return false;
      values->push_back(std::move(value));
    }
    return true;
  }
};

template <typename T>
struct Codec<std::set<T>> {
  static std::string Name() { return "set<" + Codec<T>::Name() + ">"; }
  static void Write(const std::set<T>& values, std::string* to) {
    internal::WriteAll<std::set<T>, T>(values, to);
  }
  static bool Read(std::string_view* from, std::set<T>* values) {
    std::vector<T> list;
    if (!Codec<std::vector<T>>::Read(from, &list)) return false;
    *values = std::set<T>(list.begin(), list.end());
    return true;
  }
};

template <typename A, typename B>
struct Codec<std::pair<A, B>> {
  static std::string Name() { return "pair<" + Codec<A>::Name() + "," + Codec<B>::Name() + ">"; }
  static void Write(const std::pair<A, B>& value, std::string* to) {
    Codec<A>::Write(value.first, to);
    Codec<B>::Write(value.second, to);
  }
  static bool Read(std::string_view* from, std::pair<A, B>* value) {
    return Codec<A>::Read(from, &value->first) && Codec<B>::Read(from, &value->second);
  }
};

template <typename K, typename V>
struct Codec<std::map<K, V>> {
  static std::string Name() { return "map<" + Codec<K>::Name() + "," + Codec<V>::Name() + ">"; }
  static void Write(const std::map<K, V>& values, std::string* to) {
    internal::WriteSize(values.size(), to);
    for (const auto& [key, value] : values) {
      Codec<K>::Write(key, to);
      Codec<V>::Write(value, to);
    }
  }
  static bool Read(std::string_view* from, std::map<K, V>* values) {
    std::vector<std::pair<K, V>> list;
    if (!Codec<std::vector<std::pair<K, V>>>::Read(from, &list)) return false;
    values->clear();
    for (auto& [key, value] : list) values->emplace(std::move(key), std::move(value));
    return true;
  }
};

template <typename... T>
struct Codec<std::tuple<T...>> {
  static std::string Name() {
    std::string name = "(";
    ((name += (name.size() > 1 ? "," : "") + Codec<T>::Name()), ...);
    return name + ")";
  }
  static void Write(const std::tuple<T...>& value, std::string* to) {
    std::apply([&](const T&... part) { (Codec<T>::Write(part, to), ...); }, value);
    static_cast<void>(to);
  }
  static bool Read(std::string_view* from, std::tuple<T...>* value) {
    static_cast<void>(from);
    return std::apply([&](T&... part) { return (Codec<T>::Read(from, &part) && ...); }, *value);
  }
};

template <typename T>
struct Codec<std::optional<T>> {
  static std::string Name() { return "optional<" + Codec<T>::Name() + ">"; }
  static void Write(const std::optional<T>& value, std::string* to) {
    Codec<bool>::Write(value.has_value(), to);
    if (value) Codec<T>::Write(*value, to);
  }
  static bool Read(std::string_view* from, std::optional<T>* value) {
    bool is_there = false;
    value->reset();
    if (!Codec<bool>::Read(from, &is_there)) return false;
    return !is_there || Codec<T>::Read(from, &value->emplace());
  }
};

template <>
struct Codec<absl::Status> {
  static std::string Name() { return "status"; }
  static void Write(const absl::Status& value, std::string* to) {
    Codec<int>::Write(static_cast<int>(value.code()), to);
    Codec<std::string>::Write(std::string(value.message()), to);
  }
  static bool Read(std::string_view* from, absl::Status* value) {
    int code = 0;
    std::string message;
    if (!Codec<int>::Read(from, &code) || !Codec<std::string>::Read(from, &message)) return false;
    *value = absl::Status(static_cast<absl::StatusCode>(code), message);
    return true;
  }
};

// Encoded in whole nanoseconds.
template <>
struct Codec<absl::Duration> {
  static std::string Name() { return "duration"; }
  static void Write(const absl::Duration& value, std::string* to) {
    Codec<std::int64_t>::Write(absl::ToInt64Nanoseconds(value), to);
  }
  static bool Read(std::string_view* from, absl::Duration* value) {
    std::int64_t nanos = 0;
    if (!Codec<std::int64_t>::Read(from, &nanos)) return false;
    const bool is_infinite = nanos == std::numeric_limits<std::int64_t>::max();
    *value = is_infinite ? absl::InfiniteDuration() : absl::Nanoseconds(nanos);
    return true;
  }
};

template <auto First, auto... Rest>
struct Fields {
  using Whole = typename internal::MemberOf<First>::Whole;
  template <auto Member>
  using Part = Codec<typename internal::MemberOf<Member>::Part>;

  static std::string Name() {
    std::string name = "{" + Part<First>::Name();
    ((name += "," + Part<Rest>::Name()), ...);
    return name + "}";
  }
  static void Write(const Whole& value, std::string* to) {
    Part<First>::Write(value.*First, to);
    (Part<Rest>::Write(value.*Rest, to), ...);
  }
  static bool Read(std::string_view* from, Whole* value) {
    return Part<First>::Read(from, &(value->*First)) &&
           (Part<Rest>::Read(from, &(value->*Rest)) && ...);
  }
};

template <typename T>
std::string Encode(const T& value) {
  std::string bytes;
  Codec<T>::Write(value, &bytes);
  return bytes;
}
// Returns nullopt if the bytes are not exactly one value.
template <typename T>
std::optional<T> Decode(std::string_view bytes) {
  T value{};
  if (!Codec<T>::Read(&bytes, &value) || !bytes.empty()) return std::nullopt;
  return value;
}

// An encoded value and the name of its type.
struct EncodedValue {
  std::string type;
  std::string bytes;

  template <typename T>
  static EncodedValue Of(const T& value) {
    return {Codec<T>::Name(), Encode(value)};
  }
  template <typename T>
  std::optional<T> As() const {
    return type == Codec<T>::Name() ? Decode<T>(bytes) : std::nullopt;
  }
  bool operator==(const EncodedValue&) const = default;
};
template <>
struct Codec<EncodedValue> : Fields<&EncodedValue::type, &EncodedValue::bytes> {};

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_SPEC_CODEC_H_

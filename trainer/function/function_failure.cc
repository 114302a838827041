#include "trainer/function/function_failure.h"

#include <cxxabi.h>

#include <cstddef>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <typeinfo>

#include "absl/strings/str_cat.h"
#include "runtime/text/json_value.h"
#include "runtime/text/utf8.h"

namespace trainer {
namespace {

constexpr std::size_t kMaxText = 4096;

absl::Status Thrown(std::string_view text) {
  return absl::UnknownError(runtime::ValidUtf8(text.substr(0, kMaxText)));
}

std::string CurrentTypeName() {
  const std::type_info* const type = abi::__cxa_current_exception_type();
  if (type == nullptr) return "unknown";
  int failed = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(type->name(), nullptr, nullptr, &failed), free);
  return failed == 0 ? name.get() : type->name();
}

}  // namespace

absl::Status CurrentFailure() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("out of memory");
  } catch (const std::exception& error) {
    return Thrown(error.what());
  } catch (...) {
    return Thrown(absl::StrCat("an exception of type ", CurrentTypeName()));
  }
}

}  // namespace trainer

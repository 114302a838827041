#include "launcher/testing/call/function.h"

#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <stdexcept>

namespace launcher::testing {
namespace {

// Filled before main() by one thread, then only read.
std::map<std::string, internal::Body>& Table() {
  static auto* table = new std::map<std::string, internal::Body>;
  return *table;
}

}  // namespace

namespace internal {

void RegisterFunction(const std::string& name, Body body) {
  if (Table().emplace(name, std::move(body)).second) return;
  std::fprintf(stderr, "two functions are registered as %s\n", name.c_str());
  std::abort();
}

}  // namespace internal

bool IsFunction(const std::string& name) { return Table().contains(name); }

Returned CallHere(const std::string& function, std::string_view arguments) {
  const auto found = Table().find(function);
  if (found == Table().end()) {
    return {absl::NotFoundError("no function is registered as " + function)};
  }
  try {
    return found->second(arguments);
  } catch (const std::invalid_argument& error) {
    return {absl::InvalidArgumentError(error.what())};
  } catch (const std::out_of_range& error) {
    return {absl::OutOfRangeError(error.what())};
  } catch (const std::exception& error) {
    return {absl::UnknownError(error.what())};
  } catch (const abi::__forced_unwind&) {
    throw;  // The thread has called pthread_exit().
  } catch (...) {
    return {absl::UnknownError(function + " has thrown something that is no std::exception")};
  }
}

}  // namespace launcher::testing

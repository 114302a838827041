#ifndef RUNTIME_SANITIZER_H_
#define RUNTIME_SANITIZER_H_

// Defines RUNTIME_ADDRESS_SANITIZER or RUNTIME_THREAD_SANITIZER if the program is built with that
// sanitizer; gcc and clang announce sanitizers differently.

#if defined(__SANITIZE_ADDRESS__)
#define RUNTIME_ADDRESS_SANITIZER
#endif
#if defined(__SANITIZE_THREAD__)
#define RUNTIME_THREAD_SANITIZER
#endif

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RUNTIME_ADDRESS_SANITIZER
#endif
#if __has_feature(thread_sanitizer)
#define RUNTIME_THREAD_SANITIZER
#endif
#endif

#endif  // RUNTIME_SANITIZER_H_

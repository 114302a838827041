"""The C++ toolchain as Bazel finds it, without its list of the system's headers.

For clang, Bazel lists each file under /usr/include in a module map, which is an input of every action: one more
installed package and everything is compiled anew, and an image with other packages finds nothing in the cache of
this machine. Only `layering_check` needs the list, so the configuration that has it (asan) uses a toolchain of its own.
"""

load("@bazel_tools//tools/cpp:cc_configure.bzl", "cc_autoconf_impl")

_MODULE_MAP = 'module_map = ":module.modulemap"'

def _cc_toolchain_impl(repository_ctx):
    if repository_ctx.attr.lists_headers:
        repository_ctx.read(Label("@debian//:status"))  # Listed anew after packages were installed.
    cc_autoconf_impl(repository_ctx)
    build = repository_ctx.read("BUILD")
    if not repository_ctx.attr.lists_headers and _MODULE_MAP in build:
        repository_ctx.file("BUILD", build.replace(_MODULE_MAP, "module_map = None"))

cc_toolchain_repository = repository_rule(
    implementation = _cc_toolchain_impl,
    attrs = {"lists_headers": attr.bool(doc = "For --features=layering_check.")},
    environ = ["CC"],
    configure = True,
)

"""Libraries that Debian installs: link flags only, their headers are in the default search path."""

def archives(libs):
    """The archives (lib*.a) of libraries that are given as linker flags.

    What is linked from archives starts faster: loading a shared library takes the dynamic loader some 100 us, and
    Abseil alone has over twenty.
    """
    return ["-l:lib%s.a" % lib[len("-l"):] for lib in libs]

def system_library(name, libs = [], defines = [], deps = []):
    """One installed library.

    Args:
      name: target name.
      libs: linker flags; the push-state keeps a library nobody calls out of NEEDED.
      defines: preprocessor symbols for every user.
      deps: other system libraries it needs.
    """
    native.cc_library(
        name = name,
        defines = defines,
        deps = deps,
        linkopts = ["-Wl,--push-state,--as-needed"] + libs + ["-Wl,--pop-state"] if libs else [],
        visibility = ["//visibility:public"],
    )

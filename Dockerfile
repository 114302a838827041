# The services and the command line in one image (docs/containers.md).
#
#   docker build -t trainyard .
#   docker build -t trainyard --build-arg PROGRAMS=IMAGE .
#
# PROGRAMS is a stage below, or an image that has what tools/install makes in /opt/trainyard.
ARG PROGRAMS=source

FROM debian:bookworm-slim AS source
COPY . /trainyard
# Packages and compiled files of an earlier build are found again.
RUN --mount=type=cache,target=/root/.cache /trainyard/tools/setup && /trainyard/tools/install /opt/trainyard

FROM ${PROGRAMS} AS programs

FROM debian:bookworm-slim
# The libraries that the programs are linked with, an init that collects orphans, and Python for
# training programs.
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        libabsl20220623 libflatbuffers2 libgoogle-glog0v6 libre2-9 libsqlite3-0 libyaml-cpp0.7 libzmq5 \
        python3 tini \
    && rm -rf /var/lib/apt/lists/*
COPY --from=programs /opt/trainyard /opt/trainyard
# A new volume takes over who its directory here belongs to.
RUN useradd --uid 1000 --create-home yard \
    && install -d -o yard -g yard -m 700 /run/trainyard /var/lib/trainyard \
    && install -d -o yard -g yard /runs /work
ENV PATH=/opt/trainyard/bin:/opt/trainyard/libexec:/usr/local/bin:/usr/bin:/bin \
    PYTHONPATH=/opt/trainyard/share/yard/python \
    LANG=C.UTF-8 \
    XDG_RUNTIME_DIR=/run/trainyard \
    YARD_STATE=/var/lib/trainyard
USER yard
WORKDIR /work
ENTRYPOINT ["/usr/bin/tini", "--"]
CMD ["yard", "--help"]

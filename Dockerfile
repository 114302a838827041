# The services and the command line in one image (docs/containers.md).
#
#   docker build -t trainyard .
#   docker build -t trainyard --network host --build-arg REMOTE_CACHE=URL .
#
# REMOTE_CACHE: a cache of Bazel's that another build has filled; else everything is compiled.
FROM debian:bookworm-slim AS programs
COPY tools/setup tools/environment.sh /trainyard/tools/
RUN /trainyard/tools/setup --install && rm -rf /var/lib/apt/lists/*
COPY . /trainyard
ARG REMOTE_CACHE=
RUN echo "${REMOTE_CACHE:+build --remote_cache=$REMOTE_CACHE --noremote_upload_local_results}" >/trainyard/user.bazelrc \
    && /trainyard/tools/install /opt/trainyard \
    && rm -rf /root/.cache

FROM debian:bookworm-slim
# The libraries that the programs are linked with, an init that collects orphans, and Python for
# training programs.
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        libabsl20220623 libflatbuffers2 libgoogle-glog0v6 libnghttp2-14 libre2-9 libsqlite3-0 libyaml-cpp0.7 libzmq5 \
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

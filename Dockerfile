# Latchkey in a container: only the program and the libraries that it loads.
#
#   make image && docker run --rm -p 127.0.0.1:8080:8080 localhost/latchkey:dev
#
# `make image` records version and build in it; `docker build .` does not.
# The image runs as an unprivileged user, writes only to the volume /data (so `--read-only` works),
# needs no capability, and drains on SIGTERM. It has no shell. Its program has no symbols; they are
# in a separate file, for gdb and perf:
#
#   docker build --target symbols --output type=local,dest=. .

FROM swift:6.3.1-bookworm AS build
RUN apt-get -q update \
 && DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends \
      libcurl4-openssl-dev libgnutls28-dev libmicrohttpd-dev libnghttp2-dev libsqlite3-dev \
      zlib1g-dev \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /latchkey
COPY . .
# A warning is an error, as in the Makefile. BUILD is the output of `scripts/version build`.
ARG BUILD=
ENV LATCHKEY_STRICT=1 LATCHKEY_BUILD=$BUILD
RUN swift build --configuration release --static-swift-stdlib --disable-local-rpath \
      $(scripts/linked .build/linked) --product latchkey \
 && scripts/ship \
      "$(swift build --configuration release --static-swift-stdlib --show-bin-path)/latchkey" \
      /install

FROM scratch AS symbols
COPY --from=build /install/latchkey.debug /

# This stage has the parts of Debian that the program needs; they are copied from here.
FROM debian:bookworm-slim AS system
RUN apt-get -q update \
 && DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends \
      ca-certificates libcurl4 libgnutls30 libmicrohttpd12 libnghttp2-14 libsqlite3-0 zlib1g \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /install/latchkey /usr/local/bin/latchkey
COPY scripts/closure /usr/local/bin/
RUN closure /closure /usr/local/bin/latchkey && mkdir /data

FROM scratch
COPY --from=system /closure /
# The data is stored here. Without a named volume, it ends with the container.
COPY --from=system --chown=10001:10001 /data /data
VOLUME /data
ENV LATCHKEY_DATA=/data
# Other machines can reach the service, so it asks for tokens. The first one has all rights:
#
#   docker cp CONTAINER:/data/token .
ENV LATCHKEY_TOKEN_FILE=/data/tokens LATCHKEY_FIRST_TOKEN=/data/token
# A number, so that an orchestrator can see that it is not root.
USER 10001:10001
# No client outside the container can reach its loopback address. The published port decides who may
# connect.
ENV LATCHKEY_HOST=0.0.0.0
# With another name, a browser on the machine that publishes the port must not reach the service
# (DNS rebinding). Literal addresses are always served; add the names that your clients use.
ENV LATCHKEY_ALLOWED_HOST=localhost
EXPOSE 8080
# The output of `scripts/version`, which `latchkey --version` prints.
ARG VERSION=
LABEL org.opencontainers.image.title=latchkey org.opencontainers.image.version=$VERSION
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s --retries=3 \
  CMD ["/usr/local/bin/latchkey", "health"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/local/bin/latchkey", "serve"]

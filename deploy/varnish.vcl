# Varnish in front of Latchkey. Start the service with the name that browsers use, and say that the
# proxy speaks for others:
#
#   latchkey serve --allowed-host state.example.com --trusted-proxy 127.0.0.1 --token-file tokens
#
# `make proxies` tests this file, with its addresses replaced.
vcl 4.1;

backend latchkey {
    .host = "127.0.0.1";
    .port = "8080";
    # Longer than a transaction that waits, which ends after 60 s, and than the 15 s between two signs of life of
    # a watch.
    .first_byte_timeout = 90s;
    .between_bytes_timeout = 90s;
}

sub vcl_recv {
    # No answer may be served from a cache without asking the service. Otherwise, Varnish would take
    # the condition away from a long poll, and answer 503 for the 304 that ends it.
    return (pass);
}

sub vcl_backend_fetch {
    # A request is sent once: its client knows best whether a write can be sent again.
    set bereq.http.Connection = "close";
}

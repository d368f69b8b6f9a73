# Varnish before Latchkey. Start the service with the name that browsers use, and name the proxy as
# trusted:
#
#   latchkey serve --allowed-host state.example.com --trusted-proxy 127.0.0.1 --token-file tokens
#
# `make proxies` tests this file, with its addresses replaced.
vcl 4.1;

backend latchkey {
    .host = "127.0.0.1";
    .port = "8080";
    # Longer than a waiting transaction, which ends after 60 s, and than the 15 s between two signs
    # of life of a watch.
    .first_byte_timeout = 90s;
    .between_bytes_timeout = 90s;
}

sub vcl_recv {
    # No answer may be served from a cache without asking the service. Otherwise, Varnish would
    # remove the condition of a long poll, and answer 503 for the 304 that ends it.
    return (pass);
}

sub vcl_backend_fetch {
    # A request is sent once: only its client knows whether a write can be sent again.
    set bereq.http.Connection = "close";
}

"""Heads and bodies, as data: the bytes, and the statuses that are right for them.

They are right under every version of libmicrohttpd. CLOSED among the statuses means that the
connection may be closed without an answer. A set has more than one member where RFC 9110 and 9112
leave the choice, or where the service has limits of its own.
"""

CLOSED = 0
# The request is not complete, so that silence is right until its time is up.
ARRIVING = {408, 413, -1}
STORED = {201, 204}
BAD = {400}
CODING = {400, 501}
LONG = {414, 431}
ELSEWHERE = {400, 421}
HOST = "Host: 127.0.0.1"
CHUNKED = "Transfer-Encoding: chunked"
FIVE = "5\r\n12345\r\n0\r\n\r\n"


def head(first, *lines, host=HOST, body=""):
    lines = ((host,) if host is not None else ()) + lines
    return "".join(line + "\r\n" for line in (first, *lines)) + "\r\n" + body


def get(*lines, target="/healthz", version="HTTP/1.1", method="GET", host=HOST):
    return head(f"{method} {target} {version}", *lines, host=host)


def put(*lines, body="12345", version="HTTP/1.1"):
    return head(f"PUT /v1/properties/h {version}", *lines, body=body)


def lengths():
    for text in ("5", " 5", "5 ", "5\t", "\t5 \t", "0005"):
        yield f"length {text!r}", put(f"Content-Length:{text}"), STORED
    yield "length 0", put("Content-Length: 0", body=""), {400}
    for text in ("9223372036854775807", "9223372036854775808", "18446744073709551615",
                 "18446744073709551616", "18446744073709551621", "9" * 60):
        yield f"length {text}", put(f"Content-Length: {text}", body=""), {400, 413}
        yield (f"GET, length {text}", get(f"Content-Length: {text}"), {400, 413})
    yield "length over the bound", put("Content-Length: 1048577", body=""), ARRIVING
    for text in ("+5", "-1", "-0", "0x5", "5.0", "5e0", "5 5", "5;", "abc", "", "5,", ",5", "5_0",
                 "\u0665", "'5'"):
        yield f"length {text!r}", put(f"Content-Length: {text}"), BAD
    yield "lengths 5 and 5", put("Content-Length: 5", "Content-Length: 5"), BAD
    yield "lengths 5 and 6", put("Content-Length: 5", "Content-Length: 6"), BAD
    yield "lengths 6 and 5", put("Content-Length: 6", "Content-Length: 5"), BAD
    yield "length 5, 5", put("Content-Length: 5, 5"), BAD
    yield "length 5, 6", put("Content-Length: 5, 6"), BAD
    yield "length 5 and a list", put("Content-Length: 5", "Content-Length: 5, 5"), BAD
    yield "GET with a body", get("Content-Length: 5") + "12345", {200, 400, 413}
    yield "unknown path with a body", head("PUT /x HTTP/1.1", "Content-Length: 5",
                                           body="12345"), {404}
    yield "no length", put(body=""), {400, 411}


def codings():
    for text in ("chunked", "Chunked", "CHUNKED", "  chunked"):
        yield f"coding {text!r}", put(f"Transfer-Encoding: {text}", body=FIVE), STORED
    for text in ("chunked ", "chunked  ", "chunked\t", "\tchunked", "chunked \t "):
        yield f"coding {text!r}", put(f"Transfer-Encoding:{text}", body=FIVE), STORED
    for text in (",chunked", "chunked,", "chunked , "):
        yield f"coding {text!r}", put(f"Transfer-Encoding:{text}", body=FIVE), {501}
    for text in ("identity", "chunked, chunked", "gzip, chunked", "gzip", "xchunked", "chunkedx",
                 '"chunked"', "chunked;q=1", "identity, chunked", "chunked, identity", "chunk ed",
                 "", "chunked\x0b", "chunked\x0c", "chunked\x00", "\x00chunked", "chun\tked",
                 "deflate,chunked", "chunked\x7f", "chunked\xa0"):
        yield f"coding {text!r}", put(f"Transfer-Encoding: {text}", body=FIVE), CODING
    yield "two codings", put(CHUNKED, CHUNKED, body=FIVE), CODING
    yield "chunked and identity", put(CHUNKED, "Transfer-Encoding: identity", body=FIVE), CODING
    yield "identity and chunked", put("Transfer-Encoding: identity", CHUNKED, body=FIVE), CODING
    yield "identity and a length", put("Transfer-Encoding: identity", "Content-Length: 5"), CODING
    yield "coding, then length", put(CHUNKED, "Content-Length: 5", body=FIVE), {400}
    yield "length, then coding", put("Content-Length: 5", CHUNKED, body=FIVE), {400}
    yield "trimmed coding and length", put("Transfer-Encoding: chunked ", "Content-Length: 5",
                                           body=FIVE), {400}
    yield "coding, HTTP/1.0", put(CHUNKED, body=FIVE, version="HTTP/1.0"), BAD
    yield "coding in a fold", put("Transfer-Encoding:\r\n chunked", body=FIVE), BAD
    yield "lower-case coding", put("transfer-encoding: chunked", body=FIVE), STORED
    yield "space before the colon", put("Transfer-Encoding : chunked", body=FIVE), BAD
    yield "GET, chunked", get(CHUNKED) + FIVE, {200, 400, 413}
    yield "GET, chunked and a space", get("Transfer-Encoding: chunked ") + FIVE, {200, 400, 413}


def hosts():
    yield "no host", get(host=None), {400}
    yield "no host, HTTP/1.0", get(host=None, version="HTTP/1.0"), {200} | ELSEWHERE
    yield "two hosts", get(HOST), {400}
    yield "two other hosts", get("Host: b"), {400}
    yield "hosts around a line", get("A: b", HOST), {400}
    for text in ("127.0.0.1", "127.0.0.1:80", "localhost", "LocalHost:8080", "[::1]", "[::1]:80"):
        yield f"host {text}", get(host=f"Host: {text}"), {200}
    for text in ("", "127.0.0.1:", "127.0.0.1:99999", "localhost.", "a,b", "a%41", "a" * 300,
                 "127.0.0.1 ", "\t127.0.0.1", "evil.example", "a_b", "0x7f.1"):
        yield f"host {text[:20]!r}", get(host=f"Host: {text}"), {200} | ELSEWHERE
    for text in ("a b", "a/b", "a@b", "u:p@127.0.0.1", "127.0.0.1:abc", "127.0.0.1:-1", "[::1",
                 "::1", "[::1]x", "[g::1]", "[]", "a?b", "a#b", "a\\b", "<a>", '"a"', "a\tb",
                 "\xe9", "http://a", "a:1:2", "127.0.0.1, 127.0.0.1", "a%zz", "a%", "a^b", "{a}",
                 "127.0.0.1:8 0"):
        yield f"host {text!r}", get(host=f"Host: {text}"), {400}
    for text in ("a\x01", "a\x00", "a\x7f"):
        yield f"host {text!r}", get(host=f"Host: {text}"), BAD


def targets():
    yield "target *", get(target="*"), {400, 404, 405}
    yield "OPTIONS *", get(target="*", method="OPTIONS"), {200, 204}
    yield "absolute form", get(target="http://127.0.0.1/healthz"), {200}
    yield "absolute form in capitals", get(target="HTTP://127.0.0.1/healthz"), {200, 400}
    for text in ("http:///x", "http://", "http:///", "http://:80/healthz", "http:healthz",
                 "http:/healthz", "http://a b/healthz", "http://[::1/healthz", "://127.0.0.1/x"):
        yield f"target {text}", get(target=text), {400}
    for text in ("https://127.0.0.1/healthz", "ftp://127.0.0.1/healthz", "http://127.0.0.1",
                 "http://127.0.0.1?x", "http://u@127.0.0.1/healthz",
                 "http://evil.example/healthz"):
        yield f"target {text}", get(target=text), {200, 404} | ELSEWHERE
    yield "authority form", get(target="127.0.0.1:80"), {400, 404}
    yield "CONNECT", get(target="127.0.0.1:80", method="CONNECT"), {400, 404, 405, 501}
    for text in ("", "/a b", " /healthz", "/a\x00b", "/\x01", "/\x7f", "/a\tb", "/a\x0bb",
                 "/healthz ", "/a?b c"):
        yield f"target {text!r}", get(target=text), BAD
    for text in ("/healthz#a", "/#", "#"):
        yield f"target {text!r}", get(target=text), {400}
    for text in ("healthz", "//healthz", "/%", "/%zz", "/%00", "/\xff", "/healthz/..", "/%2e%2e/",
                 "/healthz/", "/./healthz", "?", "\\healthz", "/<a>", '/"', "/[", "/^", "/`{|}"):
        yield f"target {text!r}", get(target=text), {400, 404}
    for text in ("%zz", "%00", "%ff", "a%2", "%", "%c3", "%c3%28", "%ed%a0%80"):
        yield f"name {text}", get(target=f"/v1/properties/{text}"), {400}
    yield "name with a slash", get(target="/v1/properties/a%2Fb"), {404}
    for text in ("?", "?a", "?a=1", "?a=%zz", "?%00", "?a=1&a=2", "?=", "?&&&", "?a=\xff",
                 "?" + "&".join(["a"] * 500), "?" + "&".join(["a=b"] * 900)):
        yield f"query {text[:12]!r}", get(target="/healthz" + text), {200, 400}
    yield "target at the bound", get(target="/" + "a" * 4095), {404, 414}
    yield "target beyond the bound", get(target="/" + "a" * 4096), {414}
    yield "target of 8,000 bytes", get(target="/" + "a" * 8000), LONG
    yield "target of 40,000 bytes", get(target="/" + "a" * 40000), LONG
    yield "query of 40,000 bytes", get(target="/healthz?" + "a" * 40000), LONG
    yield "target of slashes", get(target="/" * 4000), {404}


def line_ends():
    ordinary = get("A: b")
    yield "bare LF", ordinary.replace("\r\n", "\n"), BAD
    yield "bare LF after the first", ordinary.replace("\r\n", "\n", 1), BAD
    yield "bare LF at the end", ordinary[:-2] + "\n", BAD
    yield "CR CR LF", ordinary.replace("\r\n", "\r\r\n"), BAD
    yield "CR CR LF after the first", ordinary.replace("\r\n", "\r\r\n", 1), BAD
    yield "CR in a value", get("A: b\rc"), BAD
    yield "CR in a name", get("A\rb: c"), BAD
    yield "CR for CR LF", ordinary[:-4].replace("\r\n", "\r") + "\r\n\r\n", BAD
    yield "CR in the target", get(target="/a\rb"), BAD
    yield "LF in the target", get(target="/a\nb"), BAD
    for count in (1, 2, 3, 100):
        yield f"{count} empty lines first", "\r\n" * count + ordinary, {200}
    yield "LF first", "\n" + ordinary, BAD
    yield "CR first", "\r" + ordinary, BAD
    yield "space first", " " + ordinary, BAD
    yield "NUL first", "\x00" + ordinary, BAD
    for text in ("A: b\r\n c", "A: b\r\n\tc", "A: b\r\n ", "A:\r\n b", "A: b\r\n  \r\n c",
                 "A: b\n c", " A: b", "\tA: b"):
        yield f"fold {text!r}", get(text), BAD
    yield "fold first", get(host=f" \r\n{HOST}"), BAD
    yield "fold of the host", get(host="Host:\r\n 127.0.0.1"), BAD
    yield "fold in the host", get(host="Host: 127.0\r\n .0.1"), BAD
    yield "fold of the length", put("Content-Length:\r\n 5"), BAD
    yield "fold in the length", put("Content-Length: 5\r\n 5"), BAD
    yield "fold after the length", put("Content-Length: 5\r\n "), BAD
    yield "blank last line", ordinary[:-2] + " \r\n\r\n", BAD


def versions():
    for text in ("HTTP/2.0", "HTTP/0.9", "HTTP/1.10", "HTTP/01.1", "HTTP/1", "HTTP/1.",
                 "HTTP/1.1x", "HTTP/1.1 x", "HTTP/3", "ICY/1.1", "HTTP/-1.1", "HTTP/11.1",
                 "HTTP 1.1", "http/1.1", "Http/1.1", "HTTP/.1", "HTTP/1,1", "HTTP/1.1\x00", "X",
                 "HTTP/1.-1", "HTTP/4294967297.1", "HTTP/1.4294967297", "HTTP", "HTTPS/1.1"):
        yield f"version {text!r}", get(version=text), BAD
    yield "HTTP/1.0", get(version="HTTP/1.0"), {200}
    yield "HTTP/1.0, kept alive", get("Connection: keep-alive", version="HTTP/1.0"), {200}
    yield "HTTP/1.2", get(version="HTTP/1.2"), {200}
    yield "version and a space", get(version="HTTP/1.1 "), BAD
    yield "no version", head("GET /healthz"), BAD
    yield "no version and a space", head("GET /healthz "), BAD
    yield "only a method", head("GET"), BAD
    yield "only a line", "GET /healthz HTTP/1.1\r\n\r\n", {400}
    yield "HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", BAD
    yield "TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", BAD
    yield "SSH", "SSH-2.0-OpenSSH_9.2\r\n\r\n", BAD
    yield "a proxy's line", "PROXY TCP4 1.1.1.1 2.2.2.2 1 2\r\n" + get(), BAD
    yield "no words", "hello\r\n\r\n", BAD


def methods():
    for text in ("get", "Get", "BREW", "A" * 30, "GET1", "!", "G.T"):
        yield f"method {text}", get(method=text), {400, 405, 501}
    for text in ("G@T", "GE(T", 'G"T', "G/T", "GET:", "G[T", "G\xe9T", "G,T", "G=T", "{GET}"):
        yield f"method {text!r}", get(method=text), {400}
    for text in ("", "G\x00T", "GE\tT", "G\x01T", "GET\x00", "\x7f"):
        yield f"method {text!r}", get(method=text), BAD
    yield "method of 300 letters", get(method="A" * 300), {400, 405, 431, 501}
    yield "method of 5,000 letters", get(method="A" * 5000), {400, 405, 501} | LONG
    yield "method of 50,000 letters", get(method="A" * 50000), {400, 405, 501} | LONG
    yield "HEAD", get(method="HEAD"), {200}
    yield "OPTIONS", get(method="OPTIONS"), {200, 204, 405}
    yield "TRACE", get(method="TRACE"), {405, 501}
    yield "DELETE", get(method="DELETE"), {405}
    yield "POST without a length", get(method="POST"), {405, 411}


def fields():
    for text in ("A : b", "A\t: b", ": b", "A(b): c", '"a": b', "no colon", "A\x00: b", "a b: c",
                 "a: b\x00c", "a: b\x01", "a: b\x0bc", "a: b\x7f", "a=b: c", "a@b: c", "\xe9: b",
                 "a/b: c", "a[b]: c", "\x7f: b", "no colon at all\r\nA: b", ":", "::", " "):
        yield f"line {text!r}", get(text), BAD
    for text in ("a:", "a:b", "a:\tb", "a: b ", "a: \xff", "a: b:c", "a:  ", "A!#$%&'*+-.^_`|~: b",
                 "Range: bytes=0-1", "Upgrade: h2c", "Connection: upgrade", "Cookie: a=b; c",
                 "Cookie: =", "Cookie: ;;;", 'Cookie: a="b', "Authorization: Basic x",
                 "Authorization: Digest a=b", "Accept: \x80", "If-None-Match: *", "TE: trailers",
                 "Content-Type: multipart/form-data; boundary=x", "Connection: keep-alive"):
        yield f"line {text!r}", get(text), {200} | ({304} if "None" in text else set())
    yield "Connection: close", get("Connection: close"), {200}
    yield "Connection: two", get("Connection: keep-alive, close"), {200}
    yield "name of 300 bytes", get("a" * 300 + ": b"), {200}
    yield "name of 9,000 bytes", get("a" * 9000 + ": b"), {400} | LONG
    for count in (4000, 7000, 7800):
        yield f"value of {count} bytes", get("A: " + "x" * count), {200}
    for count in (8300, 12000, 20000, 70000):
        yield f"value of {count} bytes", get("A: " + "x" * count), LONG
    # The rest of a head that is far too long can meet a closed socket.
    yield "value of 300,000 bytes", get("A: " + "x" * 300000), LONG | {CLOSED}
    for count in (10, 50, 90, 99):
        yield f"{count} lines", get(*(f"a{i}: b" for i in range(count - 1))), {200}
    for count in (100, 101, 128, 150, 161, 200, 216, 300, 400, 1000):
        yield f"{count} lines", get(*(f"a{i}: b" for i in range(count - 1))), {200} | LONG
    for count in (150, 216, 300, 1500):
        yield f"{count} shortest lines", get(*["a:"] * (count - 1)), {200} | LONG
    yield "100 cookies", get("Cookie: " + "; ".join(["c" * 48] * 100)), {200}
    yield "100 cookies with values", get("Cookie: " + "; ".join(["c=" + "v" * 46] * 100)), {200}
    yield "500 small cookies", get("Cookie: " + "; ".join(["c=v"] * 500)), {200}
    yield "2,000 empty cookies", get("Cookie: " + ";" * 2000), {200}
    yield "90 cookie lines", get(*["Cookie: c=" + "v" * 48] * 90), {200}
    yield "50 lines of 100 bytes", get(*["A: " + "x" * 95] * 50), {200}
    yield "Content-Range", put("Content-Length: 5", "Content-Range: bytes 0-4/5"), {400}


def chunks():
    def chunked(body):
        return put(CHUNKED, body=body)
    last = "0\r\n\r\n"
    for name, body in (("capital size", "A\r\n1234567890\r\n"),
                       ("small size", "a\r\n1234567890\r\n"),
                       ("size 00005", "00005\r\n12345\r\n"),
                       ("two", "2\r\n12\r\n3\r\n345\r\n"),
                       ("an extension", "5;a=b\r\n12345\r\n"), ("many", "1\r\n7\r\n" * 500),
                       ("a quoted extension", '5;a="b;c"\r\n12345\r\n')):
        yield f"chunks: {name}", chunked(body + last), STORED
    yield "chunks: last 00", chunked("5\r\n12345\r\n00\r\n\r\n"), STORED
    for name, body in (("spaces and extension", "5 ; a=b\r\n12345\r\n"),
                       ("100 zeros", "0" * 100 + "5\r\n12345\r\n"),
                       ("long extension", "5;" + "x" * 5000 + "\r\n12345\r\n")):
        yield f"chunks: {name}", chunked(body + last), STORED
    # A proxy for which a bare LF does not end the line sees no second request in this one.
    hidden = "1;\n1\r\nDELETE /v1/properties/h HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    for name, body in (("space before the size", " 5\r\n12345\r\n"), ("LF", "5\n12345\n"),
                       ("space after the size", "5 \r\n12345\r\n"), ("LF after", "5\r\n12345\n"),
                       ("CR", "5\r12345\r"), ("CR CR LF", "5\r\r\n12345\r\n"),
                       ("CR after", "5\r\n12345\r"), ("a hidden request", hidden),
                       ("extension with a space", "5;a b\r\n12345\r\n"),
                       ("extension and a space", "5;a \r\n12345\r\n"),
                       ("extension without a name", "5;\r\n12345\r\n"),
                       ("extension with half a quote", '5;a="b\r\n12345\r\n'),
                       ("extension with CR", "5;a\rb\r\n12345\r\n"),
                       ("extension with LF", "5;a\nb\r\n12345\r\n"),
                       ("extension with NUL", "5;a\0b\r\n12345\r\n"),
                       ("extension of 20 kB", "5;" + "x" * 20000 + "\r\n12345\r\n"),
                       ("endless extension", "5;" + "x" * 50000 + "\r\n12345\r\n")):
        yield f"chunks: {name}", chunked(body + last), BAD
    for size in ("7fffffffffffffff", "8000000000000000", "ffffffffffffffff", "fffffffffffffffe",
                 "10000000000000000", "10000000000000005", "f" * 40, "100001"):
        yield f"chunk of {size}", chunked(size + "\r\n12345\r\n" + last), BAD | ARRIVING
    for size in ("-5", "+5", "0x5", "g", "", "5g", "5,5", "5 5", "\x00", "5\x00"):
        yield f"chunk of {size!r}", chunked(size + "\r\n12345\r\n" + last), BAD
    yield "chunk without its end", chunked("5\r\n123450\r\n\r\n"), BAD
    yield "chunk longer than said", chunked("4\r\n12345\r\n" + last), BAD
    yield "no chunks", chunked(last), {400}
    for name, text in (("one", "A: b\r\n"), ("ten", "A: b\r\n" * 10)):
        yield f"trailers: {name}", chunked(f"5\r\n12345\r\n0\r\n{text}\r\n"), STORED
    for statuses, *trailers in (
            (STORED, ("a length", "Content-Length: 9\r\n"), ("a coding", CHUNKED + "\r\n")),
            ({431}, ("200", "A: b\r\n" * 200), ("16 KB", "A: " + "x" * 16000 + "\r\n"),
             ("64 KB", "A: " + "x" * 64000 + "\r\n"), ("2,000", "A: b\r\n" * 2000)),
            (BAD, ("no colon", "abc\r\n"), ("a fold", "A: b\r\n c\r\n"), ("LF", "A: b\n"),
             ("a NUL", "A: \x00\r\n"), ("a space", " \r\n"), ("a spaced name", "A : b\r\n"))):
        for name, text in trailers:
            yield f"trailers: {name}", chunked(f"5\r\n12345\r\n0\r\n{text}\r\n"), statuses


def expectations():
    five = "Content-Length: 5"
    for text in ("100-continue", "100-CONTINUE"):
        yield f"Expect: {text}", put(five, f"Expect: {text}"), STORED
    for text in ("200-ok", "", "100-continue, x", "x", "100-continue;a"):
        yield f"Expect: {text}", put(five, f"Expect: {text}"), STORED | {400, 417}
    yield "two Expects", put(five, "Expect: 100-continue", "Expect: 100-continue"), STORED | {400}
    yield "Expect, HTTP/1.0", put(five, "Expect: 100-continue", version="HTTP/1.0"), STORED
    yield "Expect on GET", get("Expect: 100-continue"), {200}
    yield "Expect, chunked", put(CHUNKED, "Expect: 100-continue", body=FIVE), STORED
    yield "Expect, too large", put("Content-Length: 99999999", "Expect: 100-continue",
                                   body=""), {413}
    yield "Expect, no path", head("PUT /x HTTP/1.1", five, "Expect: 100-continue",
                                  body="12345"), {404}


def table():
    """Every variant: its name, its bytes, and the statuses that are right."""
    for group in (lengths, codings, hosts, targets, line_ends, versions, methods, fields, chunks,
                  expectations):
        for name, text, statuses in group():
            yield f"{group.__name__}: {name}", text.encode("latin-1", "replace"), statuses

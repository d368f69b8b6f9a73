"""Pages of other origins try a service in headless Chromium.

Design: one small server serves an empty page. The browser sees it as two origins: with the name
localhost it is another site than the service, and with the loopback address the same site on
another port. The tests run scripts in the page and check what the page could find out.
"""

import http.client
import http.server
import json
import threading

from process import PATIENCE_SECONDS, Failure, Latchkey

# Tries to find things out. Each result is a string, so that two runs can be compared.
TRY = """
    const [service, done] = arguments;
    const source = path => new Promise(resolve => {
      const source = new EventSource(service + path);
      source.onopen = () => resolve("open");
      source.onerror = () => { source.close(); resolve("error"); };
    });
    const element = (tag, attribute, path) => new Promise(resolve => {
      const node = document.createElement(tag);
      node.onload = () => resolve("load");
      node.onerror = () => resolve("error");
      node[attribute] = service + path;
      document.body.append(node);
    });
    const send = (path, options) => fetch(service + path, options).then(
      async answer => `${answer.type} ${answer.status} ${answer.headers.get("ETag")} `
        + await answer.text(), error => "failed");
    const json = {"Content-Type": "application/json"};
    Promise.all([
      source("/v1/watch?observer=mine"),
      element("object", "data", "/v1/properties/there"),
      element("object", "data", "/v1/properties/missing"),
      element("img", "src", "/v1/properties/there"),
      send("/v1/properties/there"),
      send("/v1/properties/there", {mode: "no-cors"}),
      send("/v1/properties/new", {method: "PUT", headers: {...json, "If-None-Match": "*"},
                                  body: "2"}),
    ]).then(done);"""


class Page(http.server.BaseHTTPRequestHandler):
    # Modules by their paths; every other path is the empty page.
    modules = {}

    def do_GET(self):
        is_module = self.path in self.modules
        empty = "<!doctype html><title>page</title><body></body>"
        body = self.modules.get(self.path, empty).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/javascript" if is_module else "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Pages(http.server.ThreadingHTTPServer):
    """The server of pages, and its origins. A context manager."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Page)
        port = self.server_address[1]
        self.cross_site, self.same_site = f"http://localhost:{port}", f"http://127.0.0.1:{port}"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


class Watch:
    """An open watch with the name of an observer."""

    def __init__(self, service, observer):
        self.connection = http.client.HTTPConnection(*service.address, timeout=PATIENCE_SECONDS)
        self.connection.request("GET", f"/v1/watch?observer={observer}")
        self.answer = self.connection.getresponse()

    def next_event(self):
        while line := self.answer.readline().decode():
            if line.startswith("event: "):
                return line[len("event: "):].strip()
        return None


def try_pages(binary, browser, log):
    with Pages() as pages:
        with Latchkey(binary, log=log) as service:
            for origin in (pages.cross_site, pages.same_site):
                refuse(service, browser, origin)
            # A link opens the dashboard, which works from there.
            browser.open(pages.cross_site)
            browser.run("location.href = arguments[0]", service.url)
            browser.wait_for("the dashboard opens and shows the property", """
                return location.pathname === "/"
                  && document.body.textContent.includes("there")""")
        with Latchkey(binary, "--allow-origin", pages.cross_site, log=log) as service:
            allow(service, browser, pages.cross_site)
            refuse(service, browser, pages.same_site)


def results(service, browser, origin):
    browser.open(origin)
    return browser.here("POST", "/execute/async", {"script": TRY, "args": [service.url]})


def refuse(service, browser, origin):
    """The page finds nothing out and changes nothing, and the open watch continues."""
    service.ask("PUT", "/v1/properties/there", "1")
    service.ask("DELETE", "/v1/properties/new", expect=(204, 404))
    watch = Watch(service, "mine")
    found = results(service, browser, origin)
    # An opaque answer has neither status nor body.
    expected = ["error", "error", "error", "error", "failed", "failed"]
    if [*found[:5], found[6]] != expected or found[5] not in ("opaque 0 null ", "failed"):
        raise Failure(f"a page of {origin} found out {found}")
    if service.ask("GET", "/v1/properties/new", expect=None)[0] != 404:
        raise Failure(f"a page of {origin} has written")
    service.ask("PUT", "/v1/properties/there", json.dumps(origin))
    if (event := watch.next_event()) != "put":
        raise Failure(f"a page of {origin} ended a watch: {event}")


def allow(service, browser, origin):
    """A page of an allowed origin reads values with their tags, writes and watches."""
    tag = service.ask("PUT", "/v1/properties/there", "1")[1]["ETag"]
    found = results(service, browser, origin)
    if found[0] != "open" or found[4] != f"cors 200 {tag} 1" \
            or not found[6].startswith("cors 201 \""):
        raise Failure(f"a page of an allowed origin got {found}")

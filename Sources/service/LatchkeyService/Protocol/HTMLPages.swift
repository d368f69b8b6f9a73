internal import LatchkeyFrame

/// Pages for people: plain HTML without scripts, and without text from clients.
enum HTMLPages {
    static func problem(_ problem: Problem) -> String {
        page(
            title: escaped(problem.title),
            body: "<p>Status \(problem.status), <code>\(problem.rawValue)</code>.</p>"
                + "<p>\(escaped(problem.advice))</p>"
        )
    }

    private static func page(title: String, body: String) -> String {
        """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>\(title)</title>
        <style>body { font: 1rem/1.5 system-ui, sans-serif; max-width: 40rem; margin: 3rem auto; \
        padding: 0 1rem; }</style>
        </head>
        <body>
        <h1>\(title)</h1>
        \(body)
        </body>
        </html>

        """
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;")
            .replacing("<", with: "&lt;")
            .replacing(">", with: "&gt;")
            .replacing("\"", with: "&quot;")
    }
}

/// What a route asks of those who use it.
package enum RouteNeed: Sendable {
    /// Nothing.
    case nothing
    /// Nothing, if the operator wants that; else a token.
    case tokenUnless(OpenedPage)
    /// A token. What it must allow depends on the names of the request, and is asked where they are
    /// read.
    case token
    /// The same of a route whose answers are kept for repeats. What is asked is asked once more
    /// before a kept answer is given: the closure throws what is missing.
    case tokenAgain(RouteHandler.Handle)
    /// A token with this right.
    case right(Right)

    /// Whether a kept answer can be given to a repeat: what it needs is known without the handler.
    package var fitsRepeats: Bool {
        if case .token = self { false } else { true }
    }
}

/// A page that everybody may see, if the operator wants that.
package enum OpenedPage: String, CaseIterable, Sendable {
    case metrics
    case readyz
    case version
}

/// The right that a route requires.
package enum RouteNeed: Sendable {
    /// Nothing.
    case nothing
    /// Nothing, if the operator wants that; else a token.
    case tokenUnless(OpenedPage)
    /// A token. The right that it needs depends on the names in the request, and is checked where
    /// they are read.
    case token
    /// The same for a route whose answers are kept for repeats. The right is checked again before a
    /// kept answer is given: the closure throws if it is missing.
    case tokenAgain(RouteHandler.Handle)
    /// A token with this right.
    case right(Right)

    /// Whether a kept answer can be given to a repeat: its need is known without the handler.
    package var fitsRepeats: Bool {
        if case .token = self { false } else { true }
    }
}

/// A page that every client may see, if the operator wants that.
package enum OpenedPage: String, CaseIterable, Sendable {
    case metrics
    case readyz
    case version
}
